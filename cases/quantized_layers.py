"""Layers with quantized weights.

The codes are fixed; what they stand for is read from them once, and is exact in every format. Scales and biases, where
they are numbers, are variables too.
"""

from functools import cache
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from numpy.typing import NDArray

from audit.case import Tolerance
from audit.operation import Operation, Shapes, Values
from cases.indices import Indices

_SUM = Tolerance(terms=4, reason="codes are scaled, and products are added one after another")
# There is no quantized product in float64.
# Products of three stay within every format.
_NEAR = Values(exponents=(-5, 3))
_FORMATS = ("float16", "bfloat16", "float32")


def _weights(rows: int, columns: int) -> mx.array:
    return mx.array(((np.arange(rows * columns) * 5) % 13 - 6).reshape(rows, columns).astype(np.float32))


@cache
def _codes(rows: int, columns: int, group_size: int, bits: int) -> NDArray[np.float64]:
    """The codes themselves as numbers, ``[rows, columns]``."""
    packed, scales, biases = mx.quantize(_weights(rows, columns), group_size, bits)
    ones, zeros = mx.ones_like(scales), mx.zeros_like(biases)
    return np.array(mx.dequantize(packed, ones, zeros, group_size, bits)).astype(np.float64)


@cache
def _numbers(rows: int, columns: int, mode: str) -> NDArray[np.float64]:
    """What the codes of a mode other than the affine one stand for."""
    packed, scales, *_ = mx.quantize(_weights(rows, columns), mode=mode)
    return np.array(mx.dequantize(packed, scales, mode=mode).astype(mx.float32)).astype(np.float64)


def _matrix(m: Any, scales: Any, biases: Any, group_size: int | None, bits: int | None) -> Any:
    """``scale * code + bias``, each scale and bias for a group of columns."""
    size = group_size or 64
    rows, groups = scales.shape
    codes = np.array(_codes(rows, groups * size, size, bits or 4).tolist(), object)
    return m.add(m.multiply(np.repeat(scales, size, 1), codes), np.repeat(biases, size, 1))


def _linear(
    x: mx.array, scales: mx.array, biases: mx.array, bias: mx.array, group_size: Any, bits: Any, add: bool
) -> mx.array:
    layer = nn.QuantizedLinear(x.shape[-1], scales.shape[0], add, group_size, bits)
    layer.weight = mx.quantize(_weights(scales.shape[0], x.shape[-1]), layer.group_size, layer.bits)[0]
    layer.scales, layer.biases = scales, biases
    if add:
        layer.bias = bias
    return layer(x)


def _linear_body(m: Any, x: Any, scales: Any, biases: Any, bias: Any, group_size: Any, bits: Any, add: bool) -> Any:
    result = m.matmul(x, _matrix(m, scales, biases, group_size, bits).T)
    return m.add(result, bias) if add else result


def _fits(shapes: Shapes, parameters: Any) -> bool:
    return shapes[0][-1] == shapes[1][-1] * (parameters["group_size"] or 64)


def _linear_by_mode(x: mx.array, mode: str) -> mx.array:
    layer = nn.QuantizedLinear(x.shape[-1], 2, False, mode=mode)
    layer.weight, layer.scales, *_ = mx.quantize(_weights(2, x.shape[-1]), mode=mode)
    return layer(x)


def _embedding(scales: mx.array, group_size: Any, bits: Any) -> nn.QuantizedEmbedding:
    layer = nn.QuantizedEmbedding(scales.shape[0], scales.shape[1] * (group_size or 64), group_size, bits)
    layer.weight = mx.quantize(_weights(scales.shape[0], layer.dims), layer.group_size, layer.bits)[0]
    return layer


def _rows(scales: mx.array, biases: mx.array, x: Indices, group_size: Any, bits: Any) -> mx.array:
    layer = _embedding(scales, group_size, bits)
    layer.scales, layer.biases = scales, biases
    return layer(x.mlx)


def _as_linear(x: mx.array, scales: mx.array, biases: mx.array, group_size: Any, bits: Any) -> mx.array:
    layer = _embedding(scales, group_size, bits)
    layer.scales, layer.biases = scales, biases
    return layer.as_linear(x)


def _embedding_of(mode: str, columns: int) -> nn.QuantizedEmbedding:
    layer = nn.QuantizedEmbedding(2, columns, mode=mode)
    layer.weight, layer.scales, *_ = mx.quantize(_weights(2, columns), mode=mode)
    return layer


def _product(m: Any, x: Any, mode: str) -> Any:
    return m.matmul(x, np.array(_numbers(2, x.shape[-1], mode).tolist(), object).T)


