"""Inverse circular functions."""

import mlx.core as mx

from audit.operation import REAL_FORMATS, Operation, Parity, Values

_FORMATS = (*REAL_FORMATS, "complex64")
_INSIDE = Values(low=-1.0, high=1.0, singular=(-1.0, 0.0, 1.0))

OPERATIONS = (
    Operation(
        name="mx.arcsin",
        arguments=("x",),
        call=mx.arcsin,
        body=lambda m, x: m.arcsin(x),
        values={"x": _INSIDE},
        symmetries=(Parity(("x",), -1),),
        formats=_FORMATS,
    ),
    Operation(
        name="mx.arccos",
        arguments=("x",),
        call=mx.arccos,
        body=lambda m, x: m.arccos(x),
        values={"x": _INSIDE},
        formats=_FORMATS,
    ),
    Operation(
        name="mx.arctan",
        arguments=("x",),
        call=mx.arctan,
        body=lambda m, x: m.arctan(x),
        values={"x": Values(singular=(0.0,))},
        symmetries=(Parity(("x",), -1),),
        formats=_FORMATS,
    ),
)
