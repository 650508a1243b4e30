"""Cumulative sums."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Homogeneous, Operation
from cases.fitting import axes_fit

_SUM = Tolerance(terms=4, reason="a sum in the format, an element after another")
# Types at least as wide as the formats that they are asked of.
_TYPES: tuple[Any, ...] = ("float32", "float64")
_FLAGS = {"reverse": (False, True), "inclusive": (True, False)}

OPERATIONS = (
    Operation(
        name="mx.cumsum",
        arguments=("x",),
        call=lambda x, axis, reverse, inclusive: mx.cumsum(x, axis=axis, reverse=reverse, inclusive=inclusive),
        body=lambda m, x, axis, reverse, inclusive: m.cumsum(np.asarray(x), axis, reverse=reverse, inclusive=inclusive),
        shapes=(((2, 3),), ((4,),), ((1, 3),), ((2, 1),), ((2, 0),), ((2, 3, 2),)),
        parameters={"axis": (-1, None, 0), **_FLAGS},
        symmetries=(Homogeneous({"x": 1}),),
        tolerance=_SUM,
        formats=(*REAL_FORMATS, "complex64"),
        also=("mx.array.cumsum",),
        valid=axes_fit,
        long=(((2050,),),),
    ),
    *(
        Operation(
            name=f"mx.cumsum[{dtype}]",
            arguments=("x",),
            call=lambda x, dtype: mx.cumsum(x, axis=-1, dtype=dtype),
            body=lambda m, x, dtype: m.cumsum(np.asarray(x), -1),  # noqa: ARG005
            shapes=(((2, 3),),),
            parameters={"dtype": (getattr(mx, dtype),)},
            formats=REAL_FORMATS if dtype == "float64" else REAL_FORMATS[:3],
            tolerance=_SUM,
            result=dtype,
            text="mx.cumsum(x, axis=-1, dtype={dtype})",
        )
        for dtype in _TYPES
    ),
)
