"""What the cases of layers share: a layer with given weights, or with those that it draws itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import mlx.core as mx
import mlx.nn as nn

Layer = TypeVar("Layer", bound=nn.Module)

SEED = 1

# How `drawn` is written: for the layer, and for the format of its weights.
DRAWN = f"(mx.random.seed({SEED}), {{}})[1].apply(lambda p: (mx.round(p * 8) / 8).astype({{}}))"


def weighted(layer: Layer, **weights: Any) -> Layer:
    """The layer with these arrays as its own, under their names; those it does not have are left out."""
    for name, array in weights.items():
        if name in layer:
            setattr(layer, name, array)
    return layer


def drawn(layer: Callable[[], Layer], dtype: mx.Dtype) -> Layer:
    """A layer with the weights it draws under a seed, rounded to multiples of 1/8, which every format holds."""
    mx.random.seed(SEED)
    made = layer()
    made.apply(lambda p: (mx.round(p * 8) / 8).astype(dtype))
    return made
