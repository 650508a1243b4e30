"""Dropout: elements, or whole channels, become zero; the mask is read from the layer with the same seed."""

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from audit.operation import Homogeneous, Operation, Shape

_SEED = 11
_SHAPES: dict[str, tuple[tuple[Shape], ...]] = {
    "Dropout": (((3, 4),), ((5,),), ((0,),)),
    "Dropout2d": (((2, 2, 2, 3),), ((3, 2, 4),)),
    "Dropout3d": (((2, 1, 2, 1, 3),), ((2, 1, 2, 4),)),
}


def _call(name: str) -> Callable[..., mx.array]:
    def call(x: mx.array, p: float, training: bool) -> mx.array:
        mx.random.seed(_SEED)
        layer = getattr(nn, name)(p)
        layer.train(training)
        return layer(x)

    return call


def _body(name: str) -> Callable[..., Any]:
    def body(m: Any, x: Any, p: float, training: bool) -> Any:
        # Which elements are kept is what the layer does to ones.
        kept = np.array(_call(name)(mx.ones(x.shape), p, training)) != 0
        return m.where(kept, m.divide(x, 1 - p) if training else x, 0)

    return body


OPERATIONS = tuple(
    Operation(
        name=f"nn.{name}",
        arguments=("x",),
        call=_call(name),
        body=_body(name),
        shapes=shapes,
        parameters={"p": (0.5, 0.25, 0.0), "training": (True, False)},
        symmetries=(Homogeneous({"x": 1}),),
        text=f"(mx.random.seed({_SEED}), nn.{name}({{p}}).train({{training}}))[1](x)",
    )
    for name, shapes in _SHAPES.items()
)
