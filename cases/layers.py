"""What the cases of layers share: a layer with given weights."""

from __future__ import annotations

from typing import Any, TypeVar

import mlx.nn as nn

Layer = TypeVar("Layer", bound=nn.Module)


def weighted(layer: Layer, **weights: Any) -> Layer:
    """The layer with these arrays as its own, under their names; those it does not have are left out."""
    for name, array in weights.items():
        if name in layer:
            setattr(layer, name, array)
    return layer
