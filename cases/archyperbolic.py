"""Inverse hyperbolic functions."""

import mlx.core as mx

from audit.operation import REAL_FORMATS, Operation, Parity, Values

_FORMATS = (*REAL_FORMATS, "complex64")

OPERATIONS = (
    Operation(
        name="mx.arcsinh",
        arguments=("x",),
        call=mx.arcsinh,
        body=lambda m, x: m.arcsinh(x),
        values={"x": Values(singular=(0.0,))},
        symmetries=(Parity(("x",), -1),),
        formats=_FORMATS,
    ),
    Operation(
        name="mx.arccosh",
        arguments=("x",),
        call=mx.arccosh,
        body=lambda m, x: m.arccosh(x),
        values={"x": Values(low=1.0, singular=(1.0,))},
        formats=_FORMATS,
    ),
    Operation(
        name="mx.arctanh",
        arguments=("x",),
        call=mx.arctanh,
        body=lambda m, x: m.arctanh(x),
        values={"x": Values(low=-1.0, high=1.0, singular=(-1.0, 0.0, 1.0))},
        symmetries=(Parity(("x",), -1),),
        formats=_FORMATS,
    ),
)
