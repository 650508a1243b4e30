"""Squared and absolute errors."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn

from audit.operation import Operation, Permutation, Values
from cases.losses import MEAN, REDUCTIONS, reduced

_SHAPES = (((2, 2), (2, 2)), ((2, 3), (2, 3)), ((4,), (4,)), ((1,), (1,)), ((0,), (0,)), ((2, 1, 3), (2, 1, 3)))
_ARGUMENTS = ("predictions", "targets")


def _fits(shapes: Any, parameters: Any) -> bool:
    # The mean of nothing is no number.
    return 0 not in shapes[0] or parameters["reduction"] != "mean"


def _mse(m: Any, predictions: Any, targets: Any, reduction: str) -> Any:
    return reduced(m, m.square(m.subtract(predictions, targets)), reduction)


def _l1(m: Any, predictions: Any, targets: Any, reduction: str = "none") -> Any:
    return reduced(m, m.abs(m.subtract(predictions, targets)), reduction)


OPERATIONS = (
    Operation(
        name="nn.losses.mse_loss",
        arguments=_ARGUMENTS,
        call=nn.losses.mse_loss,
        body=_mse,
        shapes=_SHAPES,
        parameters={"reduction": REDUCTIONS},
        symmetries=(Permutation(_ARGUMENTS),),
        tolerance=MEAN,
        valid=_fits,
    ),
    Operation(
        name="nn.losses.l1_loss",
        arguments=_ARGUMENTS,
        call=nn.losses.l1_loss,
        body=_l1,
        shapes=_SHAPES,
        parameters={"reduction": REDUCTIONS},
        symmetries=(Permutation(_ARGUMENTS),),
        tolerance=MEAN,
        valid=_fits,
    ),
    Operation(
        name="nn.losses.l1_loss[meeting]",
        arguments=("predictions",),
        # Targets of one, which predictions can meet.
        call=lambda predictions: nn.losses.l1_loss(predictions, mx.ones_like(predictions), reduction="sum"),
        body=lambda m, predictions: m.sum(m.abs(m.subtract(predictions, 1))),
        shapes=(((2, 2),),),
        values={"predictions": Values(singular=(1.0,))},
        tolerance=MEAN,
        text="nn.losses.l1_loss(predictions, mx.ones_like(predictions), reduction='sum')",
    ),
)
