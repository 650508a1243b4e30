"""Logarithms."""

import mlx.core as mx

from audit.operation import REAL_FORMATS, Operation, Values

_FORMATS = (*REAL_FORMATS, "complex64")
# The pole, and 1, where the logarithm itself is zero.
_POSITIVE = Values(low=0.0, singular=(0.0, 1.0))

OPERATIONS = (
    Operation(
        name="mx.log",
        arguments=("x",),
        call=mx.log,
        body=lambda m, x: m.log(x),
        values={"x": _POSITIVE},
        formats=_FORMATS,
        also=("mx.array.log",),
    ),
    Operation(
        name="mx.log2",
        arguments=("x",),
        call=mx.log2,
        body=lambda m, x: m.log2(x),
        values={"x": _POSITIVE},
        formats=_FORMATS,
        also=("mx.array.log2",),
    ),
    Operation(
        name="mx.log10",
        arguments=("x",),
        call=mx.log10,
        body=lambda m, x: m.log10(x),
        values={"x": _POSITIVE},
        formats=_FORMATS,
        also=("mx.array.log10",),
    ),
    Operation(
        name="mx.log1p",
        arguments=("x",),
        call=mx.log1p,
        body=lambda m, x: m.log1p(x),
        values={"x": Values(low=-1.0, singular=(-1.0, 0.0))},
        formats=_FORMATS,
        also=("mx.array.log1p",),
    ),
)
