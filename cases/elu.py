"""Exponential linear units: the exponential less one below zero.

Where alpha is 1, or the exponent is divided by it, the two pieces meet with the same slope. The exponential less one is
`expm1` here: near zero nothing of it cancels.
"""

from typing import Any

import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Operation, Values

_JOINT = {"x": Values(singular=(0.0,))}
_SMALL = (((2, 3),), ((5,),))
_ROUNDINGS = Tolerance(terms=4, reason="an exponential, a difference and one or two products round")
# The constants that MLX's documentation gives.
_SELU_ALPHA, _SELU_SCALE = 1.67326, 1.0507


def _elu(m: Any, x: Any, alpha: Any = 1.0) -> Any:
    return m.where(m.less(0, x), x, m.multiply(alpha, m.expm1(x)))


def _celu(m: Any, x: Any, alpha: Any = 1.0) -> Any:
    return m.where(m.less(0, x), x, m.multiply(alpha, m.expm1(m.divide(x, alpha))))


OPERATIONS = (
    Operation(
        name="nn.elu",
        arguments=("x",),
        call=nn.elu,
        body=_elu,
        values=_JOINT,
        tolerance=_ROUNDINGS,
        also=("nn.ELU",),
    ),
    Operation(
        name="nn.elu[alpha]",
        arguments=("x",),
        call=lambda x, alpha: nn.ELU(alpha)(x),
        body=_elu,
        shapes=_SMALL,
        parameters={"alpha": (0.5, 2.0)},
        values=_JOINT,
        tolerance=_ROUNDINGS,
        formats=("float16", "float32"),
        also=("nn.ELU",),
        text="nn.ELU(alpha={alpha})(x)",
    ),
    Operation(
        name="nn.celu",
        arguments=("x",),
        call=nn.celu,
        body=_celu,
        values=_JOINT,
        tolerance=_ROUNDINGS,
        also=("nn.CELU",),
    ),
    Operation(
        name="nn.celu[alpha]",
        arguments=("x",),
        call=lambda x, alpha: nn.CELU(alpha)(x),
        body=_celu,
        shapes=_SMALL,
        parameters={"alpha": (0.5, 2.0)},
        values=_JOINT,
        tolerance=_ROUNDINGS,
        formats=("float16", "float32"),
        also=("nn.CELU",),
        text="nn.CELU(alpha={alpha})(x)",
    ),
    Operation(
        name="nn.selu",
        arguments=("x",),
        call=nn.selu,
        body=lambda m, x: m.multiply(_SELU_SCALE, _elu(m, x, _SELU_ALPHA)),
        values=_JOINT,
        tolerance=_ROUNDINGS,
        also=("nn.SELU",),
    ),
)
