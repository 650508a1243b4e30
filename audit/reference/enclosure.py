"""Enclosures: right values with a proven bound, independent of any format, and their rounding to one.

An enclosure says that the right value lies in ``(head + tail +- radius) * 2**exponent``. Head and tail are two
float64 numbers, the head the one nearest to their sum, so about 106 bits are kept, and the exponent is apart, so that
values far outside float64's range are kept as well. Where the exponent is `FARTHEST` or its negative (see
`audit.reference.convert`), all that is said is the sign, and that the value lies beyond that exponent. One set of
enclosures serves every format.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit.formats import Floats, Format


class State(IntEnum):
    """What is known of a right value."""

    KNOWN = 0
    UNDEFINED = 1
    INCONCLUSIVE = 2
    # Any point of a convex hull is right.
    SET = 3


class Rounded(IntEnum):
    """Where a right value lies in a format."""

    INSIDE = 0
    ZERO = 1
    OVERFLOWS = 2
    UNDERFLOWS = 3
    UNDEFINED = 4
    INCONCLUSIVE = 5
    SET = 6


@dataclass(frozen=True)
class Enclosures:
    """Right values of n comparisons.

    Args:
        head, tail, radius: float64 [n]; radius is rounded up. A value known to be exactly zero has all three zero.
        exponent: int64 [n], the common exponent of the three.
        state: uint8 [n] of `State`; the numbers mean nothing unless KNOWN.
        terms: float64 [n], upper bound of the largest sum of absolute values of the terms that add to the value,
            times ``2**-terms_exponent``; NaN where it was not computed.
        terms_exponent: int64 [n].
    """

    head: Floats
    tail: Floats
    radius: Floats
    exponent: NDArray[np.int64]
    state: NDArray[np.uint8]
    terms: Floats
    terms_exponent: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.head)

    def take(self, index: Any) -> Enclosures:
        """The enclosures at an index."""
        return Enclosures(**{f.name: getattr(self, f.name)[index] for f in fields(self)})

    def shaped(self, shape: tuple[int, ...]) -> Enclosures:
        """The same enclosures in another shape."""
        return Enclosures(**{f.name: getattr(self, f.name).reshape(shape) for f in fields(self)})

    @staticmethod
    def join(parts: list[Enclosures], axis: int = 0) -> Enclosures:
        """Enclosures one after another."""
        if len(parts) == 1:
            return parts[0]
        return Enclosures(
            **{f.name: np.concatenate([getattr(p, f.name) for p in parts], axis) for f in fields(Enclosures)}
        )

    @staticmethod
    def none() -> Enclosures:
        """No enclosures at all: the right values of an array without elements."""
        numbers, exponents = np.empty(0), np.empty(0, np.int64)
        return Enclosures(numbers, numbers, numbers, exponents, np.empty(0, np.uint8), numbers, exponents)

    def to_format(self, fmt: Format) -> Right:
        """Round to a format: the nearest number, what is left over, and the radius, in ulps of the format."""
        magnitude = np.frexp(self.head)[1].astype(np.int64) - 1 + self.exponent
        known = self.state == State.KNOWN
        unit = np.where(self.head == 0, fmt.esub, np.maximum(magnitude - fmt.precision + 1, fmt.esub))
        shift = np.clip(self.exponent - unit, -2200, 2200)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scaled = np.ldexp(self.head, shift)
            units = np.rint(scaled)
            residual, lost = _two_sum(scaled - units, np.ldexp(self.tail, shift))
            radius = np.nextafter(np.ldexp(self.radius, shift) + np.abs(lost), np.inf)
            radius = np.where((self.radius == 0) & (lost == 0), 0.0, radius)
            # A tail can push the head over the middle between two numbers, or to it: |residual| stays at most 1/2.
            beyond = np.sign(residual) * lost
            odd = np.remainder(units, 2) == 1
            over = (np.abs(residual) > 0.5) | (np.abs(residual) == 0.5) & ((beyond > 0) | (beyond == 0) & odd)
            step = np.where(over, np.sign(residual), 0.0)
            units, residual = units + step, residual - step
            value = np.ldexp(units, unit)
            # Rounded up to a power of two, the value lies where the spacing is twice as wide.
            coarser = np.where(np.abs(units) == 2.0**fmt.precision, 0.5, 1.0)
            residual, radius = residual * coarser, radius * coarser
            holds_zero = np.abs(self.head + self.tail) <= self.radius
        overflows = np.abs(value) > fmt.largest
        exact_zero = (self.head == 0) & (self.tail == 0)
        # An enclosure inside half the smallest subnormal that contains zero is a right value of zero.
        zero = exact_zero & (radius <= 0.5) | (holds_zero & (np.abs(residual) + radius < 0.5) & (units == 0))
        undecided = exact_zero & (radius > 0.5)
        underflows = (units == 0) & ~zero
        where = np.select(
            [self.state == State.UNDEFINED, self.state == State.SET, ~known | undecided, zero, underflows, overflows],
            [
                Rounded.UNDEFINED,
                Rounded.SET,
                Rounded.INCONCLUSIVE,
                Rounded.ZERO,
                Rounded.UNDERFLOWS,
                Rounded.OVERFLOWS,
            ],
            Rounded.INSIDE,
        ).astype(np.uint8)
        value = np.where(overflows, np.copysign(np.inf, value), value)
        with np.errstate(over="ignore", under="ignore"):
            terms = np.ldexp(self.terms, self.terms_exponent)
        return Right(
            value=np.where(known, value, np.nan),
            residual=np.where(known, residual, 0.0),
            radius=np.where(known, radius, 0.0),
            where=where,
            terms=np.where(np.isinf(terms), np.finfo(np.float64).max, terms),
        )


def _two_sum(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The rounded sum and what rounding took from it, exactly (Knuth, TAOCP 2, 4.2.2)."""
    total = x + y
    shifted = total - x
    return total, (x - (total - shifted)) + (y - shifted)


@dataclass(frozen=True)
class Right:
    """Right values of n comparisons in one format.

    The right value is ``value + (residual +- radius) * ulp(value)``.

    Args:
        value: float64 [n], nearest number of the format (infinite where `where` is OVERFLOWS).
        residual: float64 [n], in ulps of the format at the value, at most 1/2 in magnitude.
        radius: float64 [n], in ulps of the format at the value, rounded up.
        where: uint8 [n] of `Rounded`.
        terms: float64 [n], sum of the absolute values of the terms that add to the value; NaN where not computed.
    """

    value: Floats
    residual: Floats
    radius: Floats
    where: NDArray[np.uint8]
    terms: Floats
