"""Division with Python's operators and numbers; `cases/divide.py` asks `mx.divide` itself in full."""

from typing import Any

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Homogeneous, Operation, Parity, Values

_FORMATS = (*REAL_FORMATS, "complex64")


def _divided(a: mx.array, number: float, *, below: bool) -> mx.array:
    if below:
        return number / a
    a = a / number
    a /= number
    return a


def _body(m: Any, a: Any, number: float, *, below: bool) -> Any:
    return m.divide(number, a) if below else m.divide(m.divide(a, number), number)


OPERATIONS = (
    Operation(
        name="mx.array.__truediv__",
        arguments=("a", "b"),
        call=lambda a, b: a / b,
        body=lambda m, a, b: m.divide(a, b),
        shapes=(((2, 3), (2, 3)), ((2, 1), (3,)), ((), (2,)), ((1,), (4,)), ((0, 2), (2,))),
        values={"a": Values(singular=(0.0,)), "b": Values(singular=(0.0, 1.0))},
        symmetries=(Homogeneous({"a": 1, "b": -1}), Parity(("a", "b"), 1)),
        tolerance=Tolerance(terms=4, reason="two quotients, each rounded twice, add up along two tangents"),
        formats=_FORMATS,
        mixed=True,
        also=("mx.array.__rtruediv__", "mx.array.__itruediv__", "mx.array.__div__", "mx.array.__rdiv__"),
        text="a / b",
    ),
    Operation(
        name="mx.array.__truediv__(a Python number)",
        arguments=("a",),
        call=_divided,
        body=_body,
        shapes=(((2, 3),), ((),), ((0,),)),
        parameters={"number": (1, 0.3, -2.5), "below": (False, True)},
        values={"a": Values(singular=(0.0,))},
        formats=_FORMATS,
        text="{number} / a if {below} else a / {number} / {number}",
    ),
)
