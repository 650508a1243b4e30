"""The gated delta rule as it is defined: one token after another, differentiated by MLX.

With S the state of a head (Yang, Kautz and Hatamizadeh, Gated Delta Networks, 2024):

    S <- S g;  delta = beta (v - S k);  S <- S + delta k^T;  y = S q
"""

from __future__ import annotations

import mlx.core as mx

from audit.kernels.gated_delta.shapes import sizes

Result = tuple[mx.array, mx.array]


def recurrent(
    q: mx.array,
    k: mx.array,
    v: mx.array,
    log_g: mx.array,
    beta: mx.array,
    state: mx.array | None = None,
    mask: mx.array | None = None,
) -> Result:
    """Outputs and last state.

    Args:
        q, k: ``[B, T, Hk, Dk]``.
        v: ``[B, T, Hv, Dv]``, Hv a multiple of Hk.
        log_g: logarithms of gates, ``[B, T, Hv]`` or ``[B, T, Hv, Dk]``.
        beta: ``[B, T, Hv]``.
        state: ``[B, Hv, Dv, Dk]`` float32; zeros if None.
        mask: ``[B, T]`` bool: where it is false a token changes nothing, and its output is what the state says.

    Returns:
        y ``[B, T, Hv, Dv]`` in the dtype of q, and the state ``[B, Hv, Dv, Dk]`` in float32.

    Raises:
        ValueError: shapes or dtypes do not fit.
    """
    size = sizes(q, k, v, log_g, beta, state, mask)
    if state is None:
        state = mx.zeros((size.batch, size.values, size.height, size.width))
    dtype = q.dtype
    q, k, v, log_g, beta = prepared(q, k, v, log_g, beta, mask)
    results = []
    for t in range(size.length):
        y, state = step(q[:, t], k[:, t], v[:, t], log_g[:, t], beta[:, t], state)
        results.append(y)
    ys = mx.stack(results, axis=1) if results else mx.zeros(v.shape)
    return ys.astype(dtype), state


def step(q: mx.array, k: mx.array, v: mx.array, log_g: mx.array, beta: mx.array, state: mx.array) -> Result:
    """One token: output ``[B, Hv, Dv]`` and state; the arguments have no T, and are float32."""
    groups = v.shape[1] // k.shape[1]
    if groups > 1:
        q, k = mx.repeat(q, groups, 1), mx.repeat(k, groups, 1)
    gate = mx.exp(log_g)
    state = state * (gate[..., None, None] if gate.ndim == 2 else gate[..., None, :])
    delta = beta[..., None] * (v - (state @ k[..., None])[..., 0])
    state = state + delta[..., None] * k[..., None, :]
    return (state @ q[..., None])[..., 0], state


def prepared(
    q: mx.array, k: mx.array, v: mx.array, log_g: mx.array, beta: mx.array, mask: mx.array | None
) -> tuple[mx.array, mx.array, mx.array, mx.array, mx.array]:
    """All in float32, and tokens that do not count as such that change nothing.

    Whatever stands there is not looked at, except the query: what a layer does with an output that does not count is
    its own matter.
    """
    q, k, v, log_g, beta = (x.astype(mx.float32) for x in (q, k, v, log_g, beta))
    if mask is None:
        return q, k, v, log_g, beta
    counts = mask[..., None]
    wide = counts[..., None]
    gate = counts if log_g.ndim == 3 else wide
    return q, mx.where(wide, k, 0), mx.where(wide, v, 0), mx.where(gate, log_g, 0), mx.where(counts, beta, 0)
