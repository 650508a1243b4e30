"""Different elements in ascending order, and what belongs to them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import Homogeneous, Operation, Shapes

_SHAPES: tuple[Shapes, ...] = (((3,),), ((1, 2),), ((1,),))
_FLAGS: dict[str, tuple[bool, ...]] = {
    "return_index": (False, True),
    "return_inverse": (False, True),
    "return_counts": (False, True),
}


def _values(found: Any) -> mx.array:
    return found[0] if isinstance(found, tuple) else found


def _ranked(m: Any, x: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The elements in ascending order, each with whether it is another than the one before, and its rank."""
    line = list(m.sort(np.asarray(x).reshape(-1)))
    rank: Any = 0
    for place, element in enumerate(line):
        new: Any = m.not_equal(element, line[place - 1]) if place else True
        rank = m.add(rank, m.where(new, 1, 0)) if place else 0
        yield element, new, rank


def _is(m: Any, rank: Any, place: int) -> Any:
    """Whether a rank is this one; it is never near any other number."""
    return m.less(m.abs(m.subtract(rank, place)), Fraction(1, 2))


def _different(m: Any, x: Any, size: int, fill_value: Any) -> Any:
    """The different elements in ascending order, cut off or filled up to a size."""
    ranked = list(_ranked(m, x))
    found = np.full(size, ranked[0][0] if fill_value is None else fill_value, object)
    for element, new, rank in ranked:
        for place in range(size):
            found[place] = m.where(m.logical_and(new, _is(m, rank, place)), element, found[place])
    return found


def _counts(m: Any, x: Any, size: int) -> Any:
    """How often each of the different elements is there."""
    ranked = list(_ranked(m, x))
    found = np.full(size, 0, object)
    for place in range(size):
        found[place] = m.total([m.where(_is(m, rank, place), 1, 0) for _, _, rank in ranked])
    return found


OPERATIONS = (
    Operation(
        name="mx.unique",
        arguments=("x",),
        call=lambda x, size, fill_value, **flags: _values(mx.unique(x, size, fill_value=fill_value, **flags)),
        body=lambda m, x, size, fill_value, **flags: _different(m, x, size, fill_value),  # noqa: ARG005
        shapes=_SHAPES,
        parameters={"size": (3, 2, 4), "fill_value": (None, 0.0, -1.5), **_FLAGS},
        symmetries=(Homogeneous({"x": 1}),),
        text="mx.unique(x, {size}, {return_index}, {return_inverse}, {return_counts}, {fill_value})  # the elements",
    ),
    Operation(
        name="mx.unique[counts]",
        arguments=("x",),
        call=lambda x, size: mx.unique(x, size, return_counts=True)[1].astype(x.dtype),
        body=_counts,
        shapes=(((3,),),),
        parameters={"size": (3,)},
        text="mx.unique(x, {size}, return_counts=True)[1].astype(x.dtype)",
    ),
)
