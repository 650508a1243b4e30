"""Cumulative products: the derivative by one factor holds the products of the others, however many are zero."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation, Values
from cases.fitting import axes_fit

_PRODUCT = Tolerance(terms=4, reason="a product in the format, an element after another, and a sum of such")
# Types at least as wide as the formats that they are asked of.
_TYPES: tuple[Any, ...] = ("float32", "float64")

OPERATIONS = (
    Operation(
        name="mx.cumprod",
        arguments=("x",),
        call=lambda x, axis, reverse, inclusive: mx.cumprod(x, axis=axis, reverse=reverse, inclusive=inclusive),
        body=lambda m, x, axis, reverse, inclusive: m.cumprod(
            np.asarray(x), axis, reverse=reverse, inclusive=inclusive
        ),
        shapes=(((2, 3),), ((4,),), ((1, 3),), ((2, 1),), ((2, 0),), ((2, 3, 2),)),
        parameters={"axis": (-1, None, 0), "reverse": (False, True), "inclusive": (True, False)},
        values={"x": Values(singular=(0.0, 1.0, -1.0))},
        tolerance=_PRODUCT,
        formats=(*REAL_FORMATS, "complex64"),
        also=("mx.array.cumprod",),
        valid=axes_fit,
    ),
    *(
        Operation(
            name=f"mx.cumprod[{dtype}]",
            arguments=("x",),
            call=lambda x, dtype: mx.cumprod(x, axis=-1, dtype=dtype),
            body=lambda m, x, dtype: m.cumprod(np.asarray(x), -1),  # noqa: ARG005
            shapes=(((2, 3),),),
            parameters={"dtype": (getattr(mx, dtype),)},
            formats=REAL_FORMATS if dtype == "float64" else REAL_FORMATS[:3],
            tolerance=_PRODUCT,
            result=dtype,
            text="mx.cumprod(x, axis=-1, dtype={dtype})",
        )
        for dtype in _TYPES
    ),
)
