"""Exponentials."""

import mlx.core as mx

from audit.operation import REAL_FORMATS, Operation

OPERATIONS = (
    Operation(
        name="mx.exp",
        arguments=("x",),
        call=mx.exp,
        body=lambda m, x: m.exp(x),
        formats=(*REAL_FORMATS, "complex64"),
        also=("mx.array.exp",),
    ),
    Operation(
        name="mx.expm1",
        arguments=("x",),
        call=mx.expm1,
        body=lambda m, x: m.expm1(x),
    ),
)
