"""Floating-point formats as data: bits, exponent range, spacing, rounding and exact hexadecimal.

Every number of every real format here is also a number of float64, so arrays of numbers of a format travel through the
whole audit as float64 arrays that hold them exactly. Only `to_bits` and `from_bits` know the encodings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from audit.errors import UnknownName

Floats = NDArray[np.float64]
Bits = NDArray[np.uint64]


@dataclass(frozen=True)
class Format:
    """A binary interchange format (IEEE 754-2019, table 3.5; bfloat16 as 1 + 8 + 7 bits).

    Args:
        name: MLX's name of the dtype.
        bits: width of one component.
        precision: bits of the significand, the hidden one included (p in IEEE 754).
        emax: exponent of the largest number; the smallest normal number has exponent ``1 - emax``.
        parts: 1 for a real format, 2 for a complex one, whose components are of this format.
    """

    name: str
    bits: int
    precision: int
    emax: int
    parts: int = 1

    def __post_init__(self) -> None:
        exponent_bits = self.bits - self.precision
        if self.emax != 2 ** (exponent_bits - 1) - 1:
            raise ValueError(f"{self.name}: {exponent_bits} exponent bits give emax {2 ** (exponent_bits - 1) - 1}")

    @property
    def emin(self) -> int:
        """Exponent of the smallest normal number."""
        return 1 - self.emax

    @property
    def esub(self) -> int:
        """Exponent of the smallest subnormal number."""
        return self.emin - self.precision + 1

    @cached_property
    def largest(self) -> float:
        """The largest finite number."""
        return float(np.ldexp(2.0 - 2.0 ** (1 - self.precision), self.emax))

    @cached_property
    def smallest_normal(self) -> float:
        """The smallest positive normal number."""
        return float(np.ldexp(1.0, self.emin))

    @cached_property
    def smallest_subnormal(self) -> float:
        """The smallest positive number."""
        return float(np.ldexp(1.0, self.esub))

    @property
    def unit_roundoff(self) -> float:
        """Half the spacing at 1: the relative error of one rounding."""
        return 2.0**-self.precision

    def ulp_exponent(self, x: ArrayLike) -> NDArray[np.int64]:
        """Exponent of the spacing of the format at x, never below that of the smallest subnormal.

        Non-finite x give the spacing at the largest number.
        """
        x = np.asarray(x, np.float64)
        exponent = np.frexp(np.where(np.isfinite(x), x, self.largest))[1].astype(np.int64) - 1
        exponent = np.where(x == 0, self.esub, np.minimum(exponent, self.emax))
        return np.maximum(exponent - self.precision + 1, self.esub)

    def ulp(self, x: ArrayLike) -> Floats:
        """Spacing of the format at x (one unit in the last place), never below the smallest subnormal."""
        return np.ldexp(1.0, self.ulp_exponent(x))

    def round(self, x: ArrayLike) -> Floats:
        """Nearest number of the format, ties to even, overflow to infinity (IEEE 754, roundTiesToEven)."""
        x = np.asarray(x, np.float64)
        exponent = self.ulp_exponent(x)
        finite = np.isfinite(x)
        with np.errstate(over="ignore"):
            units = np.rint(np.ldexp(np.where(finite, x, 0.0), -exponent))
            rounded = np.ldexp(units, exponent)
            rounded = np.where(np.abs(rounded) > self.largest, np.copysign(np.inf, x), rounded)
        return np.where(finite, np.copysign(rounded, x), x)

    def contains(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Whether each x is a number of the format (infinities and NaN are)."""
        x = np.asarray(x, np.float64)
        with np.errstate(over="ignore"):
            return np.isnan(x) | (self.from_bits(self.to_bits(x)) == x)

    def to_bits(self, x: ArrayLike) -> Bits:
        """Encodings of numbers of the format, as uint64. NaN becomes the default quiet NaN."""
        x = np.asarray(x, np.float64)
        return self._narrow(x).astype(np.uint64)

    def from_bits(self, bits: ArrayLike) -> Floats:
        """Numbers of the format from their encodings."""
        bits = np.asarray(bits)
        if self.name == "bfloat16":
            unsigned, real, bits = np.uint32, np.float32, bits.astype(np.uint32) << np.uint32(16)
        else:
            unsigned, real = _NUMPY[self.bits]
        # Widening a signalling NaN raises the invalid flag.
        with np.errstate(invalid="ignore"):
            return bits.astype(unsigned).reshape(-1).view(real).reshape(bits.shape).astype(np.float64)

    def _narrow(self, x: Floats) -> NDArray[np.unsignedinteger]:
        if self.name == "bfloat16":
            single = x.astype(np.float32).reshape(-1).view(np.uint32).reshape(x.shape)
            return (single >> np.uint32(16)).astype(np.uint16)
        unsigned, real = _NUMPY[self.bits]
        with np.errstate(over="ignore"):
            return x.astype(real).reshape(-1).view(unsigned).reshape(x.shape)

    def next_up(self, x: ArrayLike) -> Floats:
        """Least number of the format that is greater than x (IEEE 754 nextUp); x is a number of the format."""
        x = np.asarray(x, np.float64)
        sign = np.uint64(1 << (self.bits - 1))
        bits = self.to_bits(x)
        upward = np.where(bits & sign, bits - np.uint64(1), bits + np.uint64(1))
        upward = np.where(x == 0, np.uint64(1), upward)
        return np.where(np.isnan(x) | (x == np.inf), x, self.from_bits(upward))

    def next_down(self, x: ArrayLike) -> Floats:
        """Greatest number of the format that is less than x (IEEE 754 nextDown)."""
        return -self.next_up(-np.asarray(x, np.float64))

    def hex(self, x: float) -> str:
        """Exact hexadecimal of one number without superfluous digits, e.g. ``0x1.8p-80``, ``-0x0p+0``, ``nan``."""
        text = float(x).hex()
        if "p" not in text:
            return text
        digits, exponent = text.split("p")
        if "." in digits:
            digits = digits.rstrip("0").rstrip(".")
        return f"{digits}p{exponent}"


_NUMPY = {16: (np.uint16, np.float16), 32: (np.uint32, np.float32), 64: (np.uint64, np.float64)}

FLOAT16 = Format("float16", 16, 11, 15)
BFLOAT16 = Format("bfloat16", 16, 8, 127)
FLOAT32 = Format("float32", 32, 24, 127)
FLOAT64 = Format("float64", 64, 53, 1023)
COMPLEX64 = Format("complex64", 32, 24, 127, parts=2)

FORMATS = {f.name: f for f in (FLOAT16, BFLOAT16, FLOAT32, FLOAT64, COMPLEX64)}
REAL_FORMATS = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)


def lookup(name: str) -> Format:
    """The format of that name.

    Raises:
        UnknownName: no such format; the message lists those that exist.
    """
    try:
        return FORMATS[name]
    except KeyError:
        raise UnknownName("format", name, FORMATS) from None
