"""Positions: sinusoidal encodings, and attention with linear biases."""

import math
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Values
from cases.indices import Indices

_WAVES = Tolerance(
    terms=8, reason="logarithms, exponential and product of the frequency, the sine and its scale round in sequence"
)


def _encode(
    x: mx.array, min_freq: float, max_freq: float, scale: float | None, cos_first: bool, full_turns: bool
) -> mx.array:
    layer = nn.SinusoidalPositionalEncoding(4, min_freq, max_freq, scale, cos_first, full_turns)
    return layer(x).astype(x.dtype)


def _encoded(
    m: Any, x: Any, min_freq: float, max_freq: float, scale: float | None, cos_first: bool, full_turns: bool
) -> Any:
    # Of four dimensions two frequencies: the ends of the geometric sequence, the largest first.
    turns = m.multiply(2, m.pi) if full_turns else 1
    angles = m.multiply(
        np.asarray(x, object)[..., None], np.array([m.multiply(f, turns) for f in (max_freq, min_freq)])
    )
    waves = [m.cos(angles), m.sin(angles)] if cos_first else [m.sin(angles), m.cos(angles)]
    factor = m.sqrt(0.5) if scale is None else scale
    return m.multiply(np.concatenate(waves, -1), factor)


def _biased(attention_scores: mx.array, offset: int, mask: Indices | None) -> mx.array:
    given = None if mask is None else mask.mlx.astype(attention_scores.dtype)
    return nn.ALiBi()(attention_scores, offset=offset, mask=given)


def _slopes(heads: int) -> list[float]:
    """Of a power of two heads ``2**(-8 k / heads)``; of others, as many as there are of those of twice the power more
    (Press, Smith and Lewis, Train Short, Test Long, 2022).
    """
    power = 2 ** int(math.log2(heads))
    slopes = [2.0 ** (-8 * k / power) for k in range(1, power + 1)]
    return slopes + [2.0 ** (-4 * k / power) for k in range(1, 2 * power, 2)][: heads - power]


def _biases(m: Any, attention_scores: Any, offset: int, mask: Indices | None) -> Any:
    heads, queries, keys = attention_scores.shape[1:]
    distance = np.abs(np.arange(offset, offset + queries)[:, None] - np.arange(keys)[None, :])
    bias = -np.array(_slopes(heads))[:, None, None] * distance
    if mask is not None:
        bias = bias + mask.numpy
    return m.add(attention_scores, np.array(bias.tolist(), object))


OPERATIONS = (
    Operation(
        name="nn.SinusoidalPositionalEncoding",
        arguments=("x",),
        call=_encode,
        body=_encoded,
        shapes=(((3,),), ((2, 1),), ((),)),
        parameters={
            "min_freq": (0.0001, 0.5, 0.125),
            "max_freq": (1.0, 2.0, 4.0),
            "scale": (None, 0.5, 1.0),
            "cos_first": (False, True),
            "full_turns": (False, True),
        },
        values={"x": Values(exponents=(-12, 6))},
        tolerance=_WAVES,
        text="nn.SinusoidalPositionalEncoding(4, {min_freq}, {max_freq}, {scale}, {cos_first}, {full_turns})(x)"
        ".astype(x.dtype)",
    ),
    Operation(
        name="nn.ALiBi",
        arguments=("attention_scores",),
        call=_biased,
        body=_biases,
        shapes=(((1, 2, 2, 3),), ((2, 1, 1, 3),), ((1, 3, 2, 3),), ((1, 4, 1, 3),)),
        parameters={"offset": (0, 1, 3), "mask": (None, Indices((0, -2, 1)), Indices((-8, 0, 0)))},
        tolerance=Tolerance(terms=2, reason="bias, mask and score are added"),
        text="nn.ALiBi()(attention_scores, {offset}, mask={mask})",
    ),
)
