"""Products with matrices in codes of a few bits; their scales and biases are variables too, where they are floats."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Shapes, Values
from cases import codes
from cases.by_text import by_text

_SUM = Tolerance(terms=4, reason="codes are scaled and shifted, and products added one after another")
# There is no quantized product in float64.
_FORMATS = ("float16", "bfloat16", "float32")
_WORDS = codes.words_text("scales.size * ({group_size} or 64) * ({bits} or 4) // 32", "*scales.shape[:-1]")


def _affine(m: Any, x: Any, scales: Any, biases: Any, transpose: bool, group_size: Any, bits: Any) -> Any:
    size = group_size or 64
    whole = (*scales.shape[:-1], scales.shape[-1] * size)
    matrix = np.repeat(scales, size, -1) * codes.elements(whole, "affine", bits or 4) + np.repeat(biases, size, -1)
    return m.matmul(x, matrix.swapaxes(-1, -2) if transpose else matrix)


def _fits(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:
    x, scales, _ = shapes
    size = parameters["group_size"] or 64
    # Long rows are asked for as sums only.
    return x[-1] == scales[-1] * size if parameters["transpose"] else x[-1] == scales[-2] and size == 32


def _floats(mode: str) -> Operation:
    """Products with a matrix of small floats of 2 rows or, if it is not transposed, of 32 columns."""
    rows, columns = "(2 if {transpose} else x.shape[-1])", "(x.shape[-1] if {transpose} else 32)"
    words = codes.words_text(f"{rows} * {columns} * {codes.BITS[mode]} // 32", rows)
    scales = codes.scales_text(f"{rows} * {columns} // {codes.GROUP[mode]}", rows, mode)

    def body(m: Any, x: Any, transpose: bool, mode: str) -> Any:
        matrix = codes.matrix((2, x.shape[-1]) if transpose else (x.shape[-1], 32), mode)
        return m.matmul(x, matrix.T if transpose else matrix)

    return by_text(
        f"mx.quantized_matmul[{mode}]",
        f"mx.quantized_matmul(x, {words}, {scales}, transpose={{transpose}}, mode='{{mode}}')",
        body,
        "x",
        shapes=(((1, 32),), ((2, 64),), ((3, 2),)),
        parameters={"transpose": (True, False), "mode": (mode,)},
        values={"x": Values(exponents=(-10, 4))},
        valid=lambda shapes, p: p["transpose"] == (shapes[0][-1] > 2),
        tolerance=_SUM,
        formats=_FORMATS,
        orders=2,
    )


OPERATIONS = (
    by_text(
        "mx.quantized_matmul",
        f"mx.quantized_matmul(x, {_WORDS}, scales, biases, {{transpose}}, {{group_size}}, {{bits}})",
        _affine,
        *("x", "scales", "biases"),
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
        parameters={"transpose": (True, False), "group_size": (32, None, 128), "bits": (None, 2, 8)},
        # Codes of eight bits are 255 times their scale; of subnormal numbers, sums of so many products keep no digits.
        values={"x": Values(exponents=(-10, 4)), "scales": Values(scaled=False), "biases": Values(scaled=False)},
        valid=_fits,
        tolerance=_SUM,
        formats=_FORMATS,
        orders=2,
    ),
    *map(_floats, codes.GROUP),
)
