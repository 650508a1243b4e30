"""From what a layer computes to the gate and the step size of the rule, in float32.

The logarithm of the gate is handed on, never the gate: products of gates underflow, sums of their logarithms do not.
"""

from __future__ import annotations

import mlx.core as mx

from audit.kernels.rules import with_rules


def log_gate(a: mx.array, A_log: mx.array, dt_bias: mx.array, lower_bound: float | None = None) -> mx.array:  # noqa: N803
    """``log g = -exp(A_log) softplus(a + dt_bias)``, or ``lower_bound * sigmoid(exp(A_log) (a + dt_bias))``.

    Args:
        a: ``[B, T, Hv]`` or ``[B, T, Hv, Dk]``.
        A_log, dt_bias: ``[Hv]``, or what broadcasts against a.
        lower_bound: of the logarithm; negative.

    Returns:
        float32, of the shape of a.
    """
    rate, x = mx.exp(A_log.astype(mx.float32)), a.astype(mx.float32) + dt_bias.astype(mx.float32)
    if lower_bound is not None:
        return lower_bound * logistic(rate * x)
    return -rate * mx.logaddexp(x, mx.array(0.0))


def step_size(b: mx.array, *, allow_neg_eigval: bool = False) -> mx.array:
    """``beta = sigmoid(b)``, twice that where eigenvalues of a step may be negative; float32."""
    beta = logistic(b.astype(mx.float32))
    return 2.0 * beta if allow_neg_eigval else beta


def normalize_qk(q: mx.array, k: mx.array, *, inv_scale: float, eps: float) -> tuple[mx.array, mx.array]:
    """Queries and keys of length one, the queries times ``inv_scale`` as well; eps is added to the sum of squares."""
    shares = eps * inv_scale**2
    return inv_scale**2 * mx.fast.rms_norm(q, None, shares), inv_scale * mx.fast.rms_norm(k, None, shares)


def _logistic_vjp(primal: mx.array, cotangent: mx.array, _: mx.array) -> mx.array:
    return cotangent * _slope(primal)


def _logistic_jvp(primal: mx.array, tangent: mx.array) -> mx.array:
    return tangent * _slope(primal)


logistic = with_rules(mx.sigmoid, _logistic_vjp, _logistic_jvp)
"""The logistic function, whose derivative keeps its digits where the value is one: s(x) s(-x), not s (1 - s)."""


def _slope(x: mx.array) -> mx.array:
    return logistic(x) * logistic(-x)
