"""The hyperbolic tangent made of straight lines."""

from typing import Any

import mlx.nn as nn

from audit.operation import Operation, Parity, Values


def _hard_tanh(m: Any, x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    return m.minimum(m.maximum(x, min_val), max_val)


OPERATIONS = (
    Operation(
        name="nn.hard_tanh",
        arguments=("x",),
        call=nn.hard_tanh,
        body=_hard_tanh,
        values={"x": Values(singular=(-1.0, 0.0, 1.0))},
        symmetries=(Parity(("x",), -1),),
        also=("nn.HardTanh",),
    ),
    Operation(
        name="nn.hard_tanh[limits]",
        arguments=("x",),
        call=lambda x, min_val, max_val: nn.hard_tanh(x, min_val=min_val, max_val=max_val),
        body=_hard_tanh,
        shapes=(((2, 3),), ((5,),)),
        parameters={"min_val": (-0.5, -1.0, 0.25), "max_val": (1.5, 0.5)},
        values={"x": Values(singular=(-0.5, 1.5))},
        formats=("float16", "float32"),
        text="nn.hard_tanh(x, min_val={min_val}, max_val={max_val})",
    ),
)
