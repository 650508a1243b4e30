"""Gated linear units: one half of an array times the sigmoid of the other."""

from typing import Any

import mlx.nn as nn
import numpy as np

from audit.case import Tolerance
from audit.operation import Operation


def _glu(m: Any, x: Any, axis: int) -> Any:
    a, b = np.split(x, 2, axis)
    return m.multiply(a, m.sigmoid(b))


OPERATIONS = (
    Operation(
        name="nn.glu",
        arguments=("x",),
        call=nn.glu,
        body=_glu,
        shapes=(((4, 2),), ((2, 6),), ((4,),), ((2, 4, 2),), ((0, 2),)),
        parameters={"axis": (-1, 0, 1)},
        tolerance=Tolerance(terms=2, reason="a sigmoid and a product round"),
        also=("nn.GLU",),
        valid=lambda shapes, parameters: -len(shapes[0]) <= parameters["axis"] < len(shapes[0]),
    ),
)
