"""Binary cross entropy, of logits and of probabilities.

Of probabilities the logarithms are cut off at -100, as documented; near the end where one of them is cut, the
derivative is that of the other.
"""

import math
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Operation, Values
from cases.losses import REDUCTIONS, reduced

_SUM = Tolerance(terms=4, reason="logarithms, products and sums round")
# A probability below this has a logarithm below -100.
_LEAST = math.exp(-100)
_SHAPES = (((2, 3),) * 3, ((4,),) * 3, ((1,),) * 3)


def _of_logits(m: Any, inputs: Any, targets: Any) -> Any:
    return m.subtract(m.logaddexp(0, inputs), m.multiply(inputs, targets))


def _log(m: Any, x: Any) -> Any:
    return m.where(m.less(x, _LEAST), -100, m.log(x))


def _of_probabilities(m: Any, inputs: Any, targets: Any) -> Any:
    hit = m.multiply(targets, _log(m, inputs))
    miss = m.multiply(m.subtract(1, targets), _log(m, m.subtract(1, inputs)))
    return m.negative(m.add(hit, miss))


def _weighted(m: Any, inputs: Any, targets: Any, weights: Any, with_logits: bool, reduction: str) -> Any:
    loss = (_of_logits if with_logits else _of_probabilities)(m, inputs, targets)
    return reduced(m, m.multiply(loss, weights), reduction)


def _call(inputs: mx.array, targets: mx.array, weights: mx.array, with_logits: bool, reduction: Any) -> mx.array:
    return nn.losses.binary_cross_entropy(inputs, targets, weights, with_logits=with_logits, reduction=reduction)


_BETWEEN = Values(low=0.0, high=1.0, singular=(0.0, 1.0))

OPERATIONS = (
    Operation(
        name="nn.losses.binary_cross_entropy",
        arguments=("inputs", "targets", "weights"),
        call=_call,
        body=_weighted,
        shapes=_SHAPES,
        parameters={"with_logits": (True, False), "reduction": REDUCTIONS},
        values={"inputs": Values(low=0.0, high=1.0), "targets": Values(low=0.0, high=1.0, singular=(0.0, 1.0))},
        tolerance=_SUM,
        text="nn.losses.binary_cross_entropy(inputs, targets, weights, {with_logits}, {reduction!r})",
    ),
    Operation(
        name="nn.losses.binary_cross_entropy[logits]",
        arguments=("inputs", "targets"),
        call=lambda inputs, targets: nn.losses.binary_cross_entropy(inputs, targets, reduction="none"),
        body=_of_logits,
        shapes=(((2, 3),) * 2,),
        values={"inputs": Values(singular=(0.0, 200.0, -200.0)), "targets": _BETWEEN},
        tolerance=_SUM,
        text="nn.losses.binary_cross_entropy(inputs, targets, reduction='none')",
    ),
    Operation(
        name="nn.losses.binary_cross_entropy[probabilities]",
        arguments=("inputs", "targets"),
        call=lambda inputs, targets: nn.losses.binary_cross_entropy(
            inputs, targets, with_logits=False, reduction="none"
        ),
        body=_of_probabilities,
        shapes=(((2, 3),) * 2,),
        values={"inputs": _BETWEEN, "targets": _BETWEEN},
        tolerance=_SUM,
        text="nn.losses.binary_cross_entropy(inputs, targets, with_logits=False, reduction='none')",
    ),
)
