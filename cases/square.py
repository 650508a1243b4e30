"""Squares and reciprocals."""

import mlx.core as mx

from audit.operation import REAL_FORMATS, Homogeneous, Operation, Parity, Values

_FORMATS = (*REAL_FORMATS, "complex64")
_ZERO = Values(singular=(0.0,))

OPERATIONS = (
    Operation(
        name="mx.square",
        arguments=("x",),
        call=mx.square,
        body=lambda m, x: m.square(x),
        values={"x": _ZERO},
        symmetries=(Homogeneous({"x": 2}), Parity(("x",), 1)),
        formats=_FORMATS,
        also=("mx.array.square",),
    ),
    Operation(
        name="mx.reciprocal",
        arguments=("x",),
        call=mx.reciprocal,
        body=lambda m, x: m.reciprocal(x),
        values={"x": _ZERO},
        symmetries=(Homogeneous({"x": -1}), Parity(("x",), -1)),
        formats=_FORMATS,
        also=("mx.array.reciprocal",),
    ),
)
