"""Roundings to integers and to decimal places; their derivative is zero wherever they do not jump."""

from fractions import Fraction
from typing import Any

import mlx.core as mx

from audit.operation import REAL_FORMATS, Operation, Parity, Values

_JUMPS = Values(singular=(-1.0, -0.5, 0.0, 0.5, 1.0, 2.5))


def _rounded(m: Any, a: Any, decimals: int) -> Any:
    if not decimals:
        return m.round(a)
    scale = Fraction(10) ** decimals
    return m.divide(m.round(m.multiply(a, scale)), scale)


OPERATIONS = (
    Operation(
        name="mx.floor",
        arguments=("a",),
        call=mx.floor,
        body=lambda m, a: m.floor(a),
        values={"a": _JUMPS},
        slow=True,
    ),
    Operation(
        name="mx.ceil",
        arguments=("a",),
        call=mx.ceil,
        body=lambda m, a: m.ceil(a),
        values={"a": _JUMPS},
        slow=True,
    ),
    Operation(
        name="mx.trunc",
        arguments=("a",),
        call=lambda a: mx.trunc(a),
        body=lambda m, a: m.trunc(a),
        values={"a": _JUMPS},
        slow=True,
        symmetries=(Parity(("a",), -1),),
    ),
    Operation(
        name="mx.round",
        arguments=("a",),
        call=mx.round,
        body=_rounded,
        values={"a": _JUMPS},
        slow=True,
        parameters={"decimals": (0, 1, -1)},
        symmetries=(Parity(("a",), -1),),
        formats=(*REAL_FORMATS, "complex64"),
        also=("mx.array.round",),
    ),
)
