"""The hyperbolic tangent as an activation, and the one made of straight lines."""

from typing import Any

import mlx.nn as nn

from audit.operation import Operation, Parity, Values


def _hard_tanh(m: Any, x: Any, min_val: float, max_val: float) -> Any:
    return m.minimum(m.maximum(x, min_val), max_val)


OPERATIONS = (
    Operation(
        name="nn.tanh",
        arguments=("x",),
        call=nn.tanh,
        body=lambda m, x: m.tanh(x),
        values={"x": Values(singular=(0.0,))},
        symmetries=(Parity(("x",), -1),),
        also=("nn.Tanh",),
    ),
    Operation(
        name="nn.hard_tanh",
        arguments=("x",),
        call=nn.hard_tanh,
        body=_hard_tanh,
        parameters={"min_val": (-1.0, -0.5, 0.25), "max_val": (1.0, 0.5, 2.0)},
        values={"x": Values(singular=(-1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0))},
        also=("nn.HardTanh",),
    ),
)
