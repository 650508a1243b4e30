"""The remainder of a division, which has the sign of the denominator and jumps at its multiples."""

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import Operation, Parity, Values

OPERATIONS = (
    Operation(
        name="mx.remainder",
        arguments=("a", "b"),
        call=mx.remainder,
        body=lambda m, a, b: m.remainder(a, b),
        values={"a": Values(singular=(0.0,)), "b": Values()},
        symmetries=(Parity(("a", "b"), -1),),
        tolerance=Tolerance(terms=2, reason="a tangent and a rounded product add up along two tangents"),
        mixed=True,
        slow=True,
        also=("mx.array.__mod__", "mx.array.__rmod__", "mx.array.__imod__"),
    ),
)
