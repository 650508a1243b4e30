"""Activations that remove what is small, and the step."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn

from audit.operation import Operation, Parity, Values

_SMALL = (((2, 3),), ((5,),))
_LAMBDA = {"lambd": (0.25, 1.25)}
_DEFAULT = {"x": Values(singular=(-0.5, 0.0, 0.5))}
_OTHERS = {"x": Values(singular=(-0.25, 0.0, 0.25))}


def _hard_shrink(m: Any, x: Any, lambd: Any = 0.5) -> Any:
    return m.where(m.less(lambd, x), x, m.where(m.less(x, -lambd), x, 0))


def _softshrink(m: Any, x: Any, lambd: Any = 0.5) -> Any:
    return m.add(m.maximum(m.subtract(x, lambd), 0), m.minimum(m.add(x, lambd), 0))


def _step(x: mx.array, threshold: float = 0.0) -> mx.array:
    # The step itself is of integers.
    return nn.step(x, threshold).astype(x.dtype)


OPERATIONS = (
    Operation(
        name="nn.hard_shrink",
        arguments=("x",),
        call=nn.hard_shrink,
        body=_hard_shrink,
        values=_DEFAULT,
        symmetries=(Parity(("x",), -1),),
        also=("nn.HardShrink",),
        note="At plus and minus lambd the function jumps.",
    ),
    Operation(
        name="nn.hard_shrink[lambd]",
        arguments=("x",),
        call=lambda x, lambd: nn.HardShrink(lambd)(x),
        body=_hard_shrink,
        shapes=_SMALL,
        parameters=_LAMBDA,
        values=_OTHERS,
        formats=("float16", "float32"),
        also=("nn.HardShrink",),
        text="nn.HardShrink(lambd={lambd})(x)",
    ),
    Operation(
        name="nn.softshrink",
        arguments=("x",),
        call=nn.softshrink,
        body=_softshrink,
        values=_DEFAULT,
        symmetries=(Parity(("x",), -1),),
        also=("nn.Softshrink",),
    ),
    Operation(
        name="nn.softshrink[lambd]",
        arguments=("x",),
        call=lambda x, lambd: nn.Softshrink(lambd)(x),
        body=_softshrink,
        shapes=_SMALL,
        parameters=_LAMBDA,
        values=_OTHERS,
        formats=("float16", "float32"),
        also=("nn.Softshrink",),
        text="nn.Softshrink(lambd={lambd})(x)",
    ),
    Operation(
        name="nn.step",
        arguments=("x",),
        call=_step,
        body=lambda m, x: m.where(m.less(x, 0), 0, 1),
        values={"x": Values(singular=(0.0,))},
        also=("nn.Step",),
        text="nn.step(x).astype(x.dtype)",
        note="The derivative is zero except at the threshold, where the function jumps.",
    ),
    Operation(
        name="nn.step[threshold]",
        arguments=("x",),
        call=lambda x, threshold: nn.Step(threshold)(x).astype(x.dtype),
        body=lambda m, x, threshold: m.where(m.less(x, threshold), 0, 1),
        shapes=_SMALL,
        parameters={"threshold": (1.25, -1.5)},
        formats=("float16", "float32"),
        also=("nn.Step",),
        text="nn.Step(threshold={threshold})(x).astype(x.dtype)",
    ),
)
