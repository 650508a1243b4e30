"""Conjugates, real and imaginary parts."""

import mlx.core as mx

from audit.operation import REAL_FORMATS, Homogeneous, Operation, Parity

_FORMATS = (*REAL_FORMATS, "complex64")
_LINEAR = (Homogeneous({"x": 1}), Parity(("x",), -1))

OPERATIONS = (
    Operation(
        name="mx.conjugate",
        arguments=("x",),
        call=mx.conjugate,
        body=lambda m, x: m.conj(x),
        symmetries=_LINEAR,
        formats=_FORMATS,
        also=("mx.conj", "mx.array.conj"),
    ),
    Operation(
        name="mx.real",
        arguments=("x",),
        call=mx.real,
        body=lambda m, x: m.real(x),
        symmetries=_LINEAR,
        formats=_FORMATS,
        result="real",
        also=("mx.array.real",),
    ),
    Operation(
        name="mx.imag",
        arguments=("x",),
        call=mx.imag,
        body=lambda m, x: m.imag(x),
        symmetries=_LINEAR,
        formats=_FORMATS,
        result="real",
        also=("mx.array.imag",),
    ),
)
