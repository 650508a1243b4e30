"""Sine, cosine and tangent."""

import mlx.core as mx

from audit.operation import REAL_FORMATS, Operation, Parity, Values

_FORMATS = (*REAL_FORMATS, "complex64")
_ZERO = Values(singular=(0.0,))

OPERATIONS = (
    Operation(
        name="mx.sin",
        arguments=("x",),
        call=mx.sin,
        body=lambda m, x: m.sin(x),
        values={"x": _ZERO},
        symmetries=(Parity(("x",), -1),),
        formats=_FORMATS,
        also=("mx.array.sin",),
    ),
    Operation(
        name="mx.cos",
        arguments=("x",),
        call=mx.cos,
        body=lambda m, x: m.cos(x),
        values={"x": _ZERO},
        symmetries=(Parity(("x",), 1),),
        formats=_FORMATS,
        also=("mx.array.cos",),
    ),
    Operation(
        name="mx.tan",
        arguments=("x",),
        call=mx.tan,
        body=lambda m, x: m.tan(x),
        values={"x": _ZERO},
        symmetries=(Parity(("x",), -1),),
        formats=_FORMATS,
    ),
)
