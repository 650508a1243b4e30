"""Division with the scaled rule, in Python: what a project can use that cannot patch the library.

The value is `mx.divide`'s own. Every derivative is a Laurent polynomial in the inputs and the weights (see
`audit.patches.laurent`), so no order of derivative squares a denominator in the format. As a custom function it can be
neither exported nor compiled with ``shapeless=True``; a hot patch takes that from derivatives only.
"""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from audit.patches.laurent import Term, aligned, as_array, derivative, laurent, on, traced

_QUOTIENT = (Term(1, (1, -1)),)


def divide(a: Any, b: Any, /, *, stream: mx.Stream | mx.Device | None = None) -> mx.array:
    """Quotient a / b as `mx.divide` gives it, bit for bit, with derivatives that are right at every scale and order.

    Args:
        a, b: arrays of shapes that broadcast, or Python numbers. Integers and booleans become floating-point as in
            `mx.divide`. Complex operands keep MLX's own rule.
        stream: where to compute; MLX's default stream if None.
    """
    quotient = mx.divide(a, b, stream=stream)
    if not mx.issubdtype(quotient.dtype, mx.floating):
        return quotient
    with on(stream):
        # Broadcast outside the rule: MLX sums a cotangent back to an argument's shape when it undoes a broadcast.
        operands = mx.broadcast_arrays(*(_converted(x, quotient.dtype) for x in (a, b)))
    return _quotient(*operands, stream=stream)


def reciprocal(a: Any, /, *, stream: mx.Stream | mx.Device | None = None) -> mx.array:
    """Reciprocal 1 / a: MLX makes the same primitive of it as of a division."""
    return divide(1, a, stream=stream)


class Arithmetic:
    """`mlx.core` with `divide` and `reciprocal` replaced."""

    divide = staticmethod(divide)
    reciprocal = staticmethod(reciprocal)

    def __getattr__(self, name: str) -> Any:
        return getattr(mx, name)


def _converted(x: Any, dtype: mx.Dtype) -> mx.array:
    return x.astype(dtype) if isinstance(x, mx.array) else mx.array(x, dtype)


def _quotient(a: mx.array, b: mx.array, *, stream: mx.Stream | mx.Device | None) -> mx.array:
    @mx.custom_function
    def rule(a: mx.array, b: mx.array) -> mx.array:
        return mx.divide(a, b, stream=stream)

    @rule.vjp
    def _(primals: Any, cotangent: mx.array, _: mx.array) -> Any:
        at = (*primals, cotangent)
        return tuple(laurent(at, derivative(_QUOTIENT, (i,)), _quotient, stream) for i in range(2))

    @rule.jvp
    def _(primals: Any, tangents: Any) -> mx.array:
        along, given = traced(tangents)
        return laurent((*primals, *given), derivative(_QUOTIENT, along), _quotient, stream)

    @rule.vmap
    def _(inputs: Any, axes: Any) -> tuple[mx.array, int]:
        return _quotient(*aligned(inputs, axes, stream), stream=stream), 0

    return as_array(rule(a, b))
