"""Sums and differences of two numbers, also with Python's operators and numbers."""

import mlx.core as mx

from audit.operation import REAL_FORMATS, Operation, Parity, Values

_FORMATS = (*REAL_FORMATS, "complex64")
_ZERO = {"a": Values(singular=(0.0,)), "b": Values(singular=(0.0,))}
_NUMBERS = (0.0, 1, -2.5)


def _added(a: mx.array, number: float) -> mx.array:
    a = number + a
    a += number
    return a + number


def _subtracted(a: mx.array, number: float) -> mx.array:
    a = number - a
    a -= number
    return a - number


OPERATIONS = (
    Operation(
        name="mx.add",
        arguments=("a", "b"),
        call=mx.add,
        body=lambda m, a, b: m.add(a, b),
        values=_ZERO,
        symmetries=(Parity(("a", "b"), -1),),
        formats=_FORMATS,
        mixed=True,
        also=("mx.array.__add__", "mx.array.__radd__", "mx.array.__iadd__"),
    ),
    Operation(
        name="mx.subtract",
        arguments=("a", "b"),
        call=mx.subtract,
        body=lambda m, a, b: m.subtract(a, b),
        values=_ZERO,
        symmetries=(Parity(("a", "b"), -1),),
        formats=_FORMATS,
        mixed=True,
        also=("mx.array.__sub__", "mx.array.__rsub__", "mx.array.__isub__"),
    ),
    Operation(
        name="mx.add(a Python number)",
        arguments=("a",),
        call=_added,
        body=lambda m, a, number: m.add(a, 3 * number),
        shapes=(((2, 3),), ((),), ((0,),)),
        parameters={"number": _NUMBERS},
        values={"a": Values(singular=(0.0,), scaled=False)},
        formats=_FORMATS,
        text="{number} + a + {number} + {number}",
    ),
    Operation(
        name="mx.subtract(a Python number)",
        arguments=("a",),
        call=_subtracted,
        body=lambda m, a, number: m.subtract(-number, a),
        shapes=(((2, 3),), ((),), ((0,),)),
        parameters={"number": _NUMBERS},
        values={"a": Values(singular=(0.0,), scaled=False)},
        formats=_FORMATS,
        text="{number} - a - {number} - {number}",
    ),
)
