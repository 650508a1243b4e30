"""Comparisons: 1 or 0, of which the derivative is zero wherever they do not jump."""

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from audit.operation import REAL_FORMATS, Operation, Values
from cases.jumps import jump

_ZERO = {"a": Values(singular=(0.0,)), "b": Values(singular=(0.0,))}


def _operation(
    name: str, operator: str, holds: Callable[..., Any], formats: tuple[str, ...] = REAL_FORMATS
) -> Operation:
    """A comparison, its operator, and what it means in generic arithmetic."""
    return Operation(
        name=f"mx.{name}",
        arguments=("a", "b"),
        call=lambda a, b: getattr(mx, name)(a, b).astype(mx.real(a).dtype),
        body=lambda m, a, b: jump(m, holds(m, a, b), m.real(a)),
        values=_ZERO,
        formats=formats,
        orders=1,
        slow=True,
        result="real",
        also=(f"mx.array.__{operator}__",),
        text=f"mx.{name}(a, b).astype(mx.real(a).dtype)",
    )


_COMPLEX = (*REAL_FORMATS, "complex64")

OPERATIONS = (
    _operation("equal", "eq", lambda m, a, b: m.equal(a, b), _COMPLEX),
    _operation("not_equal", "ne", lambda m, a, b: m.not_equal(a, b), _COMPLEX),
    _operation("less", "lt", lambda m, a, b: m.less(a, b)),
    _operation("less_equal", "le", lambda m, a, b: m.less_equal(a, b)),
    _operation("greater", "gt", lambda m, a, b: m.greater(a, b)),
    _operation("greater_equal", "ge", lambda m, a, b: m.greater_equal(a, b)),
)
