"""The probe table: C / (C * t) at t = 1, its first three derivatives and a central difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np

from audit import modes
from audit.case import Batch, Function, Implementation, Mode
from audit.formats import FLOAT32, FLOAT64, Format

# Exponents of C, and of the step of the central difference, as the original report has them.
PLACES = ((FLOAT32, (0, -80, 80), -6), (FLOAT64, (0, -600, 600), -10))
GRADS = ("grad1", "grad2", "grad3")


@dataclass(frozen=True)
class Probe:
    """One line of the table.

    Args:
        format: name of the format.
        exponent: C is 2**exponent.
        implementation: who was asked.
        derivatives: the first three derivatives got; right are -1, 2 and -6.
        difference: central difference of the forward value.
    """

    format: str
    exponent: int
    implementation: str
    derivatives: tuple[float, float, float]
    difference: float


def _reciprocal(m: Any, c: mx.array, t: mx.array) -> mx.array:
    return m.divide(c, c * t)


FUNCTION = Function("scaled reciprocal", ("C", "t"), _reciprocal, "C / (C * t)")


def probe(implementations: Sequence[Implementation]) -> list[Probe]:
    """The table for some implementations; one that cannot run here is left out."""
    table = []
    for implementation in implementations:
        if implementation.unavailable():
            continue
        for fmt, exponents, step in PLACES:
            scale = np.ldexp(1.0, np.array(exponents))
            with implementation.active():
                derivatives = [_derivative(implementation, fmt, scale, kind) for kind in GRADS]
                difference = _difference(implementation, fmt, scale, step)
            for place, exponent in enumerate(exponents):
                first, second, third = (float(d[place]) for d in derivatives)
                numbers = (first, second, third)
                table.append(Probe(fmt.name, exponent, implementation.name, numbers, float(difference[place])))
    return table


def _derivative(implementation: Implementation, fmt: Format, scale: np.ndarray, kind: str) -> np.ndarray:
    ones = np.ones_like(scale)
    batch = Batch("probe", FUNCTION, fmt, Mode(kind, (1,)), (scale, ones), (ones,))  # type: ignore[arg-type]
    return modes.ask(batch, implementation.arithmetic(), implementation.transform)[0].real


def _difference(implementation: Implementation, fmt: Format, scale: np.ndarray, step: int) -> np.ndarray:
    h = np.ldexp(1.0, step)
    values = []
    for t in (1 + h, 1 - h):
        batch = Batch("probe", FUNCTION, fmt, Mode("forward", ()), (scale, np.full_like(scale, t)), ())
        values.append(modes.ask(batch, implementation.arithmetic(), implementation.transform)[0].real)
    return (values[0] - values[1]) / (2 * h)
