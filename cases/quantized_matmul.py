"""Products with matrices in codes of a few bits; their scales and biases are variables too, where they are floats."""

from collections.abc import Mapping
from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Shapes, Values
from cases import codes

_SUM = Tolerance(terms=4, reason="codes are scaled and shifted, and products added one after another")
# There is no quantized product in float64.
_FORMATS = ("float16", "bfloat16", "float32")


def _columns(scales: tuple[int, ...], mode: str, group_size: int | None) -> int:
    return scales[-1] * (group_size or codes.GROUP[mode])


def _affine(
    x: mx.array, scales: mx.array, biases: mx.array, transpose: bool, group_size: int | None, bits: int | None
) -> mx.array:
    shape = (*scales.shape[:-1], _columns(scales.shape, "affine", group_size))
    packed = codes.packed(shape, "affine", bits or 4)
    return mx.quantized_matmul(x, packed, scales, biases, transpose, group_size, bits)


def _affine_body(m: Any, x: Any, scales: Any, biases: Any, transpose: bool, group_size: Any, bits: Any) -> Any:
    size = group_size or 64
    whole = (*scales.shape[:-1], scales.shape[-1] * size)
    matrix = np.repeat(scales, size, -1) * codes.elements(whole, "affine", bits or 4) + np.repeat(biases, size, -1)
    return m.matmul(x, matrix.swapaxes(-1, -2) if transpose else matrix)


def _fits(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:
    x, scales, _ = shapes
    rows, columns = scales[-2], _columns(scales, "affine", parameters["group_size"])
    return x[-1] == (columns if parameters["transpose"] else rows)


def _floats(x: mx.array, transpose: bool, mode: str) -> mx.array:
    shape, scales = _matrix(x.shape, transpose, mode)
    packed = codes.packed(shape, mode, codes.BITS[mode])
    return mx.quantized_matmul(x, packed, codes.scales(scales, mode)[0], transpose=transpose, mode=mode)


def _floats_body(m: Any, x: Any, transpose: bool, mode: str) -> Any:
    shape, scales = _matrix(x.shape, transpose, mode)
    matrix = np.repeat(codes.scales(scales, mode)[1], codes.GROUP[mode], 1) * codes.elements(
        shape, mode, codes.BITS[mode]
    )
    return m.matmul(x, matrix.T if transpose else matrix)


def _matrix(x: tuple[int, ...], transpose: bool, mode: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Shapes of a matrix for x, and of its scales."""
    rows, columns = (2, x[-1]) if transpose else (x[-1], 32)
    return (rows, columns), (rows, columns // codes.GROUP[mode])


OPERATIONS = (
    Operation(
        name="mx.quantized_matmul",
        arguments=("x", "scales", "biases"),
        call=_affine,
        body=_affine_body,
        shapes=(
            ((1, 32), (2, 1), (2, 1)),
            ((1, 2), (2, 1), (2, 1)),
            ((1, 64), (1, 1), (1, 1)),
            ((1, 128), (1, 1), (1, 1)),
            ((64,), (2, 2), (2, 2)),
            ((2, 1, 64), (1, 2), (1, 2)),
            ((3, 2), (2, 2), (2, 2)),
            ((2, 1, 32), (2, 3, 1), (2, 3, 1)),
        ),
        parameters={
            "transpose": (True, False),
            "group_size": (32, None, 128),
            "bits": (None, 2, 8),
        },
        # Codes of four bits are fifteen times their scale.
        values={"x": Values(exponents=(-1100, 4)), "scales": Values(scaled=False), "biases": Values(scaled=False)},
        valid=_fits,
        tolerance=_SUM,
        formats=_FORMATS,
        orders=2,
        slow=True,
    ),
    Operation(
        name="mx.quantized_matmul[in small floats]",
        arguments=("x",),
        call=_floats,
        body=_floats_body,
        shapes=(((1, 32),), ((2, 64),), ((3, 2),)),
        parameters={"mode": ("mxfp4", "nvfp4", "mxfp8"), "transpose": (True, False)},
        valid=lambda shapes, p: p["transpose"] == (shapes[0][-1] > 2),
        tolerance=_SUM,
        formats=_FORMATS,
        orders=2,
        slow=True,
    ),
)
