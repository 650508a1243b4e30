"""Weights in codes of a few bits, as MLX's documentation describes them: what the codes stand for.

The words that hold the codes are made by a rule that is as short in MLX as it is here, so that a script can show them.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

GROUP = {"mxfp4": 32, "nvfp4": 16, "mxfp8": 32}
"""Mode -> so many numbers have a scale in common."""

BITS = {"mxfp4": 4, "nvfp4": 4, "mxfp8": 8}
"""Mode -> bits of a code."""

SHARED = 6 * 448
"""A scale that all numbers share is given in this unit: the largest float of four bits times the largest of eight."""

# Of the multiples of this number modulo 2^32, the first hundred have no byte that stands for NaN.
_FACTOR = 1569523951
# Codes of scales near 1: exponents plus 127 or, for ``nvfp4``, floats of eight bits.
_FIRST = {"mxfp4": 124, "nvfp4": 52, "mxfp8": 124}


def words_text(count: str, rows: str) -> str:
    """So many words of 32 bits in so many rows, as they are written; both are expressions."""
    return f"(mx.arange({count}).astype(mx.uint32) * {_FACTOR}).reshape({rows}, -1)"


def scales_text(count: str, rows: str, mode: str) -> str:
    """So many codes of scales in so many rows, as they are written; both are expressions."""
    return f"(mx.arange({count}) * 5 % 7 + {_FIRST[mode]}).astype(mx.uint8).reshape({rows}, -1)"


def codes(shape: tuple[int, ...], bits: int) -> NDArray[np.int64]:
    """The codes in the words: one after another, the lowest bit first."""
    words = np.arange(prod(shape) * bits // 32, dtype=np.int64) * _FACTOR % 2**32
    digits = words[:, None] >> np.arange(32) & 1
    return (digits.reshape(*shape, bits) << np.arange(bits)).sum(-1)


def elements(shape: tuple[int, ...], mode: str, bits: int = 0) -> NDArray[Any]:
    """What the codes stand for before they are scaled, as objects: themselves in the mode ``affine``, or floats."""
    if mode == "affine":
        return np.array(codes(shape, bits).tolist(), object)
    exponent = 2 if BITS[mode] == 4 else 4
    return np.array(_floats(codes(shape, BITS[mode]), exponent, BITS[mode] - 1 - exponent).tolist(), object)


def scales(shape: tuple[int, ...], mode: str) -> NDArray[Any]:
    """What the codes of scales stand for: powers of two or, for ``nvfp4``, floats with three bits behind the point."""
    code = np.arange(prod(shape)).reshape(shape) * 5 % 7 + _FIRST[mode]
    return np.array((_floats(code, 4, 3) if mode == "nvfp4" else 2.0 ** (code - 127)).tolist(), object)


def matrix(shape: tuple[int, ...], mode: str) -> NDArray[Any]:
    """What codes with their scales stand for in a mode other than ``affine``."""
    groups = (*shape[:-1], shape[-1] // GROUP[mode])
    return np.repeat(scales(groups, mode), GROUP[mode], -1) * elements(shape, mode)


def _floats(code: NDArray[np.int64], exponent: int, fraction: int) -> NDArray[np.float64]:
    """Floats of a sign, some bits of exponent and some of a fraction, subnormal ones included."""
    bias = 2 ** (exponent - 1) - 1
    sign = np.where(code >> (exponent + fraction) & 1, -1.0, 1.0)
    power, part = code >> fraction & (2**exponent - 1), (code & (2**fraction - 1)) / 2**fraction
    return sign * np.where(power == 0, 2.0 ** (1 - bias) * part, 2.0 ** (power - bias) * (1 + part))
