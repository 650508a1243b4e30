"""The logarithm of a sum of two exponentials."""

import math

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import Operation, Values

_ZERO = Values(singular=(0.0,))
_TERMS = Tolerance(terms=4, reason="two products, each with a weight of a few roundings, add up along two tangents")

OPERATIONS = (
    Operation(
        name="mx.logaddexp",
        arguments=("a", "b"),
        call=mx.logaddexp,
        body=lambda m, a, b: m.logaddexp(a, b),
        values={"a": _ZERO, "b": _ZERO},
        tolerance=_TERMS,
        mixed=True,
    ),
    Operation(
        name="mx.logaddexp(beside the logarithm of zero)",
        arguments=("a",),
        call=lambda a, first: mx.logaddexp(-math.inf, a) if first else mx.logaddexp(a, -math.inf),
        body=lambda m, a, first: a,  # noqa: ARG005
        shapes=(((2, 3),), ((),), ((0,),)),
        parameters={"first": (False, True)},
        values={"a": _ZERO},
        text='mx.logaddexp(-float("inf"), a) if {first} else mx.logaddexp(a, -float("inf"))',
    ),
)
