"""Matrices that linear algebra is asked about: well conditioned, near a multiple of the identity, at several scales.

Elements are asked near 1, and the diagonal is moved away from zero, so that no algorithm has an excuse; the parameter
`exponent` then scales the whole matrix.
"""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import Values

FORMATS = ("float32", "float64")
NEAR = {"a": Values(scaled=False), "b": Values(scaled=False)}
EXPONENTS = {"exponent": (0, 60, -60)}
ELIMINATION = Tolerance(terms=64, reason="elimination of a few rows of a matrix of condition ten or less")

_MOVED = 6.0


def moved(a: mx.array, exponent: int) -> mx.array:
    """The matrix that MLX sees: the argument plus six times the identity, scaled."""
    return (a + _MOVED * mx.eye(a.shape[-1], dtype=a.dtype)) * 2.0**exponent


def moved_exactly(m: Any, a: Any, exponent: int) -> Any:
    """The same matrix in generic arithmetic."""
    return m.multiply(m.add(a, _MOVED * np.eye(np.shape(a)[-1], dtype=int)), 2.0**exponent)


def text(call: str) -> str:
    """A call of a function of `A` as a user writes it."""
    return call.replace("A", f"(a + {_MOVED} * mx.eye(a.shape[-1], dtype=a.dtype)) * 2.0**{{exponent}}")
