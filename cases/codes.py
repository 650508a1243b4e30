"""Weights in codes of a few bits, as MLX's documentation describes them: what the codes stand for.

The codes are made here and unpacked by nobody but MLX, so that both sides start from the same numbers.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

GROUP = {"affine": 64, "mxfp4": 32, "nvfp4": 16, "mxfp8": 32}
"""Mode -> so many numbers have a scale in common, where nothing else is said."""

BITS = {"affine": 4, "mxfp4": 4, "nvfp4": 4, "mxfp8": 8}
"""Mode -> bits of a code, where nothing else is said."""

SHARED = 6 * 448
"""A scale that all numbers share is given in this unit: the largest float of four bits times the largest of eight."""


def codes(shape: tuple[int, ...], mode: str, bits: int) -> NDArray[np.int64]:
    """Codes that differ, in no order. There is none for NaN."""
    found = np.arange(int(np.prod(shape))).reshape(shape) * 37 % 101 % 2**bits
    return np.where((mode == "mxfp8") & (found & 127 == 127), 1, found)


@cache
def packed(shape: tuple[int, ...], mode: str, bits: int) -> mx.array:
    """The codes in words of 32 bits, ``[..., bits * columns / 32]``: one after another, the lowest bit first."""
    digits = codes(shape, mode, bits)[..., None] >> np.arange(bits) & 1
    stream = digits.reshape(*shape[:-1], -1, 32)
    return mx.array((stream << np.arange(32)).sum(-1).astype(np.uint32))


def elements(shape: tuple[int, ...], mode: str, bits: int) -> NDArray[Any]:
    """What the codes stand for before they are scaled, as objects."""
    found = codes(shape, mode, bits)
    if mode != "affine":
        exponent = 2 if bits == 4 else 4
        found = _floats(found, exponent, bits - 1 - exponent)
    return np.array(found.tolist(), object)


def scales(shape: tuple[int, ...], mode: str) -> tuple[mx.array, NDArray[Any]]:
    """Scales of the modes in which they are codes of eight bits themselves: the codes, and what they stand for.

    Powers of two, coded by their exponents plus 127, or (``nvfp4``) small floats with three bits behind the point.
    """
    found = np.arange(int(np.prod(shape))).reshape(shape) * 5 % 7
    if mode == "nvfp4":
        coded = found + 52
        numbers = _floats(coded, 4, 3)
    else:
        coded = found + 124
        numbers = 2.0 ** (coded - 127)
    return mx.array(coded.astype(np.uint8)), np.array(numbers.tolist(), object)


def _floats(code: NDArray[np.int64], exponent: int, fraction: int) -> NDArray[np.float64]:
    """Floats of a sign, some bits of exponent and some of a fraction, subnormal ones included."""
    bias = 2 ** (exponent - 1) - 1
    sign = np.where(code >> (exponent + fraction) & 1, -1.0, 1.0)
    power, part = code >> fraction & (2**exponent - 1), (code & (2**fraction - 1)) / 2**fraction
    return sign * np.where(power == 0, 2.0 ** (1 - bias) * part, 2.0 ** (power - bias) * (1 + part))
