"""Numbers of a format from which points are made: over the exponent range, beside singular points, with few digits.

Every choice is made by a generator that is seeded with a text, so that points depend on what is asked and nothing else.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from audit.families import Exponents, power
from audit.formats import Floats, Format, lookup
from audit.operation import Shape, Values


def generator(*names: object) -> np.random.Generator:
    """A random generator that depends on these names only."""
    return np.random.default_rng(zlib.crc32(" ".join(map(str, names)).encode()))


def admissible(x: Floats, values: Values) -> NDArray[np.bool_]:
    """Which numbers lie in the domain: between its bounds, or at a singular point of it."""
    return (x > values.low) & (x < values.high) | np.isin(x, values.singular)


def exponents(fmt: Format, values: Values, count: int | None) -> NDArray[np.int64]:
    """Exponents over the range that an argument's values run over, the ends and their neighbours included.

    Args:
        fmt: the format.
        values: the argument's.
        count: about so many; None for all.
    """
    if not values.scaled:
        low, high = -4, 4
    elif values.exponents is not None:
        low, high = max(values.exponents[0], fmt.esub), min(values.exponents[1], fmt.emax)
    else:
        low, high = fmt.esub, fmt.emax
    if np.isfinite(values.high) and np.isfinite(values.low):
        high = min(high, int(np.frexp(max(abs(values.low), abs(values.high)))[1]) - 1)
    return Exponents(lambda _: low, lambda _: high).grid(fmt, count).astype(np.int64)


def over_range(fmt: Format, values: Values, count: int | None, significands: tuple[float, ...]) -> Floats:
    """Numbers of both signs over the exponent range, in the domain, float64 [n]."""
    exponent = exponents(fmt, values, count)
    numbers = np.multiply.outer(power(exponent), np.array(significands)).reshape(-1)
    return _kept(np.concatenate([numbers, -numbers]), fmt, values)


def ordinary(fmt: Format, values: Values, count: int) -> Floats:
    """Numbers of few digits near 1: multiples of 1/8 of either sign, or spread between the bounds."""
    if values.bounded:
        step = (values.high - values.low) / (count + 1)
        return _kept(fmt.round(values.low + step * np.arange(1, count + 1)), fmt, values)
    steps = np.arange(1, count // 2 + 1) / 8
    if np.isfinite(values.low):
        return _kept(values.low + steps, fmt, values)
    if np.isfinite(values.high):
        return _kept(values.high - steps, fmt, values)
    return _kept(np.concatenate([steps, -steps]), fmt, values)


def beside_singular(fmt: Format, values: Values, count: int = 8) -> Floats:
    """The singular points, and numbers that approach each from both sides, the nearest ones of the format included."""
    found: list[float] = []
    for point in values.singular:
        if not np.isfinite(point) or fmt.round(point) != point:
            continue
        found.append(point)
        if point == 0:
            tiny = fmt.smallest_subnormal
            found.extend(sign * x for x in (tiny, 2 * tiny, fmt.smallest_normal, 2.0**-8) for sign in (1, -1))
            continue
        steps = np.unique(np.linspace(1, fmt.precision - 1, count).astype(int))
        found.extend(point * (1 + sign * 2.0**-step) for step in steps for sign in (1, -1))
    return _kept(np.array(found, np.float64), fmt, values)


def drawn(fmt: Format, values: Values, count: int, rng: np.random.Generator) -> Floats:
    """Numbers with all digits of the format, exponents drawn evenly from the range, float64 [count or fewer]."""
    if values.bounded:
        return _kept(fmt.round(rng.uniform(values.low, values.high, count)), fmt, values)
    exponent = rng.choice(exponents(fmt, values, None), count)
    significand = 1 + np.ldexp(rng.integers(0, 2 ** (fmt.precision - 1), count).astype(np.float64), 1 - fmt.precision)
    sign = rng.choice([1.0, -1.0], count)
    numbers = sign * np.ldexp(significand, exponent)
    # Halves of domains: what lies on the wrong side is mirrored rather than lost.
    mirrored = np.where(admissible(fmt.round(numbers), values), numbers, -numbers)
    return _kept(mirrored, fmt, values)


def digits(shape: Shape, values: Values, rng: np.random.Generator) -> Floats:
    """An array of distinct numbers near 1 with at most eight significant bits, so that every format holds them.

    Both signs where the domain has both; beyond 63 elements numbers repeat.
    """
    size = int(np.prod(shape, dtype=int))
    repeats = -(-size // 63)
    steps = np.concatenate([rng.permutation(np.arange(65, 128)) for _ in range(max(repeats, 1))])[:size] / 64
    if values.bounded:
        numbers = values.low + (values.high - values.low) * (steps - 1)
    elif np.isfinite(values.low):
        numbers = values.low + steps
    elif np.isfinite(values.high):
        numbers = values.high - steps
    else:
        sign = rng.choice([1.0, -1.0], size)
        # Not all of one sign, whatever the draw.
        sign[: size // 2] *= np.where(np.all(sign == sign[:1]), -1.0, 1.0)
        numbers = sign * steps
    # Bounds that are no multiples of 1/64 add digits; bfloat16 has the fewest.
    return lookup("bfloat16").round(numbers).reshape(shape)


def _kept(numbers: Floats, fmt: Format, values: Values) -> Floats:
    """Numbers of the format, rounded to it, that lie in the domain, each once and in order of first appearance."""
    rounded = fmt.round(numbers)
    rounded = rounded[np.isfinite(rounded) & admissible(rounded, values)]
    _, first = np.unique(rounded, return_index=True)
    return rounded[np.sort(first)]
