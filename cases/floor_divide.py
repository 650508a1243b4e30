"""Quotients rounded down, of which the derivative is zero wherever they do not jump."""

import mlx.core as mx

from audit.operation import Operation, Parity, Values

OPERATIONS = (
    Operation(
        name="mx.floor_divide",
        arguments=("a", "b"),
        call=mx.floor_divide,
        body=lambda m, a, b: m.floor_divide(a, b),
        values={"a": Values(singular=(0.0,)), "b": Values()},
        symmetries=(Parity(("a", "b"), 1),),
        mixed=True,
        slow=True,
        also=("mx.array.__floordiv__", "mx.array.__rfloordiv__", "mx.array.__ifloordiv__"),
    ),
)
