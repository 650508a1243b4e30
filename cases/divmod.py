"""Quotient rounded down and remainder at once."""

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import Operation, Parity, Values

_VALUES = {"a": Values(singular=(0.0,)), "b": Values()}

OPERATIONS = (
    Operation(
        name="mx.divmod[0]",
        arguments=("a", "b"),
        call=lambda a, b: mx.divmod(a, b)[0],
        body=lambda m, a, b: m.floor_divide(a, b),
        values=_VALUES,
        symmetries=(Parity(("a", "b"), 1),),
        mixed=True,
        slow=True,
        text="mx.divmod(a, b)[0]",
    ),
    Operation(
        name="mx.divmod[1]",
        arguments=("a", "b"),
        call=lambda a, b: mx.divmod(a, b)[1],
        body=lambda m, a, b: m.remainder(a, b),
        values=_VALUES,
        symmetries=(Parity(("a", "b"), -1),),
        tolerance=Tolerance(terms=2, reason="a tangent and a rounded product add up along two tangents"),
        mixed=True,
        slow=True,
        text="mx.divmod(a, b)[1]",
    ),
)
