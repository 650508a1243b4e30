"""Attention between projections of queries, keys and values."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Shapes, Values
from cases.indices import Indices, to_mlx, to_numpy

_ROUNDINGS = Tolerance(terms=8, reason="projections, scores, exponentials, their sum, quotients and products round")
_ARGUMENTS = ("queries", "keys", "values", "wq", "wk", "wv", "wo")
_SEEN = Indices(((True, False), (True, True)))


def attended(m: Any, queries: Any, keys: Any, values: Any, weights: Any, biases: Any, num_heads: int, mask: Any) -> Any:
    """Attention of ``[B, T, dims]``, weights ``[out, in]`` and biases (or None) of query, key, value and output."""

    def projected(x: Any, k: int) -> Any:
        result = m.matmul(x, weights[k].T)
        return result if biases is None else m.add(result, biases[k])

    def heads(x: Any) -> Any:
        return x.reshape(*x.shape[:2], num_heads, -1).transpose(0, 2, 1, 3)

    q, k, v = (heads(projected(x, place)) for place, x in enumerate((queries, keys, values)))
    scale = m.rsqrt(q.shape[-1])
    result = m.scaled_dot_product_attention(q, k, v, scale, mask).transpose(0, 2, 1, 3)
    return projected(result.reshape(*result.shape[:2], -1), 3)


def _ask(*arrays: mx.array, num_heads: int, mask: Any) -> mx.array:
    queries, keys, values, wq, wk, wv, wo = arrays
    layer = nn.MultiHeadAttention(
        wq.shape[0],
        num_heads,
        query_input_dims=wq.shape[1],
        key_input_dims=wk.shape[1],
        value_input_dims=wv.shape[1],
        value_dims=wv.shape[0],
        value_output_dims=wo.shape[0],
    )
    for linear, weight in zip(_projections(layer), (wq, wk, wv, wo), strict=True):
        linear.weight = weight
    return layer(queries, keys, values, mask=to_mlx(mask))


def _projections(layer: nn.MultiHeadAttention) -> tuple[nn.Linear, ...]:
    return layer.query_proj, layer.key_proj, layer.value_proj, layer.out_proj


def _body(m: Any, *arrays: Any, num_heads: int, mask: Any) -> Any:
    queries, keys, values, *weights = arrays
    return attended(m, queries, keys, values, weights, None, num_heads, to_numpy(mask))


def _fits(shapes: Shapes, parameters: Any) -> bool:
    square = shapes[0][1] == shapes[1][1] == 2
    return shapes[3][0] % parameters["num_heads"] == 0 and (square or parameters["mask"] is not _SEEN)


# Weights of all projections with biases, few digits each, as numbers.
_WEIGHTS = np.array(
    [[[0.5, -1.0], [0.25, 0.75]], [[1.0, 0.5], [-0.5, 1.25]], [[0.75, 1.0], [-1.0, 0.5]], [[1.0, 0.5], [0.25, -1.0]]]
)
_BIASES = np.array([[0.25, -0.5], [0.5, 0.125], [-0.25, 1.0], [0.5, 0.75]])


def _ask_biased(x: mx.array, bias: bool) -> mx.array:
    layer = nn.MultiHeadAttention(2, 2, bias=bias)
    for linear, weight, offset in zip(_projections(layer), _WEIGHTS, _BIASES, strict=True):
        linear.weight = mx.array(weight.astype(np.float32)).astype(x.dtype)
        if bias:
            linear.bias = mx.array(offset.astype(np.float32)).astype(x.dtype)
    return layer(x, x, x)


def _biased(m: Any, x: Any, bias: bool) -> Any:
    weights = [np.array(w.tolist(), object) for w in _WEIGHTS]
    return attended(m, x, x, x, weights, [np.array(b.tolist(), object) for b in _BIASES] if bias else None, 2, None)


OPERATIONS = (
    Operation(
        name="nn.MultiHeadAttention",
        arguments=_ARGUMENTS,
        call=_ask,
        body=_body,
        shapes=(
            ((1, 2, 2), (1, 2, 2), (1, 2, 2), (2, 2), (2, 2), (2, 2), (2, 2)),
            ((1, 1, 1), (1, 3, 2), (1, 3, 1), (2, 1), (2, 2), (4, 1), (1, 4)),
        ),
        parameters={"num_heads": (1, 2), "mask": (None, "causal", _SEEN)},
        values=dict.fromkeys(_ARGUMENTS, Values(scaled=False)),
        tolerance=_ROUNDINGS,
        valid=_fits,
        slow=True,
        text="nn.MultiHeadAttention(2, {num_heads})(queries, keys, values, mask={mask!r}) with the given weights",
    ),
    Operation(
        name="nn.MultiHeadAttention[bias]",
        arguments=("x",),
        call=_ask_biased,
        body=_biased,
        shapes=(((1, 2, 2),),),
        parameters={"bias": (True, False)},
        values={"x": Values(scaled=False)},
        tolerance=_ROUNDINGS,
        slow=True,
        text="nn.MultiHeadAttention(2, 2, bias={bias})(x, x, x) with given weights",
    ),
)
