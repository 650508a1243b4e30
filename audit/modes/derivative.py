"""A derivative of a function of MLX arrays, put together from MLX's own transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mlx.core as mx

from audit.case import Mode

MlxFunction = Callable[..., mx.array]
Derivative = Callable[..., list[mx.array]]


def differentiated(function: MlxFunction, mode: Mode, weights: Sequence[mx.array]) -> Derivative:
    """The derivative that a mode asks for, as a function of the traced arguments that returns a list of arrays.

    Args:
        function: a function of the traced arguments.
        mode: which derivative.
        weights: cotangent or tangents, as `audit.case.Batch` has them.
    """
    if mode.directional:
        return _directional(function, mode.kind, weights[0], list(weights[1:]))
    kind, count = mode.kind, len(mode.traced)

    def weighted(*xs: mx.array) -> mx.array:
        return (weights[0] * function(*xs)).sum()

    def gradient(*xs: mx.array) -> list[mx.array]:
        return _gradients(weighted, xs)

    def repeated(order: int) -> Callable[[mx.array], mx.array]:
        inner: Callable[[mx.array], mx.array] = weighted
        for _ in range(order):
            inner = _summed_gradient(inner)
        return inner

    def forward(*xs: mx.array) -> list[mx.array]:
        return [function(*xs)]

    def vjp(*xs: mx.array) -> list[mx.array]:
        return mx.vjp(function, list(xs), [weights[0]])[1]

    def jvp(*xs: mx.array) -> list[mx.array]:
        return mx.jvp(function, list(xs), list(weights))[1]

    def entry(i: int) -> MlxFunction:
        return lambda *xs: gradient(*xs)[i].sum()

    def reverse_over_reverse(*xs: mx.array) -> list[mx.array]:
        entries: list[mx.array] = []
        for i in range(count):
            entries.extend(_gradients(entry(i), xs))
        return entries

    def forward_over_reverse(*xs: mx.array) -> list[mx.array]:
        columns = []
        for j in range(count):
            tangents = [mx.ones_like(x) if k == j else mx.zeros_like(x) for k, x in enumerate(xs)]
            columns.append(mx.jvp(gradient, list(xs), tangents)[1])
        return [columns[j][i] for i in range(count) for j in range(count)]

    return {
        "forward": forward,
        "vjp": vjp,
        "jvp": jvp,
        "grad1": lambda x: [repeated(1)(x)],
        "grad2": lambda x: [repeated(2)(x)],
        "grad3": lambda x: [repeated(3)(x)],
        "hessian-rr": reverse_over_reverse,
        "hessian-fr": forward_over_reverse,
    }[kind]


def _directional(function: MlxFunction, kind: str, cotangent: mx.array, tangents: list[mx.array]) -> Derivative:
    """``H_w v`` in its three compositions, and the gradient of ``<v, H_w v>``."""

    def pulled(*xs: mx.array) -> list[mx.array]:
        return mx.vjp(function, list(xs), [cotangent])[1]

    def pushed(*xs: mx.array) -> list[mx.array]:
        return mx.jvp(function, list(xs), tangents)[1]

    def reverse_over_reverse(*xs: mx.array) -> list[mx.array]:
        return mx.vjp(pulled, list(xs), tangents)[1]

    def forward_over_reverse(*xs: mx.array) -> list[mx.array]:
        return mx.jvp(pulled, list(xs), tangents)[1]

    def reverse_over_forward(*xs: mx.array) -> list[mx.array]:
        return mx.vjp(pushed, list(xs), [cotangent])[1]

    def third(*xs: mx.array) -> list[mx.array]:
        # The cotangents v of the last sweep are those that <v, H_w v> gives to H_w v.
        return mx.vjp(reverse_over_reverse, list(xs), tangents)[1]

    return {
        "second-rr": reverse_over_reverse,
        "second-fr": forward_over_reverse,
        "second-rf": reverse_over_forward,
        "third": third,
    }[kind]


def _gradients(scalar: MlxFunction, xs: Sequence[mx.array]) -> list[mx.array]:
    found = mx.grad(scalar, argnums=tuple(range(len(xs))))(*xs)
    # Of one argument MLX returns the gradient itself.
    return list(found) if isinstance(found, (list, tuple)) else [found]


def _summed_gradient(inner: Callable[[mx.array], mx.array]) -> Callable[[mx.array], mx.array]:
    return mx.grad(lambda x: inner(x).sum())
