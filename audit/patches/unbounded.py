"""Numbers of a format whose exponents have no limits.

An array is taken apart into significands in +-[1, 2), in the format itself, and integer exponents; both exactly. Only
significands meet the format's arithmetic, so nothing overflows or underflows until the parts are joined, which rounds
once. Zeros, infinities and NaN are kept as significands and behave as they do in the format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import mlx.core as mx
import numpy as np

from audit.formats import lookup

# Exponent of a zero that is added: below every other one, and far from the ends of int32.
ZERO_EXPONENT = -(2**24)
# A product of so many significands stays below 2**9, far inside float16.
FACTORS = 8


@dataclass(frozen=True)
class Unbounded:
    """``significand * 2**exponent``.

    Args:
        significand: in the format; between 2**-9 and 2**9 in magnitude, zero, infinite or NaN.
        exponent: int32, of a shape that broadcasts with it.
    """

    significand: mx.array
    exponent: mx.array

    def normalised(self) -> Unbounded:
        """The same number with its significand in +-[1, 2)."""
        parts = split(self.significand)
        return Unbounded(parts.significand, parts.exponent + self.exponent)

    def scaled(self, shift: int) -> Unbounded:
        """``self * 2**shift``."""
        return Unbounded(self.significand, self.exponent + shift)

    def __neg__(self) -> Unbounded:
        return Unbounded(mx.negative(self.significand), self.exponent)

    def __mul__(self, other: Unbounded) -> Unbounded:
        return Unbounded(self.significand * other.significand, self.exponent + other.exponent)

    def __truediv__(self, other: Unbounded) -> Unbounded:
        return Unbounded(mx.divide(self.significand, other.significand), self.exponent - other.exponent)

    def joined(self) -> mx.array:
        """The nearest number of the format; the significand must be `normalised`."""
        dtype = self.significand.dtype
        layout = _layout(dtype)
        least = 1 - layout.bias
        bits = mx.view(self.significand, layout.unsigned)
        sign = bits & layout.sign
        magnitude = bits ^ sign
        field = layout.field(mx.clip(self.exponent, least, layout.bias))
        normal = (magnitude & layout.fraction) | field
        # In units of the smallest subnormal; a quarter of it and less round to zero alike.
        unit = mx.clip(self.exponent - (least - layout.digits), -2, layout.digits)
        units = mx.abs(self.significand) * power_of_two(unit, dtype)
        subnormal = mx.round(units).astype(layout.unsigned)
        out = mx.where(self.exponent > layout.bias, layout.infinity, normal)
        out = mx.where(self.exponent < least, subnormal, out)
        ordinary = (magnitude & layout.infinity) == layout.one
        return mx.where(ordinary, mx.view(out | sign, dtype), self.significand)


def split(x: mx.array) -> Unbounded:
    """The numbers of an array, exactly, with significands in +-[1, 2)."""
    layout = _layout(x.dtype)
    bits = mx.view(x, layout.unsigned)
    sign = bits & layout.sign
    magnitude = bits ^ sign
    # A subnormal is converted from its integer: hardware that flushes subnormals never sees one.
    small = magnitude <= layout.fraction
    magnitude = mx.where(small, mx.view(magnitude.astype(x.dtype), layout.unsigned), magnitude)
    exponent = (magnitude >> layout.digits).astype(mx.int32)
    exponent = exponent - mx.where(small, 2 * layout.bias + layout.digits - 1, layout.bias)
    ordinary = (magnitude != 0) & (magnitude < layout.infinity)
    significand = mx.view((magnitude & layout.fraction) | layout.one | sign, x.dtype)
    return Unbounded(mx.where(ordinary, significand, x), mx.where(ordinary, exponent, 0))


def split_all(variables: Sequence[mx.array]) -> list[Unbounded]:
    """The numbers of several arrays of one shape, each with a first axis of length 1."""
    # Taken apart together: for small arrays the cost of MLX lies in the number of operations.
    parts = split(mx.stack(list(variables)))
    significands, exponents = (mx.split(x, len(variables)) for x in (parts.significand, parts.exponent))
    return [Unbounded(*pair) for pair in zip(significands, exponents, strict=True)]


def constant(value: float, dtype: mx.Dtype) -> Unbounded:
    """A scalar between 2**-9 and 2**9, rounded to the format."""
    return Unbounded(mx.array(value, dtype), mx.array(0))


def precision(dtype: mx.Dtype) -> int:
    """Bits of the format's significand, the hidden one included."""
    return _layout(dtype).digits + 1


def power_of_two(exponent: mx.array, dtype: mx.Dtype) -> mx.array:
    """Powers of two with these exponents, which must be those of normal numbers."""
    return mx.view(_layout(dtype).field(exponent), dtype)


def halves(x: mx.array) -> tuple[mx.array, mx.array]:
    """Two numbers with half the digits of x each, whose sum is x: products of such halves are exact.

    Rounded on the encoding, so that no compiler can contract it away.
    """
    layout = _layout(x.dtype)
    high = mx.view((mx.view(x, layout.unsigned) + layout.half) & layout.upper, x.dtype)
    return high, x - high


@dataclass(frozen=True)
class _Layout:
    """Bit fields of a format as constants of its unsigned type."""

    unsigned: mx.Dtype
    digits: int
    bias: int
    sign: mx.array
    fraction: mx.array
    one: mx.array
    infinity: mx.array
    half: mx.array
    upper: mx.array

    def field(self, exponent: mx.array) -> mx.array:
        """Encodings of powers of two."""
        return (exponent + self.bias).astype(self.unsigned) << self.digits


@lru_cache
def _layout(dtype: mx.Dtype) -> _Layout:
    fmt = lookup(str(dtype).rsplit(".", 1)[-1])
    digits = fmt.precision - 1
    unsigned, whole = {
        16: (mx.uint16, np.uint16),
        32: (mx.uint32, np.uint32),
        64: (mx.uint64, np.uint64),
    }[fmt.bits]
    lower = (fmt.precision + 1) // 2
    fields = (
        1 << (fmt.bits - 1),
        (1 << digits) - 1,
        fmt.emax << digits,
        (2 * fmt.emax + 1) << digits,
        1 << (lower - 1),
        (1 << fmt.bits) - (1 << lower),
    )
    return _Layout(unsigned, digits, fmt.emax, *(mx.array(whole(field)) for field in fields))
