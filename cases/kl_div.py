"""The divergence of Kullback and Leibler, of logarithms of probabilities."""

from typing import Any

import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Operation, Values
from cases.losses import NONE_FIRST, reduced


def _kl(m: Any, inputs: Any, targets: Any, axis: int, reduction: str) -> Any:
    return reduced(m, m.sum(m.multiply(m.exp(targets), m.subtract(targets, inputs)), axis), reduction)


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
)
