"""The gated delta rule in chunks: within a chunk all tokens at once, from chunk to chunk the state.

The corrections of a chunk solve ``(I + A) U = beta (V - e^gamma K S^T)`` with ``A_ij = beta_i (k_i . k_j) D_ij`` for
j < i, where ``log D_ij`` is the sum of the logarithms of the gates after j up to i (Yang, Kautz and Hatamizadeh 2024,
appendix). Each such sum is added up by itself. Differences of one cumulative sum would be cheaper, and lose the digits
that count where gates are small.
"""

from __future__ import annotations

import mlx.core as mx

from audit.kernels.gated_delta.recurrent import Result, prepared, step
from audit.kernels.gated_delta.scan import chunks
from audit.kernels.gated_delta.shapes import sizes
from audit.kernels.gated_delta.solve import unit_lower_solve

# Tokens of a chunk. A vector gate has a matrix of decays for every component of a key.
SCALAR_CHUNK, VECTOR_CHUNK = 32, 8


def chunked(
    q: mx.array,
    k: mx.array,
    v: mx.array,
    log_g: mx.array,
    beta: mx.array,
    state: mx.array | None = None,
    mask: mx.array | None = None,
    *,
    chunk: int | None = None,
) -> Result:
    """Outputs and last state, as `recurrent` has them.

    Args:
        q, k, v, log_g, beta, state, mask: as for `recurrent`.
        chunk: tokens of a chunk, a power of two.

    Raises:
        ValueError: shapes or dtypes do not fit.
    """
    size = sizes(q, k, v, log_g, beta, state, mask)
    if state is None:
        state = mx.zeros((size.batch, size.values, size.height, size.width))
    dtype = q.dtype
    q, k, v, log_g, beta = prepared(q, k, v, log_g, beta, mask)
    if size.length == 1:
        y, state = step(q[:, 0], k[:, 0], v[:, 0], log_g[:, 0], beta[:, 0], state)
        return y[:, None].astype(dtype), state
    if not size.length:
        return mx.zeros(v.shape, dtype), state
    c = chunk or (VECTOR_CHUNK if size.vector else SCALAR_CHUNK)
    q, k, v, log_g, beta = (_folded(x, c) for x in (q, k, v, log_g, beta))
    y, state = (_vector if size.vector else _scalar)(q, k, v, log_g, beta[..., None], state, size.groups)
    y = y.transpose(1, 0, 3, 2, 4).reshape(size.batch, -1, size.values, size.height)
    return y[:, : size.length].astype(dtype), state


def _folded(x: mx.array, c: int) -> mx.array:
    """``[B, T, H, ...]`` as ``[N, B, H, C, ...]``; tokens that fill up the last chunk are zero, and change nothing."""
    rows, length, heads, *rest = x.shape
    count = -(-length // c)
    if count * c != length:
        x = mx.pad(x, [(0, 0), (0, count * c - length), *[(0, 0)] * (x.ndim - 2)])
    return x.reshape(rows, count, c, heads, *rest).swapaxes(2, 3).swapaxes(0, 1)


def _scalar(
    q: mx.array, k: mx.array, v: mx.array, log_g: mx.array, beta: mx.array, state: mx.array, groups: int
) -> tuple[mx.array, mx.array]:
    decay = _decays(log_g)
    # Heads that share a key share its products.
    kk, qk = (_repeated(x @ k.swapaxes(-1, -2), groups) for x in (k, q))
    q, k = _repeated(q, groups), _repeated(k, groups)
    since = mx.exp(mx.cumsum(log_g, -1))[..., None]
    u0, w = _solved(beta * kk * decay, beta * v, beta * since * k)
    until = decay[..., -1, :, None]
    return chunks(u0, w, since * q, qk * decay, until * k, since[..., -1, :], state)


def _vector(
    q: mx.array, k: mx.array, v: mx.array, log_g: mx.array, beta: mx.array, state: mx.array, groups: int
) -> tuple[mx.array, mx.array]:
    q, k = _repeated(q, groups), _repeated(k, groups)
    # [..., Dk, C, C], and with the key that is decayed.
    decay = _decays(log_g.swapaxes(-1, -2)) * k.swapaxes(-1, -2)[..., None, :]
    kk, qk = ((x.swapaxes(-1, -2)[..., None] * decay).sum(-3) for x in (k, q))
    since = mx.exp(mx.cumsum(log_g, -2))
    u0, w = _solved(beta * kk, beta * v, beta * since * k)
    until = decay[..., -1, :].swapaxes(-1, -2)
    return chunks(u0, w, since * q, qk, until, since[..., -1, :], state)


def _solved(a: mx.array, v: mx.array, k: mx.array) -> tuple[mx.array, mx.array]:
    """The corrections of a chunk for a state of zero, and how they depend on the state."""
    x = unit_lower_solve(mx.tril(a, -1), mx.concatenate([v, k], -1))
    return x[..., : v.shape[-1]], x[..., v.shape[-1] :]


def _decays(log_g: mx.array) -> mx.array:
    """``D_ij``, the product of the gates after j up to i, zero for j > i: ``[..., C]`` to ``[..., C, C]``."""
    c = log_g.shape[-1]
    later = mx.tril(mx.ones((c, c), mx.bool_), -1)
    sums = mx.cumsum(mx.where(later, log_g[..., None], 0), -2)
    # Before the exponential: beyond the diagonal sums are zero, and must not count.
    return mx.exp(mx.where(mx.tril(mx.ones((c, c), mx.bool_)), sums, -mx.inf))


def _repeated(x: mx.array, groups: int) -> mx.array:
    return mx.repeat(x, groups, 2) if groups > 1 else x
