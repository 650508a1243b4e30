"""Numbers of a format into MLX arrays and back, exactly, in every layout in memory."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from audit.case import Layout
from audit.formats import Bits, Format

DTYPES = {
    "float16": mx.float16,
    "bfloat16": mx.bfloat16,
    "float32": mx.float32,
    "float64": mx.float64,
    "complex64": mx.complex64,
}
_UNSIGNED = {16: (np.uint16, mx.uint16), 32: (np.uint32, mx.uint32), 64: (np.uint64, mx.uint64)}


def to_mlx(x: NDArray[Any], fmt: Format, layout: Layout = "contiguous") -> mx.array:
    """An MLX array of exactly these numbers, laid out in memory as asked.

    Args:
        x: float64 (complex128 for complex formats) array of numbers of the format.
        fmt: the format.
        layout: ``transposed`` stores the transposed array and returns its transposed view; ``strided`` stores an
            array of twice the length along the last axis, with NaN between the elements, and returns every second
            element; ``reversed`` stores the last axis backwards and returns a view with a negative stride;
            ``broadcast`` stores the first row only, if all rows are equal, and repeats it with stride zero.
    """
    if layout == "transposed" and x.ndim > 1:
        return to_mlx(x.T, fmt).T
    if layout == "strided" and x.ndim > 0:
        wide = np.repeat(x, 2, axis=-1)
        # Whoever reads a number that does not belong to the view shows it.
        wide[..., 1::2] = np.nan
        return to_mlx(wide, fmt)[..., ::2]
    if layout == "reversed" and x.ndim > 0:
        return to_mlx(x[..., ::-1], fmt)[..., ::-1]
    if layout == "broadcast" and x.ndim > 0 and len(x) and np.array_equal(x, np.broadcast_to(x[:1], x.shape)):
        return mx.broadcast_to(to_mlx(x[:1], fmt), x.shape)
    if fmt.parts == 2:
        pairs = np.ascontiguousarray(x.astype(np.complex64)).reshape(-1).view(np.uint64)
        return mx.array(pairs, dtype=mx.uint64).view(mx.complex64).reshape(x.shape)
    narrow, unsigned = _UNSIGNED[fmt.bits]
    bits = mx.array(fmt.to_bits(x).astype(narrow).reshape(-1), dtype=unsigned)
    return bits.view(DTYPES[fmt.name]).reshape(x.shape)


def from_mlx(x: mx.array, fmt: Format) -> NDArray[Any]:
    """The numbers of an MLX array, exactly, as float64 (complex128 for complex formats)."""
    if fmt.parts == 2:
        return np.array(x).astype(np.complex128)
    _, unsigned = _UNSIGNED[fmt.bits]
    bits: Bits = np.array(x.reshape(-1).view(unsigned)).astype(np.uint64)
    return fmt.from_bits(bits).reshape(x.shape)
