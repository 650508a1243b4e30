"""The gated delta rule with the signature of mlx-lm's `gated_delta_update`."""

from __future__ import annotations

import mlx.core as mx

from audit.kernels.gated_delta.gates import log_gate, step_size
from audit.kernels.gated_delta.recurrent import Result
from audit.kernels.gated_delta.select import choose
from audit.kernels.gated_delta.shapes import FLOATING, sizes


def gated_delta_update(
    q: mx.array,
    k: mx.array,
    v: mx.array,
    a: mx.array,
    b: mx.array,
    A_log: mx.array,  # noqa: N803  mlx-lm's own name
    dt_bias: mx.array,
    state: mx.array | None = None,
    mask: mx.array | None = None,
    *,
    lower_bound: float | None = None,
    allow_neg_eigval: bool = False,
    form: str | None = None,
) -> Result:
    """Outputs and last state of a layer.

    Args:
        q, k: ``[B, T, Hk, Dk]``, normalised (see `normalize_qk`).
        v: ``[B, T, Hv, Dv]``, Hv a multiple of Hk.
        a: ``[B, T, Hv]``, or ``[B, T, Hv, Dk]`` for a gate of every component.
        b: ``[B, T, Hv]``; beta is its logistic function, in float32.
        A_log, dt_bias: what broadcasts against a: ``[Hv]``, or for a gate of every component ``[Hv, 1]`` and
            ``[Hv, Dk]``.
        state: ``[B, Hv, Dv, Dk]`` float32; zeros if None.
        mask: ``[B, T]`` bool: where it is false a token changes nothing.
        lower_bound: of the logarithm of the gate, where a layer has one.
        allow_neg_eigval: whether beta goes up to 2.
        form: which form computes it, see `FORMS`; the best one if None.

    Returns:
        y ``[B, T, Hv, Dv]`` in the dtype of q, and the state ``[B, Hv, Dv, Dk]`` in float32.

    Raises:
        ValueError: shapes or dtypes do not fit, or there is no such form.
    """
    size = sizes(q, k, v, a, b, state, mask, names=("a", "b"))
    for name, array in (("A_log", A_log), ("dt_bias", dt_bias)):
        if array.dtype not in FLOATING:
            raise ValueError(f"{name} has dtype {array.dtype}: float32, float16 or bfloat16 is expected.")
        trailing = a.shape[2:]
        fits = array.ndim <= len(trailing) and all(
            mine in (1, due) for mine, due in zip(reversed(array.shape), reversed(trailing), strict=False)
        )
        if not fits:
            raise ValueError(f"{name} has shape {array.shape}: what broadcasts to {trailing} is expected.")
    log_g, beta = log_gate(a, A_log, dt_bias, lower_bound), step_size(b, allow_neg_eigval=allow_neg_eigval)
    return choose(form, size.length)(q, k, v, log_g, beta, state, mask)
