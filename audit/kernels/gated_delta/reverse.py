"""The recurrence with a reverse sweep of its own: sequential, in the order of the tokens and back, always the same.

For one token, with S the state before it, ``S' = S g``, ``r = v - S' k``, ``delta = beta r``, ``S+ = S' + delta k^T``:

    dS+ = dS + dy q^T;      dq = S+^T dy
    ddelta = dS+ k;         dv = beta ddelta;    dbeta = ddelta . r
    dS' = dS+ - dv k^T;     dk = dS+^T delta - S'^T dv
    dlog g = dS' . S';      dS = dS' g

Only the states before chunks are kept; those within a chunk are computed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import mlx.core as mx

from audit.kernels.gated_delta.recurrent import Result, prepared, step
from audit.kernels.gated_delta.shapes import sizes
from audit.kernels.rules import with_rules

CHUNK = 64

Token = tuple[mx.array, mx.array, mx.array, mx.array, mx.array]
Six = tuple[mx.array, mx.array, mx.array, mx.array, mx.array, mx.array]


def reverse(
    q: mx.array,
    k: mx.array,
    v: mx.array,
    log_g: mx.array,
    beta: mx.array,
    state: mx.array | None = None,
    mask: mx.array | None = None,
) -> Result:
    """Outputs and last state, as `recurrent` has them.

    Raises:
        ValueError: shapes or dtypes do not fit.
    """
    size = sizes(q, k, v, log_g, beta, state, mask)
    if state is None:
        state = mx.zeros((size.batch, size.values, size.height, size.width))
    if not size.length:
        return mx.zeros(v.shape, q.dtype), state
    dtype = q.dtype
    q, k, v, log_g, beta = prepared(q, k, v, log_g, beta, mask)
    if size.groups > 1:
        q, k = mx.repeat(q, size.groups, 2), mx.repeat(k, size.groups, 2)
    y, last, _ = _sweep(q, k, v, log_g, beta, state)
    return y.astype(dtype), last


def _forward(q: mx.array, k: mx.array, v: mx.array, log_g: mx.array, beta: mx.array, state: mx.array) -> list[mx.array]:
    """Outputs, last state, and the states before each chunk."""
    results, before = [], []
    for t, token in enumerate(_tokens(q, k, v, log_g, beta)):
        if t % CHUNK == 0:
            before.append(state)
        y, state = step(*token, state)
        results.append(y)
    return [mx.stack(results, axis=1), state, mx.stack(before)]


def _vjp(primals: Sequence[mx.array], cotangents: Sequence[mx.array], outputs: Sequence[mx.array]) -> Six:
    q, k, v, log_g, beta, _ = primals
    dy, ds, dbefore = cotangents
    found: list[list[mx.array]] = []
    for start in reversed(range(0, q.shape[1], CHUNK)):
        part = slice(start, start + CHUNK)
        tokens = list(_tokens(q[:, part], k[:, part], v[:, part], log_g[:, part], beta[:, part]))
        states = [outputs[2][start // CHUNK]]
        for token in tokens[:-1]:
            states.append(step(*token, states[-1])[1])
        for t in reversed(range(len(tokens))):
            *shares, ds = _back(*tokens[t], states[t], dy[:, start + t], ds)
            found.append(shares)
        ds = ds + dbefore[start // CHUNK]
    shares = [mx.stack(list(column)[::-1], axis=1) for column in zip(*found, strict=True)]
    dq, dk, dv, dlog_g, dbeta = shares
    return dq, dk, dv, dlog_g, dbeta, ds


def _jvp(primals: Sequence[mx.array], tangents: Sequence[mx.array]) -> list[mx.array]:
    return mx.jvp(_forward, list(primals), list(tangents))[1]


def _back(
    q: mx.array,
    k: mx.array,
    v: mx.array,
    log_g: mx.array,
    beta: mx.array,
    state: mx.array,
    dy: mx.array,
    ds: mx.array,
) -> Six:
    """The derivatives of one token, and that of the state before it."""
    gate = mx.exp(log_g)
    gate = gate[..., None, None] if gate.ndim == 2 else gate[..., None, :]
    decayed = state * gate
    rest = v - (decayed @ k[..., None])[..., 0]
    delta = beta[..., None] * rest
    after = decayed + delta[..., None] * k[..., None, :]
    dafter = ds + dy[..., None] * q[..., None, :]
    ddelta = (dafter @ k[..., None])[..., 0]
    dv = beta[..., None] * ddelta
    ddecayed = dafter - dv[..., None] * k[..., None, :]
    dk = (delta[..., None, :] @ dafter - dv[..., None, :] @ decayed)[..., 0, :]
    share = (ddecayed * decayed).sum(-2)
    dlog_g = share.sum(-1) if log_g.ndim == 2 else share
    return (dy[..., None, :] @ after)[..., 0, :], dk, dv, dlog_g, (ddelta * rest).sum(-1), ddecayed * gate


def _tokens(q: mx.array, k: mx.array, v: mx.array, log_g: mx.array, beta: mx.array) -> Iterator[Token]:
    """The arrays of each token, without T."""
    for t in range(q.shape[1]):
        yield q[:, t], k[:, t], v[:, t], log_g[:, t], beta[:, t]


_sweep = with_rules(_forward, _vjp, _jvp)
