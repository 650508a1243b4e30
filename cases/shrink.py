"""Activations that remove what is small, and the step."""

from typing import Any

import mlx.nn as nn

from audit.operation import Operation, Parity, Values

_LAMBDA = {"lambd": (0.5, 0.25, 2.0)}
_EDGES = {"x": Values(singular=(-2.0, -0.5, -0.25, 0.0, 0.25, 0.5, 2.0))}


def _hard_shrink(m: Any, x: Any, lambd: Any) -> Any:
    return m.where(m.less(lambd, m.abs(x)), x, 0)


def _softshrink(m: Any, x: Any, lambd: Any) -> Any:
    return m.add(m.maximum(m.subtract(x, lambd), 0), m.minimum(m.add(x, lambd), 0))


OPERATIONS = (
    Operation(
        name="nn.hard_shrink",
        arguments=("x",),
        call=nn.hard_shrink,
        body=_hard_shrink,
        parameters=_LAMBDA,
        values=_EDGES,
        symmetries=(Parity(("x",), -1),),
        also=("nn.HardShrink",),
        note="At plus and minus lambd the function jumps.",
    ),
    Operation(
        name="nn.softshrink",
        arguments=("x",),
        call=nn.softshrink,
        body=_softshrink,
        parameters=_LAMBDA,
        values=_EDGES,
        symmetries=(Parity(("x",), -1),),
        also=("nn.Softshrink",),
    ),
    Operation(
        name="nn.step",
        arguments=("x",),
        call=nn.step,
        body=lambda m, x, threshold: m.where(m.less(x, threshold), 0, 1),
        parameters={"threshold": (0.0, 0.5, -2.0)},
        values=_EDGES,
        also=("nn.Step",),
        note="The derivative is zero except at the threshold, where the function jumps.",
    ),
)
