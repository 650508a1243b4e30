"""The logistic function, its logarithm, its integral, and the softsign."""

from typing import Any

import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Operation, Parity, Values

_ZERO = {"x": Values(singular=(0.0,))}


def _softsign(m: Any, x: Any) -> Any:
    # Of the pieces each is smooth, and at zero they meet with the same slope.
    return m.where(m.less(x, 0), m.divide(x, m.subtract(1, x)), m.divide(x, m.add(1, x)))


OPERATIONS = (
    Operation(
        name="nn.sigmoid",
        arguments=("x",),
        call=nn.sigmoid,
        body=lambda m, x: m.sigmoid(x),
        values=_ZERO,
        also=("nn.Sigmoid",),
    ),
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
