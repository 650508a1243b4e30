"""The logarithm of a sum of two exponentials."""

import math
from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Values

_ZERO = Values(singular=(0.0,))
_TERMS = Tolerance(terms=4, reason="two products, each with a weight of a few roundings, add up along two tangents")


def _masked(a: mx.array, b: mx.array, mask: Any) -> mx.array:
    kept = mx.array(mask)
    bias = mx.where(kept, 0.0, -math.inf).astype(a.dtype)
    return mx.where(kept, mx.logaddexp(a + bias, b + bias), 0.0)


def _masked_body(m: Any, a: Any, b: Any, mask: Any) -> Any:
    return np.where(np.asarray(mask), m.logaddexp(a, b), 0)


OPERATIONS = (
    Operation(
        name="mx.logaddexp",
        arguments=("a", "b"),
        call=mx.logaddexp,
        body=lambda m, a, b: m.logaddexp(a, b),
        values={"a": _ZERO, "b": _ZERO},
        tolerance=_TERMS,
        mixed=True,
        slow=True,
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
    # Halves, so that no imaginary part leaves the principal branch.
    Operation(
        name="mx.logaddexp(of complex numbers)",
        arguments=("a", "b"),
        call=lambda a, b: mx.logaddexp(a / 2, b / 2),
        body=lambda m, a, b: m.logaddexp(m.divide(a, 2), m.divide(b, 2)),
        shapes=(((2, 3), (2, 3)), ((2, 1), (3,))),
        values={"a": Values(scaled=False), "b": Values(scaled=False)},
        tolerance=_TERMS,
        formats=("complex64",),
        orders=2,
        text="mx.logaddexp(a / 2, b / 2)",
    ),
    # Minus infinity at both where the mask leaves the result out.
    Operation(
        name="mx.logaddexp(of masked numbers)",
        arguments=("a", "b"),
        call=_masked,
        body=_masked_body,
        shapes=(((2, 3), (2, 3)),),
        parameters={"mask": (((True, False, True), (False, True, True)),)},
        values={"a": Values(scaled=False), "b": Values(scaled=False)},
        tolerance=_TERMS,
        orders=2,
        text="(lambda kept: mx.where(kept, mx.logaddexp(a + mx.where(kept, 0, -float('inf')), "
        "b + mx.where(kept, 0, -float('inf'))), 0))(mx.array({mask}))",
    ),
)
