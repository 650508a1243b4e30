"""The state from chunk to chunk: the only part of the chunked form that is sequential, with its own reverse sweep.

For each chunk n, with S_n the state before it:

    U_n = U0_n - W_n S_n^T;   Y_n = E_n S_n^T + P_n U_n;   S_{n+1} = S_n g_n + U_n^T K_n

and backwards, from the cotangents of Y and of the last state:

    dU_n = P_n^T dY_n + K_n dS_{n+1}^T;   dS_n = dS_{n+1} g_n + dY_n^T E_n - dU_n^T W_n

All that is left depends on no other chunk and is done at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx

from audit.kernels.rules import with_rules

Parts = tuple[mx.array, mx.array, mx.array, mx.array, mx.array, mx.array, mx.array]


def chunks(
    u0: mx.array, w: mx.array, e: mx.array, p: mx.array, k: mx.array, g: mx.array, state: mx.array
) -> tuple[mx.array, mx.array]:
    """Outputs ``[N, B, H, C, Dv]`` and last state.

    Args:
        u0: ``[N, B, H, C, Dv]``.
        w, e, k: ``[N, B, H, C, Dk]``.
        p: ``[N, B, H, C, C]``.
        g: decay over a chunk, ``[N, B, H, 1]`` or ``[N, B, H, Dk]``.
        state: ``[B, H, Dv, Dk]``.
    """
    y, last, *_ = _scan(u0, w, e, p, k, g, state)
    return y, last


def _forward(
    u0: mx.array, w: mx.array, e: mx.array, p: mx.array, k: mx.array, g: mx.array, state: mx.array
) -> list[mx.array]:
    """Outputs and last state; and for the reverse sweep U and the states before each chunk."""
    us, states = [], []
    for u0_n, w_n, k_n, g_n in zip(_apart(u0), _apart(w), _apart(k), _apart(g), strict=True):
        states.append(state)
        u = u0_n - w_n @ _t(state)
        us.append(u)
        state = state * g_n[..., None, :] + _t(u) @ k_n
    u, before = mx.stack(us), mx.stack(states)
    return [e @ _t(before) + p @ u, state, u, before]


def _vjp(primals: Sequence[mx.array], cotangents: Sequence[mx.array], outputs: Sequence[mx.array]) -> Parts:
    _, w, e, p, k, g, _ = primals
    dy, ds, du_own, before_own = cotangents
    _, _, u, before = outputs
    # What does not need the state after the chunk, at once.
    local = _t(p) @ dy + du_own
    read = _t(dy) @ e + before_own
    dus, after = [], []
    for local_n, read_n, w_n, k_n, g_n in reversed(
        list(zip(*(_apart(x) for x in (local, read, w, k, g)), strict=True))
    ):
        after.append(ds)
        du = local_n + k_n @ _t(ds)
        dus.append(du)
        ds = ds * g_n[..., None, :] + read_n - _t(du) @ w_n
    du, dafter = mx.stack(dus[::-1]), mx.stack(after[::-1])
    decay = (before * dafter).sum(-2)
    dg = decay.sum(-1, keepdims=True) if g.shape[-1] == 1 and decay.shape[-1] != 1 else decay
    return du, -(du @ before), dy @ before, dy @ _t(u), u @ dafter, dg, ds


def _jvp(primals: Sequence[mx.array], tangents: Sequence[mx.array]) -> list[mx.array]:
    return mx.jvp(_forward, list(primals), list(tangents))[1]


def _apart(x: mx.array) -> list[mx.array]:
    """The chunks of an array, whose gradients meet again in one concatenation."""
    return [part.squeeze(0) for part in mx.split(x, x.shape[0])]


def _t(x: mx.array) -> mx.array:
    return x.swapaxes(-1, -2)


_scan = with_rules(_forward, _vjp, _jvp)
