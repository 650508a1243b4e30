"""Rectifiers: what is negative becomes zero."""

import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Values

_KINK = {"x": Values(singular=(0.0,))}

OPERATIONS = (
    Operation(
        name="nn.relu",
        arguments=("x",),
        call=nn.relu,
        body=lambda m, x: m.maximum(x, 0),
        values=_KINK,
        symmetries=(Homogeneous({"x": 1}),),
        also=("nn.ReLU",),
    ),
    Operation(
        name="nn.relu2",
        arguments=("x",),
        call=nn.relu2,
        # At zero the two pieces meet with the same slope.
        body=lambda m, x: m.where(m.less(x, 0), 0, m.square(x)),
        values=_KINK,
        symmetries=(Homogeneous({"x": 2}),),
        tolerance=Tolerance(terms=2, reason="a maximum and a square, which rounds once"),
        also=("nn.ReLU2",),
    ),
    Operation(
        name="nn.relu6",
        arguments=("x",),
        call=nn.relu6,
        body=lambda m, x: m.minimum(m.maximum(x, 0), 6),
        values={"x": Values(singular=(0.0, 6.0))},
        also=("nn.ReLU6",),
    ),
)
