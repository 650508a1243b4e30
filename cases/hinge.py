"""Losses that are zero beyond a margin."""

from typing import Any

import mlx.nn as nn

from audit.operation import Operation, Values
from cases.losses import MEAN, NONE_FIRST, reduced


def _hinge(m: Any, inputs: Any, targets: Any, reduction: str) -> Any:
    return reduced(m, m.maximum(m.subtract(1, m.multiply(inputs, targets)), 0), reduction)


def _ranking(m: Any, inputs1: Any, inputs2: Any, targets: Any, margin: float, reduction: str) -> Any:
    difference = m.multiply(targets, m.subtract(inputs2, inputs1))
    return reduced(m, m.maximum(m.add(difference, margin), 0), reduction)


OPERATIONS = (
    Operation(
        name="nn.losses.hinge_loss",
        arguments=("inputs", "targets"),
        call=nn.losses.hinge_loss,
        body=_hinge,
        shapes=(((2, 2),) * 2, ((4,),) * 2, ((1,),) * 2),
        parameters={"reduction": NONE_FIRST},
        values={"targets": Values(singular=(1.0, -1.0), scaled=False)},
        tolerance=MEAN,
    ),
    Operation(
        name="nn.losses.margin_ranking_loss",
        arguments=("inputs1", "inputs2", "targets"),
        call=nn.losses.margin_ranking_loss,
        body=_ranking,
        shapes=(((2, 2),) * 3, ((4,),) * 3, ((1,),) * 3),
        parameters={"margin": (0.0, 0.5, 2.0), "reduction": NONE_FIRST},
        values={"targets": Values(singular=(1.0, -1.0), scaled=False)},
        tolerance=MEAN,
    ),
)
