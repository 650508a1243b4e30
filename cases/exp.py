"""Exponentials."""

import mlx.core as mx

from audit.operation import REAL_FORMATS, Operation, Values

# Besides zero, where the exponential leaves float16, float32 and bfloat16, and float64.
_EDGES = Values(singular=(0.0, 12.0, 96.0, 768.0))

OPERATIONS = (
    Operation(
        name="mx.exp",
        arguments=("x",),
        call=mx.exp,
        body=lambda m, x: m.exp(x),
        values={"x": _EDGES},
        formats=(*REAL_FORMATS, "complex64"),
        also=("mx.array.exp",),
    ),
    Operation(
        name="mx.expm1",
        arguments=("x",),
        call=mx.expm1,
        body=lambda m, x: m.expm1(x),
        values={"x": _EDGES},
    ),
)
