"""Hyperbolic sine, cosine and tangent."""

import mlx.core as mx

from audit.operation import REAL_FORMATS, Operation, Parity, Values

_FORMATS = (*REAL_FORMATS, "complex64")
# Besides zero, where float16, float32 and bfloat16, and float64 overflow.
_EDGES = Values(singular=(0.0, 12.0, 96.0, 768.0))

OPERATIONS = (
    Operation(
        name="mx.sinh",
        arguments=("x",),
        call=mx.sinh,
        body=lambda m, x: m.sinh(x),
        values={"x": _EDGES},
        symmetries=(Parity(("x",), -1),),
        formats=_FORMATS,
    ),
    Operation(
        name="mx.cosh",
        arguments=("x",),
        call=mx.cosh,
        body=lambda m, x: m.cosh(x),
        values={"x": _EDGES},
        symmetries=(Parity(("x",), 1),),
        formats=_FORMATS,
    ),
    Operation(
        name="mx.tanh",
        arguments=("x",),
        call=mx.tanh,
        body=lambda m, x: m.tanh(x),
        values={"x": Values(singular=(0.0,))},
        symmetries=(Parity(("x",), -1),),
        formats=_FORMATS,
        also=("nn.tanh", "nn.Tanh"),
    ),
)
