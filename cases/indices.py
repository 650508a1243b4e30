"""Integer arrays as parameters: values that can be hashed, and that are written as MLX makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Indices:
    """An array of integers or booleans that is no primal but a parameter.

    Args:
        values: nested tuples of integers or booleans.
        repeat: so many copies of the values, one after another.
    """

    values: Any
    repeat: int = 1

    @property
    def numpy(self) -> NDArray[Any]:
        """For the body of a function."""
        return np.concatenate([np.array(self.values)] * self.repeat) if self.repeat > 1 else np.array(self.values)

    @property
    def mlx(self) -> mx.array:
        """For its call; the integers of MLX are of 32 bits."""
        array = self.numpy
        return mx.array(array if array.dtype == bool else array.astype(np.int32))

    def __repr__(self) -> str:
        """As it is written with ``import mlx.core as mx``."""
        values = repr(self.values).replace(",)", ")").replace("(", "[").replace(")", "]")
        return f"mx.array({values})" if self.repeat == 1 else f"mx.array({values} * {self.repeat})"


def to_mlx(value: Any) -> Any:
    """A parameter, or a tuple of some, with MLX's arrays in the place of `Indices`."""
    if isinstance(value, tuple):
        return tuple(to_mlx(one) for one in value)
    return value.mlx if isinstance(value, Indices) else value


def to_numpy(value: Any) -> Any:
    """A parameter, or a tuple of some, with NumPy's arrays in the place of `Indices`."""
    if isinstance(value, tuple):
        return tuple(to_numpy(one) for one in value)
    return value.numpy if isinstance(value, Indices) else value
