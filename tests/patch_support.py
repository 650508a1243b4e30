"""What the tests of division's rules share: the rules, exact right values, and points over the whole exponent range."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from numpy.typing import NDArray

from audit.formats import Floats, Format
from audit.modes import from_mlx, to_mlx
from audit.patches.implementations import IMPLEMENTATIONS

# The rules that are right everywhere; the report's is right for normal operands only.
RULES = ("mlx+divide", "python")


@contextmanager
def rule(name: str) -> Iterator[Any]:
    """The arithmetic of an implementation, while it is active; the test is skipped where it cannot run."""
    implementation = IMPLEMENTATIONS[name]
    reason = implementation.unavailable()
    if reason:
        pytest.skip(reason)
    with implementation.active():
        yield implementation.arithmetic()


def arrays(columns: Sequence[Floats], fmt: Format) -> list[mx.array]:
    return [to_mlx(column, fmt) for column in columns]


def numbers(x: mx.array, fmt: Format) -> NDArray[Any]:
    return from_mlx(x, fmt)


def whole_range(fmt: Format, count: int, points: int, seed: int) -> list[Floats]:
    """Columns of numbers with independent exponents, uniform from the smallest subnormal to the largest number."""
    rng = np.random.default_rng(seed)
    columns = []
    for _ in range(count):
        exponents = rng.integers(fmt.esub, fmt.emax + 1, points)
        significands = 1 + rng.integers(0, 2 ** (fmt.precision - 1), points) / 2.0 ** (fmt.precision - 1)
        rounded = np.minimum(fmt.round(np.ldexp(significands, exponents)), fmt.largest)
        columns.append(rounded * rng.choice([-1.0, 1.0], points))
    return columns


def with_result_in_range(fmt: Format, powers: Sequence[int], points: int, seed: int) -> list[Floats]:
    """As `whole_range`, but the last column's exponent puts the product of powers near the format's own range.

    Args:
        powers: power of each column in the product; the last is 1.
    """
    columns = whole_range(fmt, len(powers), points, seed)
    exponents = [np.frexp(column)[1] - 1 for column in columns[:-1]]
    others = sum(power * exponent for power, exponent in zip(powers[:-1], exponents, strict=True))
    wanted = np.random.default_rng(seed + 1).integers(fmt.esub - 1, fmt.emax + 1, points)
    last = np.clip(wanted - others, fmt.esub, fmt.emax)
    significands = np.frexp(columns[-1])[0] * 2
    return [*columns[:-1], fmt.round(np.ldexp(significands, last))]


def worst_error(got: Floats, right: Callable[..., Fraction], columns: Sequence[Floats], fmt: Format) -> float:
    """The largest error in ulps; infinite where a number that the format has came out infinite or NaN."""
    worst = 0.0
    largest = Fraction(fmt.largest)
    half_step = Fraction(fmt.ulp(fmt.largest).item()) / 2
    for value, *point in zip(got.tolist(), *(column.tolist() for column in columns), strict=True):
        exact = right(*map(Fraction, point))
        if abs(exact) >= largest + half_step:
            # Beyond the format: infinity is due, and the largest numbers are within the error of a few roundings.
            worst = max(worst, 0.0 if abs(value) > fmt.largest * (1 - 2.0 ** (3 - fmt.precision)) else np.inf)
        elif not np.isfinite(value):
            # A few roundings may carry a number beside the largest over the edge.
            near = largest * (1 - Fraction(2) ** (3 - fmt.precision))
            worst = max(worst, 0.0 if abs(exact) > near and value == np.copysign(np.inf, float(exact)) else np.inf)
        else:
            spacing = Fraction(fmt.ulp(float(exact)).item())
            worst = max(worst, float(abs(Fraction(value) - exact) / spacing))
    return worst
