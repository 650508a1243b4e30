"""Truth values: of numbers that are not zero, and of comparisons of traced numbers, as masks are made of them."""

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from audit.operation import REAL_FORMATS, Operation, Values
from cases.jumps import jump

_COMPLEX = (*REAL_FORMATS, "complex64")
_ZERO = {"a": Values(singular=(0.0,)), "b": Values(singular=(0.0,))}
# The masks are made of a > 0 and b < 1.
_MASKED = {"a": Values(singular=(0.0,)), "b": Values(singular=(1.0,))}


def _test(name: str, holds: Callable[..., Any]) -> Operation:
    """Numbers as truth values."""
    return Operation(
        name=f"mx.{name}",
        arguments=("a", "b"),
        call=lambda a, b: getattr(mx, name)(a, b).astype(mx.real(a).dtype),
        body=lambda m, a, b: jump(m, holds(m, m.not_equal(a, 0), m.not_equal(b, 0)), m.real(a)),
        values=_ZERO,
        formats=_COMPLEX,
        result="real",
        orders=1,
        slow=True,
        text=f"mx.{name}(a, b).astype(mx.real(a).dtype)",
    )


def _mask(name: str, operator: str, holds: Callable[..., Any]) -> Operation:
    """A mask of two comparisons that selects between the numbers that were compared."""
    symbol = {"and": "&", "or": "|", "xor": "^"}[operator]
    return Operation(
        name=f"mx.{name}",
        arguments=("a", "b"),
        call=lambda a, b: mx.where(getattr(mx, name)(a > 0, b < 1), a, b),
        body=lambda m, a, b: m.where(holds(m, m.greater(a, 0), m.less(b, 1)), a, b),
        values=_MASKED,
        slow=True,
        also=(f"mx.array.__{operator}__", f"mx.array.__i{operator}__"),
        text=f"mx.where((a > 0) {symbol} (b < 1), a, b)",
    )


OPERATIONS = (
    _test("logical_and", lambda m, x, y: m.logical_and(x, y)),
    _test("logical_or", lambda m, x, y: m.logical_or(x, y)),
    _test("logical_xor", lambda m, x, y: m.logical_xor(x, y)),
    Operation(
        name="mx.logical_not",
        arguments=("a",),
        call=lambda a: mx.logical_not(a).astype(mx.real(a).dtype),
        body=lambda m, a: jump(m, m.equal(a, 0), m.real(a)),
        values={"a": Values(singular=(0.0,))},
        formats=_COMPLEX,
        result="real",
        orders=1,
        slow=True,
        text="mx.logical_not(a).astype(mx.real(a).dtype)",
    ),
    _mask("bitwise_and", "and", lambda m, x, y: m.logical_and(x, y)),
    _mask("bitwise_or", "or", lambda m, x, y: m.logical_or(x, y)),
    _mask("bitwise_xor", "xor", lambda m, x, y: m.logical_xor(x, y)),
    Operation(
        name="mx.bitwise_invert",
        arguments=("a", "b"),
        call=lambda a, b: mx.where(mx.bitwise_invert(a > b), a, 2 * b),
        body=lambda m, a, b: m.where(m.greater(a, b), m.multiply(2, b), a),
        # Twice the largest numbers leave the range.
        values={"a": Values(singular=(0.0,), scaled=False), "b": Values(singular=(0.0,), scaled=False)},
        also=("mx.array.__invert__",),
        text="mx.where(~(a > b), a, 2 * b)",
    ),
)
