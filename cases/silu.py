"""Numbers times a gate that opens with them."""

import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Operation, Values

_ZERO = {"x": Values(singular=(0.0,))}

OPERATIONS = (
    Operation(
        name="nn.silu",
        arguments=("x",),
        call=nn.silu,
        body=lambda m, x: m.multiply(x, m.sigmoid(x)),
        values=_ZERO,
        tolerance=Tolerance(terms=4, reason="a sigmoid and a product round, and the derivative is a sum of two terms"),
        also=("nn.SiLU",),
    ),
    Operation(
        name="nn.mish",
        arguments=("x",),
        call=nn.mish,
        body=lambda m, x: m.multiply(x, m.tanh(m.softplus(x))),
        values=_ZERO,
        tolerance=Tolerance(terms=8, reason="a logarithm, tanh and a product round; the derivative is a sum of terms"),
        also=("nn.Mish",),
    ),
    Operation(
        name="nn.hardswish",
        arguments=("x",),
        call=nn.hardswish,
        body=lambda m, x: m.divide(m.multiply(x, m.minimum(m.maximum(m.add(x, 3), 0), 6)), 6),
        values={"x": Values(singular=(-3.0, 0.0, 3.0))},
        tolerance=Tolerance(terms=4, reason="x + 3, a product and a quotient round"),
        also=("nn.Hardswish",),
    ),
)
