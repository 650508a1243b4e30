"""Division, `a / b`: the 1328 comparisons of the original report, counted again.

The report found that MLX's rule squares the denominator, so that the derivative of ``C / (C * t)``, which is that of
``1 / t`` for every C, overflows or vanishes once C*C does. Its exact inputs are not public; these follow its counts.
The scale families over the whole exponent range stand in `cases.divide_families`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from audit.case import Batch, Case, Function, Mode, Tolerance
from audit.families import power
from audit.formats import COMPLEX64, FLOAT32, FLOAT64, REAL_FORMATS, Floats, Format
from cases.divide_families import FAMILIES
from cases.divide_functions import (
    ARRAY_QUOTIENT,
    FUNCTIONS,
    IDENTITY,
    QUOTIENT,
    RECIPROCAL,
    SCALED_QUOTIENT,
    SQUARED,
)

TOLERANCE = Tolerance(
    relative={"float16": 3e-3, "bfloat16": 2e-2, "float32": 2e-5, "float64": 5e-13, "complex64": 8e-6},
    reason="the tolerances of the original report, made relative to the largest term where the right value is zero",
)


@dataclass(frozen=True)
class Trap:
    """Exponents of (a, b, g) at which a plausible order of operations fails although the result is normal.

    Args:
        breaks: the step that leaves the format's range.
        exponents: (a, b, g) by format name.
    """

    breaks: str
    exponents: dict[str, tuple[int, int, int]]


def _trap(breaks: str, single: tuple[int, int, int], double: tuple[int, int, int], half: tuple[int, int, int]) -> Trap:
    return Trap(breaks, {"float32": single, "bfloat16": single, "float64": double, "float16": half})


def _exchanged(trap: Trap) -> Trap:
    swapped = {name: (g, b, a) for name, (a, b, g) in trap.exponents.items()}
    return Trap(trap.breaks.translate(str.maketrans("ag", "ga")), swapped)


# In float16, a/b of the first cannot underflow while the result is normal: the nearest exponents give 2^-21.
_UNDERFLOW = _trap("a/b underflows to zero", (-120, 32, 120), (-960, 256, 960), (-14, 11, 15))
_OVERFLOW = _trap("g/b overflows", (-100, -20, 120), (-800, -160, 960), (-13, -2, 15))
TRAPS = (
    _UNDERFLOW,
    _OVERFLOW,
    _trap("g*a and b*b overflow", (100, 70, 100), (800, 560, 800), (13, 9, 13)),
    _trap("g*a and b*b underflow", (-100, -80, -100), (-800, -640, -800), (-14, -13, -14)),
    _exchanged(_UNDERFLOW),
    _exchanged(_OVERFLOW),
    _trap(
        "b*b overflows; the result is next to the smallest normal number", (126, 126, 1), (1022, 1022, 1), (14, 14, 1)
    ),
)

SCALES = {
    "float16": (-14, 0, 10),
    "bfloat16": (-80, 0, 80),
    "float32": (-80, 0, 80),
    "float64": (-600, 0, 600),
}
WEIGHTS = (0.0, 1.0, -0.5)
VJP_A, VJP_B, VJP = Mode("vjp", (0,)), Mode("vjp", (1,)), Mode("vjp", (0, 1))
JVP_A, JVP_B, JVP = Mode("jvp", (0,)), Mode("jvp", (1,)), Mode("jvp", (0, 1))


def series(fmt: Format) -> Iterator[Batch]:
    """The batches of the 1328 series in one format: 280 comparisons, 376 for float32 and float64, 16 for complex64."""
    if fmt == COMPLEX64:
        yield from _complex()
        return
    scales = power(SCALES[fmt.name])
    yield from _grid(fmt, scales)
    yield from _invariance(fmt, scales)
    yield from _traps(fmt)
    yield from _broadcast(fmt, scales)
    yield from _strided(fmt, scales)
    if fmt in (FLOAT32, FLOAT64):
        yield from _higher_orders(fmt, scales)
        yield from _mixed_hessian(fmt, scales)


def _batch(
    group: str, function: Function, fmt: Format, mode: Mode, primals: Any, weights: Any, **options: Any
) -> Batch:
    return Batch(group, function, fmt, mode, tuple(primals), tuple(weights), tolerance=TOLERANCE, **options)


def _columns(*axes: Any) -> list[Floats]:
    return [np.array(column, np.float64) for column in zip(*product(*axes), strict=True)]


def _grid(fmt: Format, scales: Floats) -> Iterator[Batch]:
    scale, sign, weight = _columns(scales, (1.0, -1.0, 0.0), WEIGHTS)
    primals = (sign * scale, scale)
    for mode in (VJP_A, VJP_B, VJP):
        yield _batch("grid", QUOTIENT, fmt, mode, primals, [weight])
    for mode in (JVP_A, JVP_B, JVP):
        yield _batch("grid", QUOTIENT, fmt, mode, primals, [weight] * len(mode.traced))


def _invariance(fmt: Format, scales: Floats) -> Iterator[Batch]:
    scale, sign = _columns(scales, (1.0, -1.0))
    a, b = sign * scale, scale
    for tangents in ((a, b), (a, -b)):
        yield _batch("invariance", QUOTIENT, fmt, JVP, (a, b), tangents)


def _traps(fmt: Format) -> Iterator[Batch]:
    exponents = [trap.exponents[fmt.name] for trap in TRAPS]
    sign, a, b, g = (np.array(c, np.float64) for c in zip(*((s, *e) for e in exponents for s in (1, -1)), strict=True))
    for mode in (VJP_B, JVP_B):
        yield _batch("traps", QUOTIENT, fmt, mode, (sign * power(a), power(b)), [power(g)])


def _broadcast(fmt: Format, scales: Floats) -> Iterator[Batch]:
    scale = scales[:, None, None]
    a, b = scale * np.array([[1.0], [2.0]]), scale * np.array([[1.0, 2.0, 4.0]])
    yield _batch("broadcast", ARRAY_QUOTIENT, fmt, VJP, (a, b), [np.ones((len(scales), 2, 3))])
    yield _batch("broadcast", ARRAY_QUOTIENT, fmt, JVP, (a, b), (a, -b))


def _strided(fmt: Format, scales: Floats) -> Iterator[Batch]:
    scale = scales[:, None, None]
    a = scale * np.array([[1.0, -2.0, 4.0], [3.0, 0.5, -1.0]])
    b = scale * np.array([[2.0, 1.0, -4.0], [1.0, -0.5, 1.5]])
    ones = np.ones((len(scales), 2, 3))
    yield _batch("strided matrix", ARRAY_QUOTIENT, fmt, VJP, (a, b), [ones], layout="strided", compared=(1,))


def _higher_orders(fmt: Format, scales: Floats) -> Iterator[Batch]:
    scale, t = _columns(scales, (1.0, 2.0, 0.5, -1.0, 1.5, -3.0))
    for order in (1, 2, 3):
        yield _order("1/t", RECIPROCAL, fmt, order, scale, t)
    for function in (SQUARED, IDENTITY):
        for order in (1, 2, 3):
            yield _order("R and I", function, fmt, order, scales, np.ones(len(scales)))


def _order(group: str, function: Function, fmt: Format, order: int, scale: Floats, t: Floats) -> Batch:
    kinds = {1: "grad1", 2: "grad2", 3: "grad3"}
    mode = Mode(kinds[order], (1,))  # type: ignore[arg-type]
    return _batch(group, function, fmt, mode, (scale, t), [np.ones(len(t))])


def _mixed_hessian(fmt: Format, scales: Floats) -> Iterator[Batch]:
    ones = np.ones(len(scales))
    for mode in (Mode("hessian-rr", (1, 2)), Mode("hessian-fr", (1, 2))):
        yield _batch("mixed Hessian", SCALED_QUOTIENT, fmt, mode, (scales, ones, 2 * ones), [ones])


def _complex() -> Iterator[Batch]:
    a = np.array([1 + 2j, -0.5 + 1j, 3 - 1.5j, 2 + 0j])
    b = np.array([2 - 1j, 1 + 0.5j, -1 - 2j, 0.25 + 0.75j])
    weight = np.array([1 + 0j, 0.5 - 1j, -1 + 0.25j, 2j])
    for mode in (JVP_A, JVP_B, VJP_A, VJP_B):
        yield _batch("complex", QUOTIENT, COMPLEX64, mode, (a, b), [weight])


CASE = Case(
    name="divide",
    operation="mx.divide",
    functions=FUNCTIONS,
    formats=(*REAL_FORMATS, COMPLEX64),
    series=series,
    families=FAMILIES,
    version="1",
    series_name="divide-1328",
)
