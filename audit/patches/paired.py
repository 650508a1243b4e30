"""Sums of products that stay accurate when their terms cancel.

A derivative with several tangents is a sum, and where its terms nearly cancel, the rounding of each term is all that
is left. Here every product carries the rounding error that was made, in the format itself, so that the sum of two
products of two numbers is right to about two units in the last place whatever cancels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx

from audit.patches.unbounded import FACTORS, ZERO_EXPONENT, Unbounded, constant, halves, power_of_two, precision, split


@dataclass(frozen=True)
class Product:
    """``coefficient * product of factors``; the coefficient is not zero and there is at least one factor."""

    coefficient: int
    factors: Sequence[Unbounded]


def sum_of_products(products: Sequence[Product]) -> Unbounded:
    """The sum of at least two products, normalised. Infinities and NaN are not kept as the format's arithmetic does."""
    total = _product(products[0]) + _product(products[1])
    for product in products[2:]:
        # A cancelled sum must not hide what is added next.
        total = total.normalised() + _product(product)
    # Adding a low part of +0 would lose the sign of a sum of two -0.
    rounded = mx.where(total.low == 0, total.high, total.high + total.low)
    return Unbounded(rounded, total.exponent).normalised()


@dataclass(frozen=True)
class _Paired:
    """``(high + low) * 2**exponent``, where low is what rounding took from high; high is below 2**9."""

    high: mx.array
    low: mx.array
    exponent: mx.array

    def __mul__(self, factor: Unbounded) -> _Paired:
        high, error = _two_product(self.high, factor.significand)
        return _Paired(high, error + self.low * factor.significand, self.exponent + factor.exponent)

    def __neg__(self) -> _Paired:
        return _Paired(mx.negative(self.high), mx.negative(self.low), self.exponent)

    def __add__(self, other: _Paired) -> _Paired:
        exponents = [mx.where(x.high == 0, ZERO_EXPONENT, x.exponent) for x in (self, other)]
        largest = mx.maximum(*exponents)
        x, y = (term.shifted(exponent - largest) for term, exponent in zip((self, other), exponents, strict=True))
        high, error = _two_sum(x.high, y.high)
        return _Paired(high, error + (x.low + y.low), largest)

    def shifted(self, shift: mx.array) -> _Paired:
        """Both parts times ``2**shift`` for a shift of zero or less, at the same exponent."""
        # What lies further below than this cannot reach the last place of the other term.
        least = -(precision(self.high.dtype) + 3)
        scale = power_of_two(mx.maximum(shift, least), self.high.dtype)
        scale = mx.where(shift < least, mx.array(0, self.high.dtype), scale)
        return _Paired(self.high * scale, self.low * scale, self.exponent)

    def normalised(self) -> _Paired:
        """The same number with its high part in +-[1, 2)."""
        total = self.high + self.low
        low = self.low - (total - self.high)
        parts = split(total)
        # Where the sum has lost more than this to cancellation, nothing is left of the low part.
        shift = mx.clip(mx.negative(parts.exponent), -FACTORS, precision(total.dtype))
        scale = power_of_two(shift, total.dtype)
        return _Paired(parts.significand, low * scale, self.exponent + parts.exponent)


def _product(product: Product) -> _Paired:
    first = product.factors[0]
    dtype = first.significand.dtype
    magnitude = abs(product.coefficient)
    shift = magnitude.bit_length() - 1
    factors = list(product.factors[1:])
    if magnitude != 1 << shift:
        factors.append(constant(magnitude / (1 << shift), dtype))
    value = _Paired(first.significand, mx.array(0, dtype), first.exponent + shift)
    for count, factor in enumerate(factors, 2):
        value = value * factor
        if count % FACTORS == 0:
            value = value.normalised()
    return -value if product.coefficient < 0 else value


def _two_product(x: mx.array, y: mx.array) -> tuple[mx.array, mx.array]:
    """The rounded product and its error (Dekker, Numerische Mathematik 18, 1971), for numbers near 1."""
    product = x * y
    (x_high, x_low), (y_high, y_low) = halves(x), halves(y)
    error = ((x_high * y_high - product) + x_high * y_low) + x_low * y_high
    return product, error + x_low * y_low


def _two_sum(x: mx.array, y: mx.array) -> tuple[mx.array, mx.array]:
    """The rounded sum and its error (Knuth, The Art of Computer Programming 2, section 4.2.2)."""
    total = x + y
    y_part = total - x
    return total, (x - (total - y_part)) + (y - y_part)