_SIZES = {"group_size": (None, 32, 128), "bits": (None, 2, 8)}
_MODES = {"mode": ("mxfp4", "nvfp4", "mxfp8")}
_CODES = "mx.quantize(((mx.arange({}) * 5) % 13 - 6).reshape({}, -1).astype(mx.float32), {})"
_PACKED = _CODES.format("scales.shape[0] * x.shape[-1]", "scales.shape[0]", "{group_size}, {bits}") + "[0]"
_TEXT = f"mx.quantized_matmul(x, {_PACKED}, scales, biases, True, {{group_size}}, {{bits}})"
_BY_MODE = _CODES.format("2 * x.shape[-1]", "2", "mode={mode!r}")
_MODE_TEXT = f"mx.quantized_matmul(x, *{_BY_MODE}, transpose=True, mode={{mode!r}})"
_ROWS = _CODES.format("scales.size * ({group_size} or 64)", "scales.shape[0]", "{group_size}, {bits}")

OPERATIONS = (
    Operation(
        name="nn.QuantizedLinear",
        arguments=("x", "scales", "biases", "bias"),
        call=_linear,
        body=_linear_body,
        shapes=(((1, 64), (2, 1), (2, 1), (2,)), ((2, 64), (1, 2), (1, 2), (1,)), ((128,), (1, 1), (1, 1), (1,))),
        parameters={**_SIZES, "add": (True, False)},
        values=dict.fromkeys(("x", "scales", "biases", "bias"), _NEAR),
        tolerance=_SUM,
        formats=_FORMATS,
        valid=_fits,
        orders=2,
        slow=True,
        text=_TEXT + " + bias * {add}",
    ),
    Operation(
        name="nn.QuantizedLinear[mode]",
        arguments=("x",),
        call=_linear_by_mode,
        body=_product,
        shapes=(((1, 32),),),
        parameters=_MODES,
        tolerance=_SUM,
        formats=_FORMATS,
        orders=1,
        slow=True,
        text=_MODE_TEXT,
    ),
    Operation(
        name="nn.QuantizedEmbedding",
        arguments=("scales", "biases"),
        call=_rows,
        body=lambda m, scales, biases, x, group_size, bits: _matrix(m, scales, biases, group_size, bits)[x.numpy],
        shapes=(((3, 1), (3, 1)),),
        parameters={"x": (Indices((0, 2, 2)), Indices((1, 0)), Indices((2,))), **_SIZES},
        tolerance=_SUM,
        formats=(*_FORMATS, "float64"),
        orders=1,
        slow=True,
        text=f"mx.dequantize({_ROWS}[0][{{x}}], scales[{{x}}], biases[{{x}}], {{group_size}}, {{bits}})",
    ),
    Operation(
        name="nn.QuantizedEmbedding.as_linear",
        arguments=("x", "scales", "biases"),
        call=_as_linear,
        body=lambda m, x, scales, biases, group_size, bits: m.matmul(x, _matrix(m, scales, biases, group_size, bits).T),
        shapes=(((1, 64), (2, 1), (2, 1)), ((1, 64), (1, 2), (1, 2)), ((128,), (1, 1), (1, 1))),
        parameters=_SIZES,
        values=dict.fromkeys(("x", "scales", "biases"), _NEAR),
        tolerance=_SUM,
        formats=_FORMATS,
        valid=_fits,
        orders=1,
        slow=True,
        text=_TEXT,
    ),
    Operation(
        name="nn.QuantizedEmbedding.as_linear[mode]",
        arguments=("x",),
        call=lambda x, mode: _embedding_of(mode, x.shape[-1]).as_linear(x),
        body=_product,
        shapes=(((1, 32),),),
        parameters=_MODES,
        tolerance=_SUM,
        formats=_FORMATS,
        orders=1,
        slow=True,
        text=_MODE_TEXT,
    ),
    Operation(
        name="nn.QuantizedEmbedding[mode]",
        arguments=("x",),
        # What is embedded is a number, and becomes a variable's factor.
        call=lambda x, mode: x * _embedding_of(mode, x.shape[-1])(mx.array([1])).astype(x.dtype),
        body=lambda m, x, mode: m.multiply(x, np.array(_numbers(2, x.shape[-1], mode)[1:].tolist(), object)),
        shapes=(((1, 32),),),
        parameters=_MODES,
        tolerance=_SUM,
        formats=_FORMATS,
        orders=1,
        slow=True,
        text=f"x * mx.dequantize(*{_BY_MODE}, mode={{mode!r}})[1:].astype(x.dtype)",
    ),
)
