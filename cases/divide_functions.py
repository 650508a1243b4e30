"""The functions in which division is audited, each written once in generic arithmetic."""

from __future__ import annotations

from typing import Any

from audit.case import Function


def _quotient(m: Any, a: Any, b: Any) -> Any:
    return m.divide(a, b)


def _reciprocal(m: Any, c: Any, t: Any) -> Any:
    return m.divide(c, c * t)


def _identity(m: Any, c: Any, t: Any) -> Any:
    return m.divide(c * t, c * t)


def _squared(m: Any, c: Any, t: Any) -> Any:
    # Not (...)**2: MLX's power has a defect of its own at third order.
    return m.square(m.divide(c, c * t) - 1)


def _scaled_quotient(m: Any, c: Any, a: Any, b: Any) -> Any:
    return m.divide(c * a, c * b)


QUOTIENT = Function("quotient", ("a", "b"), _quotient, "a / b")
ARRAY_QUOTIENT = Function("quotient of arrays", ("a", "b"), _quotient, "a / b", elementwise=False)
RECIPROCAL = Function("scaled reciprocal", ("C", "t"), _reciprocal, "C / (C * t)")
IDENTITY = Function("scaled identity", ("C", "t"), _identity, "(C * t) / (C * t)")
SQUARED = Function("scaled square", ("C", "t"), _squared, "mx.square(C / (C * t) - 1)")
SCALED_QUOTIENT = Function("scaled quotient", ("C", "a", "b"), _scaled_quotient, "(C * a) / (C * b)")

FUNCTIONS = (QUOTIENT, ARRAY_QUOTIENT, RECIPROCAL, IDENTITY, SQUARED, SCALED_QUOTIENT)
