"""Balls to enclosures: two doubles, a radius rounded up, and an exponent of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

from audit.formats import Floats

# An enclosure is narrow enough at this relative radius, which is 2**-27 ulp of float64 ...
RELATIVE_BITS = 80
# ... or at this absolute radius, which is 2**-20 of the smallest subnormal number of float64.
ABSOLUTE_EXPONENT = -1074 - 20
# Between these, head, tail and radius are normal doubles as they stand.
SMALLEST, LARGEST = 2.0**-800, 2.0**1000
# What Arb calls the accuracy of an exact ball, and the accuracy beyond which a radius is not made smaller, lest it
# underflow.
EXACT_BITS = 2**63 - 1
SHARPEST_BITS = 150
# Exponents beyond these are not kept: the widest format's are within 1100. A value other than zero that is certainly
# larger than 2**FARTHEST, or smaller than 2**-FARTHEST, has this exponent, a head of 1 or -1, and a radius of 1/2.
FARTHEST = 2**60


@dataclass(frozen=True)
class Converted:
    """Enclosures of n balls: ``(head + tail +- radius) * 2**exponent``, meaningless where not `narrow`."""

    head: Floats
    tail: Floats
    radius: Floats
    exponent: NDArray[np.int64]
    narrow: NDArray[np.bool_]


def convert(balls: Sequence[arb]) -> Converted:
    """Convert balls."""
    head, tail, accuracy = _doubles(balls)
    size = np.abs(head)
    narrow = (size > SMALLEST) & (size < LARGEST) & (accuracy >= RELATIVE_BITS)
    exponent = np.zeros(len(balls), np.int64)
    hard = np.flatnonzero(~narrow)
    if len(hard):
        scales = [_scale(balls[place]) for place in hard.tolist()]
        scaled = [balls[place] * _power_of_two(-scale) for place, scale in zip(hard.tolist(), scales, strict=True)]
        head[hard], tail[hard], accuracy[hard] = _doubles(scaled)
        exponent[hard] = scales
        near = accuracy[hard] >= RELATIVE_BITS
        fine = exponent[hard] - accuracy[hard].clip(-2 * FARTHEST, 2 * FARTHEST) <= ABSOLUTE_EXPONENT
        narrow[hard] = (near | (fine & (accuracy[hard] > 0))) & (np.abs(exponent[hard]) < FARTHEST)
    head, tail = np.where(narrow, head, 0.0), np.where(narrow, tail, 0.0)
    radius = _radius(head, tail, np.where(narrow, accuracy, 0))
    # Balls that hold zero, or come too near to it: all that is said is how far from zero the value is at most. Of those
    # beyond all exponents it is said on which side of zero they are.
    for place in hard[~narrow[hard]].tolist():
        if beyond := _beyond(balls[place]):
            head[place], radius[place], exponent[place], narrow[place] = beyond[0], 0.5, beyond[1], True
            continue
        top = balls[place].abs_upper()
        if top.is_finite() and (bound := magnitude(top)) <= ABSOLUTE_EXPONENT:
            radius[place], exponent[place], narrow[place] = 1.0, max(bound, -FARTHEST), True
    # A tail is a rounded number, unless the ball is an exact one that head and tail hold whole.
    for place in np.flatnonzero((accuracy == EXACT_BITS) & (tail != 0)).tolist():
        if (float(head[place]) + arb(float(tail[place]))) * arb((1, int(exponent[place]))) == balls[place]:
            radius[place] = 0.0
    return Converted(head, tail, radius, np.where(narrow, exponent, 0), narrow)


def _beyond(x: arb) -> tuple[float, int] | None:
    """Sign and exponent of a ball that is certainly larger, or smaller but not zero, than any exponent that is kept."""
    if not x.is_finite() or x.contains(0):
        return None
    if magnitude(x.abs_lower()) > FARTHEST:
        side = FARTHEST
    elif magnitude(x.abs_upper()) <= -FARTHEST:
        side = -FARTHEST
    else:
        return None
    return (1.0 if x > 0 else -1.0), side


def _doubles(balls: Sequence[arb]) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Midpoints as two doubles each, and the accuracy bits."""
    heads = list(map(float, balls))
    tails = [float(x - h) for x, h in zip(balls, heads, strict=True)]
    return np.array(heads), np.array(tails), np.array([x.rel_accuracy_bits() for x in balls], np.int64)


def _radius(head: Floats, tail: Floats, accuracy: NDArray[np.int64]) -> Floats:
    # Arb's accuracy bits are such that the radius is below abs(midpoint) * 2**-bits; the tail is rounded once.
    ball = np.ldexp(np.abs(head) * (1 + 2.0**-50), -accuracy.clip(0, SHARPEST_BITS))
    ball = np.where(accuracy == EXACT_BITS, 0.0, ball)
    return (ball + np.abs(tail) * 2.0**-53) * (1 + 2.0**-50)


def _scale(x: arb) -> int:
    """The exponent that brings a ball's midpoint near 1, within what is kept."""
    try:
        mantissa, exponent = x.mid().man_exp()
    except ValueError:
        return 0
    return min(max(int(exponent) + mantissa.bit_length(), -FARTHEST), FARTHEST) if mantissa else 0


@lru_cache(maxsize=2**14)
def _power_of_two(exponent: int) -> arb:
    return arb((1, exponent))


def magnitude(x: arb) -> int:
    """The exponent e of an exact ball other than zero, such that ``2**(e - 1) <= abs(x) < 2**e``."""
    mantissa, exponent = x.man_exp()
    return int(exponent) + int(mantissa.bit_length())


def upper_bounds(balls: Sequence[arb]) -> tuple[Floats, NDArray[np.int64]]:
    """Upper bounds of non-negative balls as doubles and exponents; NaN where a ball is not finite."""
    tops = [x.abs_upper() for x in balls]
    bound = np.array(list(map(float, tops)))
    exponent = np.zeros(len(balls), np.int64)
    for place in np.flatnonzero(~((bound > SMALLEST) & (bound < LARGEST))).tolist():
        top = tops[place]
        if top.is_zero():
            continue
        if not top.is_finite():
            bound[place] = np.nan
            continue
        size = magnitude(top)
        if size >= FARTHEST:
            bound[place], exponent[place] = 1.0, FARTHEST
        elif size < -FARTHEST:
            bound[place], exponent[place] = 1.0, -FARTHEST
        else:
            bound[place], exponent[place] = float(top * _power_of_two(-size)), size
    return np.where(bound == 0, 0.0, np.nextafter(bound, np.inf)), exponent
