"""The divergence of Kullback and Leibler, of logarithms of probabilities."""

import math
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Operation, Values
from cases.losses import NONE_FIRST, reduced


def _kl(m: Any, inputs: Any, targets: Any, axis: int, reduction: str) -> Any:
    return reduced(m, m.sum(m.multiply(m.exp(targets), m.subtract(targets, inputs)), axis), reduction)


def _with_impossible(inputs: mx.array, targets: mx.array) -> mx.array:
    never = mx.full((1,), -math.inf, inputs.dtype)
    return nn.losses.kl_div_loss(mx.concatenate([inputs, never]), mx.concatenate([targets, never]))


OPERATIONS = (
    Operation(
        name="nn.losses.kl_div_loss",
        arguments=("inputs", "targets"),
        call=nn.losses.kl_div_loss,
        body=_kl,
        shapes=(((3, 4),) * 2, ((5,),) * 2, ((2, 1, 3),) * 2, ((2, 0),) * 2),
        parameters={"axis": (-1, 0, 1), "reduction": NONE_FIRST},
        values={"targets": Values(singular=(0.0, -20.0))},
        tolerance=Tolerance(terms=4, reason="the exponential, a difference, a product and the sums round"),
        valid=lambda shapes, parameters: (
            -len(shapes[0]) <= parameters["axis"] < len(shapes[0])
            and (0 not in shapes[0] or parameters["reduction"] != "mean")
        ),
    ),
    Operation(
        name="nn.losses.kl_div_loss[impossible class]",
        arguments=("inputs", "targets"),
        # A class that has no probability in either distribution adds nothing.
        call=_with_impossible,
        body=lambda m, inputs, targets: _kl(m, inputs, targets, -1, "none"),
        shapes=(((3,), (3,)),),
        values={"inputs": Values(scaled=False), "targets": Values(scaled=False)},
        tolerance=Tolerance(terms=4, reason="the exponential, a difference, a product and the sums round"),
        text="nn.losses.kl_div_loss(mx.concatenate([inputs, mx.full(1, -float('inf'), inputs.dtype)]), "
        "mx.concatenate([targets, mx.full(1, -float('inf'), targets.dtype)]))",
    ),
)
