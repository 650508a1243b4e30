"""Right values of the gated delta rule: outputs, last state and all derivatives, as Arb balls.

The recurrence and its adjoint are evaluated with matrices of balls. Two methods that share no derivative with the
adjoint look at it: the coefficient of a power series along a direction (`along`), which must overlap with the adjoint
times the direction, and differences of the recurrence in mpmath (`difference`).

With S the state of a head, of Dv rows and Dk columns, and for each token

    S <- S g;  r = v - S k;  S <- S + beta r k^T;  y = S q
    g = exp(-exp(A_log) softplus(a + dt_bias)),  beta = sigmoid(b)

(Yang, Kautz and Hatamizadeh, Gated Delta Networks, 2024; the gate as mlx-lm computes it.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, arb_mat, arb_series, ctx
from mpmath import MPContext
from numpy.typing import NDArray

BITS = 200
ARGUMENTS = ("q", "k", "v", "a", "b", "A_log", "dt_bias", "state")

Floats = NDArray[np.float64]
Objects = NDArray[Any]


@dataclass(frozen=True)
class Layer:
    """One call, whose numbers are taken to be exact.

    Args:
        q, k: ``[B, T, Hk, Dk]``.
        v: ``[B, T, Hv, Dv]``.
        a: ``[B, T, Hv]`` or ``[B, T, Hv, Dk]``.
        b: ``[B, T, Hv]``.
        A_log, dt_bias: ``[Hv]``, or ``[Hv, 1]`` and ``[Hv, Dk]`` for a gate of every component.
        state: ``[B, Hv, Dv, Dk]``.
        mask: ``[B, T]`` bool, None if all tokens count.
        scale: of beta: 2 where eigenvalues may be negative.
    """

    q: Floats
    k: Floats
    v: Floats
    a: Floats
    b: Floats
    A_log: Floats
    dt_bias: Floats
    state: Floats
    mask: NDArray[np.bool_] | None = None
    scale: float = 1.0

    def arrays(self) -> dict[str, Floats]:
        """The arguments that are differentiated, by name."""
        return {name: getattr(self, name) for name in ARGUMENTS}

    def counts(self, row: int, token: int) -> bool:
        """Whether a token counts."""
        return self.mask is None or bool(self.mask[row, token])


@dataclass(frozen=True)
class Right:
    """Balls, of the shapes of the arrays that they belong to.

    Args:
        y: outputs ``[B, T, Hv, Dv]``.
        state: last state.
        gradients: by argument, of the sum of outputs and last state times their cotangents.
    """

    y: Objects
    state: Objects
    gradients: Mapping[str, Objects]


def certified(layer: Layer, dy: Floats, dstate: Floats, bits: int = BITS) -> Right:
    """Outputs, last state and derivatives, with proof.

    Args:
        layer: the call.
        dy: cotangents of the outputs, ``[B, T, Hv, Dv]``.
        dstate: cotangents of the last state, ``[B, Hv, Dv, Dk]``.
        bits: precision.
    """
    before = ctx.prec
    ctx.prec = bits
    try:
        return _certified(layer, dy, dstate)
    finally:
        ctx.prec = before


def _certified(layer: Layer, dy: Floats, dstate: Floats) -> Right:
    y, last = np.full(layer.v.shape, arb(0)), np.full(layer.state.shape, arb(0))
    found = {name: np.full(array.shape, arb(0)) for name, array in layer.arrays().items()}
    groups = layer.v.shape[2] // layer.k.shape[2]
    for row in range(layer.v.shape[0]):
        for head in range(layer.v.shape[2]):
            one = _Head(layer, row, head, head // groups)
            y[row, :, head], last[row, head] = one.outputs, one.last
            for name, place, value in one.gradients(dy[row, :, head], dstate[row, head]):
                found[name][place] = found[name][place] + value
    return Right(y, last, found)


class _Head:
    """The recurrence of one head of one row, and its adjoint."""

    def __init__(self, layer: Layer, row: int, head: int, key: int) -> None:
        self._layer, self._row, self._head, self._key = layer, row, head, key
        self._length = layer.v.shape[1]
        self._tokens = [t for t in range(self._length) if layer.counts(row, t)]
        self._state = _matrix(layer.state[row, head])
        self._q = [_column(layer.q[row, t, key]) for t in range(self._length)]
        self._k = [_column(layer.k[row, t, key]) for t in range(self._length)]
        self._gates = {t: _Gate(layer, row, t, head) for t in self._tokens}

    @cached_property
    def _run(self) -> tuple[dict[int, tuple[arb_mat, arb_mat, arb_mat]], list[arb_mat], arb_mat]:
        """For each token that counts the state before it, the decayed one and the rest; outputs; the last state."""
        layer, state = self._layer, self._state
        kept, outputs = {}, []
        for t in range(self._length):
            if t in self._gates:
                gate, k = self._gates[t], self._k[t]
                decayed = gate.decay(state)
                rest = _column(layer.v[self._row, t, self._head]) - decayed * k
                kept[t] = (state, decayed, rest)
                state = decayed + rest * gate.beta * k.transpose()
            outputs.append(state * self._q[t])
        return kept, outputs, state

    @property
    def outputs(self) -> Objects:
        """``[T, Dv]``."""
        return np.array([_list(y) for y in self._run[1]], object).reshape(self._length, -1)

    @property
    def last(self) -> Objects:
        """``[Dv, Dk]``."""
        return np.array(self._run[2].entries(), object).reshape(self._layer.state.shape[2:])

    def gradients(self, dy: Floats, dstate: Floats) -> Iterator[tuple[str, tuple[Any, ...], Any]]:
        """Names, places and shares of all derivatives."""
        row, head, key, layer = self._row, self._head, self._key, self._layer
        kept, _, state = self._run
        ds = _matrix(dstate)
        for t in reversed(range(self._length)):
            dyt = _column(dy[t])
            if t not in kept:
                yield "q", (row, t, key), _array(state.transpose() * dyt)
                ds = ds + dyt * self._q[t].transpose()
                continue
            before, decayed, rest = kept[t]
            gate, k = self._gates[t], self._k[t]
            yield "q", (row, t, key), _array(state.transpose() * dyt)
            dafter = ds + dyt * self._q[t].transpose()
            ddelta = dafter * k
            dv = ddelta * gate.beta
            yield "v", (row, t, head), _array(dv)
            dbeta = (ddelta.transpose() * rest)[0, 0]
            ddecayed = dafter - dv * k.transpose()
            dk = dafter.transpose() * rest * gate.beta - decayed.transpose() * dv
            yield "k", (row, t, key), _array(dk)
            yield "b", (row, t, head), dbeta * gate.slope
            width = decayed.ncols()
            shares = [
                sum((ddecayed[i, j] * decayed[i, j] for i in range(decayed.nrows())), arb(0)) for j in range(width)
            ]
            yield from gate.shares(shares)
            ds = gate.decay(ddecayed)
            state = before
        yield "state", (row, head), np.array(ds.entries(), object).reshape(layer.state.shape[2:])


class _Gate:
    """Gate and step size of one token, and what their derivatives come to."""

    def __init__(self, layer: Layer, row: int, token: int, head: int) -> None:
        self._place = (row, token, head)
        a, self._vector = layer.a[row, token, head], layer.a.ndim == 4
        self._a_shape = np.shape(a)
        self._rates = np.broadcast_to(layer.A_log[head], self._a_shape)
        self._biases = np.broadcast_to(layer.dt_bias[head], self._a_shape)
        self._head = head
        self._shapes = layer.A_log.shape, layer.dt_bias.shape
        xs = [arb(float(x)) + arb(float(z)) for x, z in zip(np.ravel(a), np.ravel(self._biases), strict=True)]
        rates = [arb(float(r)).exp() for r in np.ravel(self._rates)]
        self._softplus = [rate * _softplus(x) for rate, x in zip(rates, xs, strict=True)]
        self._slopes = [rate * _sigmoid(x) for rate, x in zip(rates, xs, strict=True)]
        self._gates = [(-s).exp() for s in self._softplus]
        b = arb(float(layer.b[row, token, head]))
        self.beta = _sigmoid(b) * layer.scale
        self.slope = _sigmoid(b) * _sigmoid(-b) * layer.scale

    def decay(self, state: arb_mat) -> arb_mat:
        """A state times the gate."""
        if not self._vector:
            return state * self._gates[0]
        rows, columns = state.nrows(), state.ncols()
        return arb_mat(rows, columns, [state[i, j] * self._gates[j] for i in range(rows) for j in range(columns)])

    def shares(self, columns: list[arb]) -> Iterator[tuple[str, tuple[Any, ...], Any]]:
        """From the derivative by the logarithm of the gate, by column, those by a, A_log and dt_bias."""
        dlogs = columns if self._vector else [sum(columns, arb(0))]
        da = [-d * slope for d, slope in zip(dlogs, self._slopes, strict=True)]
        rates = [-d * s for d, s in zip(dlogs, self._softplus, strict=True)]
        yield "a", self._place, np.array(da, object).reshape(self._a_shape) if self._vector else da[0]
        for name, parts, shape in (("A_log", rates, self._shapes[0]), ("dt_bias", da, self._shapes[1])):
            if len(shape) == 1:
                yield name, (self._head,), sum(parts, arb(0))
            elif shape[1] == 1:
                yield name, (self._head, 0), sum(parts, arb(0))
            else:
                yield name, (self._head,), np.array(parts, object)


def along(layer: Layer, direction: Mapping[str, Floats], dy: Floats, dstate: Floats, bits: int = BITS) -> arb:
    """The derivative of the sum of outputs and state times cotangents along a direction, by power series.

    Args:
        layer: the call.
        direction: a number for each number of each argument.
        dy, dstate: cotangents.
        bits: precision.
    """
    before, cap = ctx.prec, ctx.cap
    ctx.prec, ctx.cap = bits, 2
    try:

        def series(x: float, slope: float) -> arb_series:
            return arb_series([arb(x), arb(slope)], prec=2)

        moved = {name: _each(series, x, direction[name]) for name, x in layer.arrays().items()}
        zero, one = arb_series([0, 0], prec=2), arb_series([1, 0], prec=2)
        total = _weighted(replace(layer, **moved), dy, dstate, lambda x: x.exp(), lambda x: (one + x.exp()).log(), zero)
        return total[1]
    finally:
        ctx.prec, ctx.cap = before, cap


def difference(
    layer: Layer, direction: Mapping[str, Floats], dy: Floats, dstate: Floats, digits: int = 120
) -> tuple[Any, Any]:
    """The same derivative by a central difference in mpmath, and a bound of its error.

    The step is small enough that the error of the difference, of its square, is far below the digits that are kept.
    """
    mp: Any = MPContext()
    mp.dps = digits

    def total(step: Any) -> Any:
        moved = {
            name: _each(lambda x, slope: mp.mpf(x) + step * mp.mpf(slope), x, direction[name])
            for name, x in layer.arrays().items()
        }
        return _weighted(replace(layer, **moved), dy, dstate, mp.exp, lambda x: mp.log1p(mp.exp(x)), mp.mpf(0))

    step = mp.mpf(10) ** -(digits // 4)
    coarse, fine = ((total(h) - total(-h)) / (2 * h) for h in (step, step / 2))
    return fine, abs(fine - coarse) + abs(fine) * mp.mpf(10) ** -(digits // 3)


def _weighted(
    layer: Layer, dy: Floats, dstate: Floats, exp: Callable[[Any], Any], softplus: Callable[[Any], Any], zero: Any
) -> Any:
    """The sum of outputs and last state times cotangents, of numbers of any kind.

    Rows are lists, since NumPy takes a power series for an array of its coefficients.
    """
    groups, total = layer.v.shape[2] // layer.k.shape[2], zero
    width = layer.k.shape[3]
    for row, head in np.ndindex(layer.v.shape[0], layer.v.shape[2]):
        state = [list(line) for line in layer.state[row, head]]
        for t in range(layer.v.shape[1]):
            k, q = list(layer.k[row, t, head // groups]), list(layer.q[row, t, head // groups])
            if layer.counts(row, t):
                rates, biases, xs = (
                    _listed(x, width) for x in (layer.A_log[head], layer.dt_bias[head], layer.a[row, t, head])
                )
                gates = [exp(-(exp(r) * softplus(x + z))) for r, z, x in zip(rates, biases, xs, strict=True)]
                b = layer.b[row, t, head]
                beta = exp(b - softplus(b)) * layer.scale
                state = [[x * g for x, g in zip(line, gates, strict=True)] for line in state]
                deltas = [
                    (v - _dot(line, k, zero)) * beta for v, line in zip(layer.v[row, t, head], state, strict=True)
                ]
                state = [
                    [x + d * z for x, z in zip(line, k, strict=True)] for line, d in zip(state, deltas, strict=True)
                ]
            for weight, line in zip(dy[row, t, head].tolist(), state, strict=True):
                total = total + _dot(line, q, zero) * weight
        for weights, line in zip(dstate[row, head].tolist(), state, strict=True):
            total = total + _dot(line, weights, zero)
    return total


def _each(make: Callable[[float, float], Any], x: Floats, slopes: Floats) -> Objects:
    found = np.empty(x.size, object)
    for place, (number, slope) in enumerate(zip(x.ravel().tolist(), slopes.ravel().tolist(), strict=True)):
        found[place] = make(number, slope)
    return found.reshape(x.shape)


def _listed(x: Any, width: int) -> list[Any]:
    """A number for every component of a key: one for all, or one for each."""
    if not isinstance(x, np.ndarray):
        return [x] * width
    return list(x) * (width if len(x) == 1 else 1)


def _dot(one: Sequence[Any], other: Sequence[Any], zero: Any) -> Any:
    return sum((x * y for x, y in zip(one, other, strict=True)), zero)


def _softplus(x: arb) -> arb:
    return x.exp().log1p() if x < 0 else x + (-x).exp().log1p()


def _sigmoid(x: arb) -> arb:
    return 1 / (1 + (-x).exp()) if x > 0 else x.exp() / (1 + x.exp())


def _matrix(x: Floats) -> arb_mat:
    rows, columns = x.shape
    return arb_mat(rows, columns, [arb(float(number)) for number in x.ravel()])


def _column(x: Floats) -> arb_mat:
    return arb_mat(len(x), 1, [arb(float(number)) for number in x])


def _list(x: arb_mat) -> list[arb]:
    return x.entries()


def _array(x: arb_mat) -> Objects:
    return np.array(x.entries(), object)
