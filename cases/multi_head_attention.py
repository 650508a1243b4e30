"""Attention between projections of queries, keys and values."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Shapes, Values
from cases.indices import Indices, to_mlx, to_numpy
from cases.layers import DRAWN, drawn

_ROUNDINGS = Tolerance(terms=8, reason="projections, scores, exponentials, their sum, quotients and products round")
_ARGUMENTS = ("queries", "keys", "values", "wq", "wk", "wv", "wo")
_SEEN = Indices(((True, False), (True, True)))
_UNSEEN = Indices(((True, True), (False, True)))


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
    return shapes[3][0] % parameters["num_heads"] == 0 and (square or parameters["mask"] is None)


def _layer(bias: bool, dtype: mx.Dtype) -> nn.MultiHeadAttention:
    return drawn(lambda: nn.MultiHeadAttention(2, 2, bias=bias), dtype)


def _ask_biased(x: mx.array, bias: bool, causal: bool) -> mx.array:
    return _layer(bias, x.dtype)(x, x, x, mask="causal" if causal else None)


def _biased(m: Any, x: Any, bias: bool, causal: bool) -> Any:
    linear = _projections(_layer(bias, mx.float32))
    weights, biases = (
        [np.array(np.array(one[key]).tolist(), object) for one in linear] if key in linear[0] else None
        for key in ("weight", "bias")
    )
    return attended(m, x, x, x, weights, biases, 2, "causal" if causal else None)


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
        parameters={"num_heads": (1, 2), "mask": (None, _SEEN, _UNSEEN)},
        values=dict.fromkeys(_ARGUMENTS, Values(scaled=False)),
        tolerance=_ROUNDINGS,
        valid=_fits,
        slow=True,
        text="nn.MultiHeadAttention(wq.shape[0], {num_heads}, wq.shape[1], wk.shape[1], wv.shape[1], wv.shape[0], "
        "wo.shape[0]).update({{f'{{n}}_proj': {{'weight': w}} for n, w in "
        "zip(('query', 'key', 'value', 'out'), (wq, wk, wv, wo))}})(queries, keys, values, mask={mask})",
    ),
    Operation(
        name="nn.MultiHeadAttention[bias]",
        arguments=("x",),
        call=_ask_biased,
        body=_biased,
        shapes=(((1, 2, 2),),),
        parameters={"bias": (True, False), "causal": (False, True)},
        values={"x": Values(scaled=False)},
        tolerance=_ROUNDINGS,
        slow=True,
        text=DRAWN.format("nn.MultiHeadAttention(2, 2, bias={bias})", "x.dtype")
        + "(x, x, x, mask='causal' if {causal} else None)",
    ),
)
