"""The logarithm and the integral of the logistic function, and the softsign."""

from typing import Any

import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Operation, Parity, Values

_ZERO = {"x": Values(singular=(0.0,))}


def _softsign(m: Any, x: Any) -> Any:
    # The pieces meet at zero with the same slope, and neither has a pole where the other is taken.
    return m.divide(x, m.where(m.less(x, 0), m.subtract(1, x), m.add(1, x)))


OPERATIONS = (
    Operation(
        name="nn.log_sigmoid",
        arguments=("x",),
        call=nn.log_sigmoid,
        body=lambda m, x: m.log_sigmoid(x),
        values=_ZERO,
        also=("nn.LogSigmoid",),
    ),
    Operation(
        name="nn.softplus",
        arguments=("x",),
        call=nn.softplus,
        body=lambda m, x: m.softplus(x),
        values=_ZERO,
        also=("nn.Softplus",),
    ),
    Operation(
        name="nn.softsign",
        arguments=("x",),
        call=nn.softsign,
        body=_softsign,
        values=_ZERO,
        symmetries=(Parity(("x",), -1),),
        tolerance=Tolerance(terms=4, reason="1 + abs(x) and the quotient round; the quotient rule has two terms"),
        also=("nn.Softsign",),
    ),
)
