"""Negation, and the plus sign."""

import mlx.core as mx

from audit.operation import REAL_FORMATS, Homogeneous, Operation, Parity, Values

_FORMATS = (*REAL_FORMATS, "complex64")
_ZERO = Values(singular=(0.0,))

OPERATIONS = (
    Operation(
        name="mx.negative",
        arguments=("x",),
        call=mx.negative,
        body=lambda m, x: m.negative(x),
        values={"x": _ZERO},
        symmetries=(Homogeneous({"x": 1}), Parity(("x",), -1)),
        formats=_FORMATS,
        also=("mx.array.__neg__",),
    ),
    Operation(
        name="mx.positive",
        arguments=("x",),
        call=lambda x: mx.positive(x),
        body=lambda m, x: x,  # noqa: ARG005
        values={"x": _ZERO},
        symmetries=(Homogeneous({"x": 1}), Parity(("x",), -1)),
        formats=_FORMATS,
        also=("mx.array.__pos__",),
    ),
)
