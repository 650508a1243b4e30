"""Different elements in ascending order, and what belongs to them."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import Homogeneous, Operation, Shapes

_SHAPES: tuple[Shapes, ...] = (((4,),), ((2, 2),), ((3,),), ((1,),))
_FLAGS: dict[str, tuple[bool, ...]] = {
    "return_index": (False, True),
    "return_inverse": (False, True),
    "return_counts": (False, True),
}


def _values(found: Any) -> mx.array:
    return found[0] if isinstance(found, tuple) else found


def _different(m: Any, x: Any, size: int, fill_value: Any) -> Any:
    """The different elements in ascending order, cut off or filled up to a size."""
    line = list(m.sort(np.asarray(x).reshape(-1)))
    first = [True, *(m.not_equal(a, b) for a, b in zip(line[1:], line[:-1], strict=True))]
    found = [line[0] if fill_value is None else fill_value] * size
    rank: Any = -1
    for element, new in zip(line, first, strict=True):
        rank = m.add(rank, m.where(new, 1, 0))
        for place in range(size):
            here = m.logical_and(new, m.equal(rank, place))
            found[place] = m.where(here, element, found[place])
    return np.array([*found, None], object)[:-1]


OPERATIONS = (
    Operation(
        name="mx.unique",
        arguments=("x",),
        call=lambda x, size, fill_value, **flags: _values(mx.unique(x, size, fill_value=fill_value, **flags)),
        body=lambda m, x, size, fill_value, **flags: _different(m, x, size, fill_value),  # noqa: ARG005
        shapes=_SHAPES,
        parameters={"size": (4, 2, 6), "fill_value": (None, 0.0, -1.5), **_FLAGS},
        symmetries=(Homogeneous({"x": 1}),),
        text="mx.unique(x, {size}, {return_index}, {return_inverse}, {return_counts}, {fill_value})  # the elements",
    ),
    *(
        Operation(
            name=f"mx.unique[{flag}]",
            arguments=("x",),
            call=lambda x, flag=flag: mx.unique(x, 3, **{flag: True})[1].astype(x.dtype),
            body=lambda m, x, right=right: np.array([*right, None], object)[:-1],  # noqa: ARG005
            shapes=(((3,),),),
            text=f"mx.unique(x, 3, {flag}=True)[1].astype(x.dtype)",
        )
        for flag, right in (("return_counts", (1, 1, 1)),)
    ),
)
