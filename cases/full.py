"""Arrays filled with one value or with an array that is repeated; of a model array only the shape counts."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation
from cases.fitting import numpy_allows

_ALL = (*REAL_FORMATS, "complex64")
_SUM = Tolerance(terms=2, reason="the derivative of a repeated value is a sum in the format")
_TYPES: tuple[Any, ...] = ("float16", "float32")


def _filled(shape: tuple[int, ...], vals: Any) -> Any:
    return np.broadcast_to(np.asarray(vals), shape)


OPERATIONS = (
    Operation(
        name="mx.full",
        arguments=("vals",),
        call=lambda vals, shape: mx.full(shape, vals),
        body=lambda m, vals, shape: _filled(shape, vals),  # noqa: ARG005
        shapes=(((3,),), ((),), ((2, 1),), ((0,),)),
        parameters={"shape": ((2, 3), 3, (2, 2), (0,), (2, 1, 3))},
        tolerance=_SUM,
        formats=_ALL,
        valid=lambda s, p: numpy_allows(np.full)((), {**p, "fill_value": np.zeros(s[0])}),
        text="mx.full({shape}, vals)",
    ),
    *(
        Operation(
            name=f"mx.full[{dtype}]",
            arguments=("vals",),
            call=lambda vals, dtype: mx.full((2, 3), vals, dtype=dtype),
            body=lambda m, vals, dtype: _filled((2, 3), vals),  # noqa: ARG005
            shapes=(((3,),), ((),)),
            parameters={"dtype": (getattr(mx, dtype),)},
            tolerance=_SUM,
            result=dtype,
            text=f"mx.full((2, 3), vals, dtype=mx.{dtype})",
        )
        for dtype in _TYPES
    ),
    Operation(
        name="mx.full_like",
        arguments=("a", "vals"),
        call=lambda a, vals: mx.full_like(a, vals),
        body=lambda m, a, vals: _filled(np.shape(a), vals),  # noqa: ARG005
        shapes=(((2, 3), (3,)), ((2,), ()), ((0, 2), (2,))),
        tolerance=_SUM,
        formats=_ALL,
    ),
    *(
        Operation(
            name=f"mx.full_like[{dtype}]",
            arguments=("a", "vals"),
            call=lambda a, vals, dtype: mx.full_like(a, vals, dtype=dtype),
            body=lambda m, a, vals, dtype: _filled(np.shape(a), vals),  # noqa: ARG005
            shapes=(((2, 3), (3,)), ((2,), ())),
            parameters={"dtype": (getattr(mx, dtype),)},
            tolerance=_SUM,
            result=dtype,
            text=f"mx.full_like(a, vals, dtype=mx.{dtype})",
        )
        for dtype in _TYPES
    ),
    *(
        Operation(
            name=f"mx.{name}",
            arguments=("a",),
            call=lambda a, name=name: getattr(mx, name)(a),
            body=lambda m, a, value=value: np.full(np.shape(a), value, object),  # noqa: ARG005
            shapes=(((2, 3),), ((),), ((0, 2),)),
            formats=_ALL,
            note="Only the shape of its argument is read: the derivative is zero.",
        )
        for name, value in (("zeros_like", 0), ("ones_like", 1))
    ),
    *(
        Operation(
            name=f"mx.{name}[{dtype}]",
            arguments=("a",),
            call=lambda a, dtype, name=name: getattr(mx, name)(a, dtype=dtype),
            body=lambda m, a, dtype, value=value: np.full(np.shape(a), value, object),  # noqa: ARG005
            shapes=(((2, 3),),),
            parameters={"dtype": (getattr(mx, dtype),)},
            result=dtype,
            text=f"mx.{name}(a, dtype=mx.{dtype})",
        )
        for name, value in (("zeros_like", 0), ("ones_like", 1))
        for dtype in _TYPES
    ),
)
