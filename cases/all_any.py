"""Whether all or some elements are not zero, and how many: the derivative is zero wherever that does not jump."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import Homogeneous, Operation, Shapes
from cases.fitting import axes_fit

_SHAPES: tuple[Shapes, ...] = (((2, 3),), ((4,),), ((1, 2),), ((2, 0),), ((2, 3, 2),), ((),))
_PARAMETERS: dict[str, Any] = {"axis": (None, 0, -1, (0, 1)), "keepdims": (False, True)}


def _count(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return m.sum(m.where(m.not_equal(np.asarray(x), 0), 1, 0), axis, keepdims=keepdims)


def _holds(m: Any, name: str, x: Any, axis: Any, keepdims: bool) -> Any:
    """1 if all, or some, elements are positive."""
    return m.where(getattr(m, name)(m.greater(np.asarray(x), 0), axis, keepdims=keepdims), 1, 0)


OPERATIONS = (
    *(
        Operation(
            name=f"mx.{name}",
            arguments=("x",),
            call=lambda x, axis, keepdims, name=name: getattr(mx, name)(x > 0, axis=axis, keepdims=keepdims).astype(
                x.dtype
            ),
            body=lambda m, x, axis, keepdims, name=name: _holds(m, name, x, axis, keepdims),
            shapes=_SHAPES,
            parameters=_PARAMETERS,
            symmetries=(Homogeneous({"x": 0}),),
            also=(f"mx.array.{name}",),
            valid=axes_fit,
            text=f"mx.{name}(x > 0, axis={{axis}}, keepdims={{keepdims}}).astype(x.dtype)",
        )
        for name in ("all", "any")
    ),
    *(
        Operation(
            name=f"mx.{name}[of numbers]",
            arguments=("x",),
            call=lambda x, axis, keepdims, name=name: getattr(mx, name)(x, axis=axis, keepdims=keepdims).astype(
                x.dtype
            ),
            body=lambda m, x, axis, keepdims, name=name: m.where(
                getattr(m, name)(m.not_equal(np.asarray(x), 0), axis, keepdims=keepdims), 1, 0
            ),
            shapes=(((2, 3),), ((4,),)),
            parameters={"axis": (-1, None), "keepdims": (False, True)},
            symmetries=(Homogeneous({"x": 0}),),
            valid=axes_fit,
            text=f"mx.{name}(x, axis={{axis}}, keepdims={{keepdims}}).astype(x.dtype)",
        )
        for name in ("all", "any")
    ),
    Operation(
        name="mx.count_nonzero",
        arguments=("x",),
        call=lambda x, axis, keepdims: mx.count_nonzero(x, axis=axis, keepdims=keepdims).astype(x.dtype),
        body=_count,
        shapes=_SHAPES,
        parameters=_PARAMETERS,
        symmetries=(Homogeneous({"x": 0}),),
        valid=axes_fit,
        text="mx.count_nonzero(x, axis={axis}, keepdims={keepdims}).astype(x.dtype)",
    ),
)
