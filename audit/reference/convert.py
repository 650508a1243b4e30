"""Balls to enclosures: two doubles, a radius rounded up, and an exponent of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb
from numpy.typing import NDArray

from audit.formats import Floats

# An enclosure is narrow enough at this relative radius, which is 2**-27 ulp of float64 ...
RELATIVE_BITS = 80
# ... or at this absolute radius, which is 2**-20 of the smallest subnormal number of float64.
ABSOLUTE_EXPONENT = -1074 - 20
# Between these, head, tail and radius are normal doubles as they stand.
SMALLEST, LARGEST = 2.0**-900, 2.0**1000
# Exponents beyond these are not kept: the widest format's are within 1100.
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
    heads = list(map(float, balls))
    head = np.array(heads)
    tail = np.array([float(x - h) for x, h in zip(balls, heads, strict=True)])
    accuracy = np.array([x.rel_accuracy_bits() for x in balls], np.int64)
    size = np.abs(head)
    narrow = (size > SMALLEST) & (size < LARGEST) & (accuracy >= RELATIVE_BITS)
    head, tail = np.where(narrow, head, 0.0), np.where(narrow, tail, 0.0)
    radius = _radius(head, tail, np.where(narrow, accuracy, 0))
    exponent = np.zeros(len(head), np.int64)
    for place in np.flatnonzero(~narrow):
        found = _convert_one(balls[place])
        if found is not None:
            head[place], tail[place], radius[place], exponent[place] = found
            narrow[place] = True
    # A tail is a rounded number, unless the ball is an exact one that head and tail hold whole.
    for place in np.flatnonzero((accuracy > 4000) & (tail != 0) & (exponent == 0)):
        if arb(head[place]) + arb(tail[place]) == balls[place]:
            radius[place] = 0.0
    return Converted(head, tail, radius, exponent, narrow)


def _radius(head: Floats, tail: Floats, accuracy: NDArray[np.int64]) -> Floats:
    # Arb's accuracy bits are such that the radius is below abs(midpoint) * 2**-bits; the tail is rounded once.
    ball = np.ldexp(np.abs(head) * (1 + 2.0**-50), -np.minimum(accuracy, 4000))
    return (ball + np.abs(tail) * 2.0**-53) * (1 + 2.0**-50)


def _convert_one(x: arb) -> tuple[float, float, float, int] | None:
    """Head, tail, radius and exponent of a ball of any magnitude, None if it is too wide."""
    if x.is_zero():
        return 0.0, 0.0, 0.0, 0
    if not x.is_finite():
        return None
    accuracy = x.rel_accuracy_bits()
    if accuracy < 1:
        # The ball holds zero, or nearly: all that can be said is how far from zero the value is at most.
        exponent = magnitude(x.abs_upper())
        return (0.0, 0.0, 1.0, exponent) if -FARTHEST < exponent <= ABSOLUTE_EXPONENT else None
    exponent = magnitude(x.mid())
    if abs(exponent) > FARTHEST or (accuracy < RELATIVE_BITS and exponent - accuracy > ABSOLUTE_EXPONENT):
        return None
    scaled = x * arb((1, -exponent))
    head = float(scaled)
    rest = scaled - head
    tail = float(rest)
    if x.is_exact() and rest == tail:
        return head, tail, 0.0, exponent
    return head, tail, float(_radius(np.array(head), np.array(tail), np.array(accuracy))), exponent


def magnitude(x: arb) -> int:
    """The exponent e of an exact ball other than zero, such that ``2**(e - 1) <= abs(x) < 2**e``."""
    mantissa, exponent = x.man_exp()
    return int(exponent) + int(mantissa.bit_length())


def upper_bounds(balls: Sequence[arb]) -> tuple[Floats, NDArray[np.int64]]:
    """Upper bounds of non-negative balls as doubles and exponents; NaN where a ball is not finite."""
    bound = np.full(len(balls), np.nan)
    exponent = np.zeros(len(balls), np.int64)
    for place, x in enumerate(balls):
        top = x.abs_upper()
        if not top.is_finite():
            continue
        value = float(top)
        if not SMALLEST < value < LARGEST and not top.is_zero():
            exponent[place] = magnitude(top)
            value = float(top * arb((1, -int(exponent[place]))))
        bound[place] = np.nextafter(value, np.inf) if value else 0.0
    return bound, exponent
