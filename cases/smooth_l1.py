"""Losses that are quadratic for small errors and linear for large ones."""

from fractions import Fraction
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Operation, Values
from cases.losses import MEAN, NONE_FIRST, REDUCTIONS, reduced

_SHAPES = (((2, 3), (2, 3)), ((4,), (4,)), ((1,), (1,)))
_ROUNDINGS = Tolerance(terms=4, reason="the difference rounds, and the square, the quotient or the logarithm of it")
# Beside any number that is asked for.
_BOUND = Fraction(37, 36)


def _size(m: Any, error: Any) -> Any:
    # The absolute value, whose kink at zero lies in a branch that is not taken there.
    return m.sqrt(m.square(error))


def _smooth(m: Any, predictions: Any, targets: Any, beta: Any = 1.0, reduction: str = "none") -> Any:
    error = m.subtract(predictions, targets)
    size = _size(m, error)
    inner = m.divide(m.square(error), 2 * beta)
    return reduced(m, m.where(m.less(m.square(error), beta**2), inner, m.subtract(size, beta / 2)), reduction)


def _huber(m: Any, inputs: Any, targets: Any, delta: Any = 1.0, reduction: str = "none") -> Any:
    error = m.subtract(inputs, targets)
    size = _size(m, error)
    outer = m.multiply(delta, m.subtract(size, delta / 2))
    return reduced(m, m.where(m.less(m.square(error), delta**2), m.divide(m.square(error), 2), outer), reduction)


def _log_cosh(m: Any, inputs: Any, targets: Any, reduction: str = "none") -> Any:
    # log cosh x is log(1 + 2 sinh(x/2)**2), of which nothing cancels near zero, and |x| + log(1 + exp(-2 |x|)) - log 2,
    # which says most about large x.
    error = m.subtract(inputs, targets)
    size = _size(m, error)
    small = m.less(m.square(error), _BOUND)
    near = m.log1p(m.multiply(2, m.square(m.sinh(m.divide(m.where(small, error, 0), 2)))))
    far = m.subtract(m.add(size, m.softplus(m.multiply(-2, size))), m.log(2))
    return reduced(m, m.where(small, near, far), reduction)


OPERATIONS = (
    Operation(
        name="nn.losses.smooth_l1_loss",
        arguments=("predictions", "targets"),
        call=nn.losses.smooth_l1_loss,
        body=_smooth,
        shapes=_SHAPES,
        parameters={"beta": (1.0, 0.5, 2.0), "reduction": REDUCTIONS},
        tolerance=MEAN,
    ),
    Operation(
        name="nn.losses.smooth_l1_loss[zero targets]",
        arguments=("predictions",),
        call=lambda predictions: nn.losses.smooth_l1_loss(predictions, mx.zeros_like(predictions), reduction="none"),
        body=lambda m, predictions: _smooth(m, predictions, 0),
        values={"predictions": Values(singular=(-1.0, 0.0, 1.0))},
        tolerance=_ROUNDINGS,
        text="nn.losses.smooth_l1_loss(predictions, mx.zeros_like(predictions), reduction='none')",
    ),
    Operation(
        name="nn.losses.huber_loss",
        arguments=("inputs", "targets"),
        call=nn.losses.huber_loss,
        body=_huber,
        shapes=_SHAPES,
        parameters={"delta": (1.0, 0.5, 2.0), "reduction": NONE_FIRST},
        tolerance=MEAN,
    ),
    Operation(
        name="nn.losses.huber_loss[zero targets]",
        arguments=("inputs",),
        call=lambda inputs: nn.losses.huber_loss(inputs, mx.zeros_like(inputs)),
        body=lambda m, inputs: _huber(m, inputs, 0),
        values={"inputs": Values(singular=(-1.0, 0.0, 1.0))},
        tolerance=_ROUNDINGS,
        text="nn.losses.huber_loss(inputs, mx.zeros_like(inputs))",
    ),
    Operation(
        name="nn.losses.log_cosh_loss",
        arguments=("inputs", "targets"),
        call=nn.losses.log_cosh_loss,
        body=_log_cosh,
        shapes=_SHAPES,
        parameters={"reduction": NONE_FIRST},
        tolerance=MEAN,
    ),
    Operation(
        name="nn.losses.log_cosh_loss[zero targets]",
        arguments=("inputs",),
        call=lambda inputs: nn.losses.log_cosh_loss(inputs, mx.zeros_like(inputs)),
        body=lambda m, inputs: _log_cosh(m, inputs, 0),
        values={"inputs": Values(singular=(0.0,))},
        tolerance=_ROUNDINGS,
        text="nn.losses.log_cosh_loss(inputs, mx.zeros_like(inputs))",
    ),
)
