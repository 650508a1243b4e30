"""Recurrent layers."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Shapes, Values
from cases.layers import weighted

_ROUNDINGS = Tolerance(terms=8, reason="each step rounds products, sums, sigmoids and tanh one after another")
_NEAR = Values(scaled=False)


def _values(*names: str) -> dict[str, Values]:
    return dict.fromkeys(names, _NEAR)


def _shapes(gates: int) -> tuple[Shapes, ...]:
    """Of x, hidden state, both matrices and bias: two steps of two features, and others."""
    return (
        ((2, 2), (2,), (gates * 2, 2), (gates * 2, 2), (gates * 2,)),
        ((1, 3, 1), (1, 1), (gates, 1), (gates, 1), (gates,)),
    )


_KINDS = {"tanh": None, "relu": nn.relu, "sigmoid": nn.sigmoid}
_STATES = {"add": (True, False), "started": (True, False)}


def _rnn(
    x: mx.array,
    hidden: mx.array,
    wx: mx.array,
    wh: mx.array,
    bias: mx.array,
    nonlinearity: str,
    add: bool,
    started: bool,
) -> mx.array:
    layer = nn.RNN(x.shape[-1], wh.shape[-1], add, _KINDS[nonlinearity])
    layer.Wxh, layer.Whh = wx, wh
    if add:
        layer.bias = bias
    return layer(x, hidden if started else None)


def _rnn_body(
    m: Any, x: Any, hidden: Any, wx: Any, wh: Any, bias: Any, nonlinearity: str, add: bool, started: bool
) -> Any:
    bent = {"tanh": m.tanh, "sigmoid": m.sigmoid, "relu": lambda y: m.maximum(y, 0)}[nonlinearity]
    driven = _driven(m, x, wx, bias if add else None)
    state, found = hidden if started else None, []
    for t in range(x.shape[-2]):
        step = driven[..., t, :]
        state = bent(step if state is None else m.add(step, m.matmul(state, wh.T)))
        found.append(state)
    return np.stack(found, -2)


def _driven(m: Any, x: Any, weight: Any, bias: Any) -> Any:
    result = m.matmul(x, weight.T)
    return result if bias is None else m.add(result, bias)


def _gru(
    x: mx.array, hidden: mx.array, wx: mx.array, wh: mx.array, b: mx.array, bhn: mx.array, bias: bool, started: bool
) -> mx.array:
    layer = nn.GRU(x.shape[-1], wh.shape[-1], bias)
    layer.Wx, layer.Wh = wx, wh
    if bias:
        layer.b, layer.bhn = b, bhn
    return layer(x, hidden if started else None)


def _gru_body(m: Any, x: Any, hidden: Any, wx: Any, wh: Any, b: Any, bhn: Any, bias: bool, started: bool) -> Any:
    size = wh.shape[-1]
    driven = _driven(m, x, wx, b if bias else None)
    zero = np.full((*x.shape[:-2], size), 0, object)
    state, found = hidden if started else zero, []
    for t in range(x.shape[-2]):
        step, recalled = driven[..., t, :], m.matmul(state, wh.T)
        reset = m.sigmoid(m.add(step[..., :size], recalled[..., :size]))
        update = m.sigmoid(m.add(step[..., size : 2 * size], recalled[..., size : 2 * size]))
        candidate = recalled[..., 2 * size :]
        candidate = m.multiply(reset, m.add(candidate, bhn) if bias else candidate)
        new = m.tanh(m.add(step[..., 2 * size :], candidate))
        state = m.add(m.multiply(m.subtract(1, update), new), m.multiply(update, state))
        found.append(state)
    return np.stack(found, -2)


def _lstm(
    x: mx.array, hidden: mx.array, cell: mx.array, wx: mx.array, wh: mx.array, bias: mx.array, add: bool, started: bool
) -> tuple[mx.array, mx.array]:
    layer = weighted(nn.LSTM(x.shape[-1], wh.shape[-1], add), Wx=wx, Wh=wh)
    if add:
        layer.bias = bias
    return layer(x, hidden, cell) if started else layer(x)


def _lstm_body(
    m: Any, x: Any, hidden: Any, cell: Any, wx: Any, wh: Any, bias: Any, add: bool, started: bool
) -> tuple[Any, Any]:
    size = wh.shape[-1]
    driven = _driven(m, x, wx, bias if add else None)
    zero = np.full((*x.shape[:-2], size), 0, object)
    state, kept = (hidden, cell) if started else (zero, zero)
    states, cells = [], []
    for t in range(x.shape[-2]):
        gates = m.add(driven[..., t, :], m.matmul(state, wh.T))
        enter, forget, new, out = (gates[..., k * size : (k + 1) * size] for k in range(4))
        kept = m.add(m.multiply(m.sigmoid(forget), kept), m.multiply(m.sigmoid(enter), m.tanh(new)))
        state = m.multiply(m.sigmoid(out), m.tanh(kept))
        states.append(state)
        cells.append(kept)
    return np.stack(states, -2), np.stack(cells, -2)


_LSTM_SHAPES = (
    ((2, 1), (1,), (1,), (4, 1), (4, 1), (4,)),
    ((1, 2, 2), (1, 1), (1, 1), (4, 2), (4, 1), (4,)),
)
_LSTM_ARGUMENTS = ("x", "hidden", "cell", "Wx", "Wh", "bias")

_LSTM_TEXT = (
    "nn.LSTM(x.shape[-1], Wh.shape[-1], {add}).update({{'Wx': Wx, 'Wh': Wh, **({{'bias': bias}} if {add} else {{}})}})"
    "(x, *((hidden, cell) if {started} else ()))"
)

OPERATIONS = (
    Operation(
        name="nn.RNN",
        arguments=("x", "hidden", "Wxh", "Whh", "bias"),
        call=_rnn,
        body=_rnn_body,
        shapes=_shapes(1),
        parameters={"nonlinearity": ("tanh", "relu", "sigmoid"), **_STATES},
        values=_values("x", "hidden", "Wxh", "Whh", "bias"),
        tolerance=_ROUNDINGS,
        slow=True,
        text="nn.RNN(x.shape[-1], Whh.shape[-1], {add}, nn.{nonlinearity}).update({{'Wxh': Wxh, 'Whh': Whh, "
        "**({{'bias': bias}} if {add} else {{}})}})(x, hidden if {started} else None)",
    ),
    Operation(
        name="nn.GRU",
        arguments=("x", "hidden", "Wx", "Wh", "b", "bhn"),
        call=_gru,
        body=_gru_body,
        shapes=(
            ((2, 1), (1,), (3, 1), (3, 1), (3,), (1,)),
            ((1, 2, 2), (1, 2), (6, 2), (6, 2), (6,), (2,)),
        ),
        parameters={"bias": (True, False), "started": (True, False)},
        values=_values("x", "hidden", "Wx", "Wh", "b", "bhn"),
        tolerance=_ROUNDINGS,
        slow=True,
        text="nn.GRU(x.shape[-1], Wh.shape[-1], {bias}).update({{'Wx': Wx, 'Wh': Wh, "
        "**({{'b': b, 'bhn': bhn}} if {bias} else {{}})}})(x, hidden if {started} else None)",
    ),
    Operation(
        name="nn.LSTM",
        arguments=_LSTM_ARGUMENTS,
        call=lambda *arrays, **states: _lstm(*arrays, **states)[0],
        body=lambda m, *arrays, **states: _lstm_body(m, *arrays, **states)[0],
        shapes=_LSTM_SHAPES,
        parameters=_STATES,
        values=_values(*_LSTM_ARGUMENTS),
        tolerance=_ROUNDINGS,
        slow=True,
        text=_LSTM_TEXT + "[0]",
    ),
    Operation(
        name="nn.LSTM[cell]",
        arguments=_LSTM_ARGUMENTS,
        call=lambda *arrays, **states: _lstm(*arrays, **states)[1],
        body=lambda m, *arrays, **states: _lstm_body(m, *arrays, **states)[1],
        shapes=_LSTM_SHAPES,
        parameters=_STATES,
        values=_values(*_LSTM_ARGUMENTS),
        tolerance=_ROUNDINGS,
        slow=True,
        text=_LSTM_TEXT + "[1]",
    ),
)
