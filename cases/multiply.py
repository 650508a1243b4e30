"""Products of two numbers, also with Python's operators and numbers."""

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Homogeneous, Operation, Parity, Values

_FORMATS = (*REAL_FORMATS, "complex64")
_NEUTRAL = Values(singular=(0.0, 1.0))


def _scaled(a: mx.array, number: float) -> mx.array:
    a = number * a
    a *= number
    return a * number


OPERATIONS = (
    Operation(
        name="mx.multiply",
        arguments=("a", "b"),
        call=mx.multiply,
        body=lambda m, a, b: m.multiply(a, b),
        values={"a": _NEUTRAL, "b": _NEUTRAL},
        symmetries=(Homogeneous({"a": 1, "b": 1}), Parity(("a", "b"), 1)),
        tolerance=Tolerance(terms=2, reason="two products, each rounded, add up along two tangents or complex parts"),
        formats=_FORMATS,
        mixed=True,
        also=("mx.array.__mul__", "mx.array.__rmul__", "mx.array.__imul__"),
    ),
    Operation(
        name="mx.multiply(a Python number)",
        arguments=("a",),
        call=_scaled,
        body=lambda m, a, number: m.multiply(a, number**3),
        shapes=(((2, 3),), ((),), ((0,),)),
        parameters={"number": (0.0, 1, -2.5, 0.1)},
        values={"a": Values(singular=(0.0,))},
        symmetries=(Homogeneous({"a": 1}),),
        formats=_FORMATS,
        text="{number} * a * {number} * {number}",
    ),
)
