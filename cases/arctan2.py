"""The angle of a point of the plane."""

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import Operation, Parity, Values

_ZERO = Values(singular=(0.0,))

OPERATIONS = (
    Operation(
        name="mx.arctan2",
        arguments=("a", "b"),
        call=mx.arctan2,
        body=lambda m, a, b: m.arctan2(a, b),
        values={"a": _ZERO, "b": _ZERO},
        symmetries=(Parity(("a",), -1),),
        tolerance=Tolerance(terms=4, reason="two quotients, each rounded twice, add up along two tangents"),
        mixed=True,
    ),
)
