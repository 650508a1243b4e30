"""Functions of single elements that are made of other operations."""

from __future__ import annotations

from typing import Any


def greater(m: Any, x: Any, y: Any) -> Any:
    """Whether x > y."""
    return m.less(y, x)


def greater_equal(m: Any, x: Any, y: Any) -> Any:
    """Whether x >= y."""
    return m.less_equal(y, x)


def not_equal(m: Any, x: Any, y: Any) -> Any:
    """Whether x and y differ."""
    return m.logical_not(m.equal(x, y))


def logical_xor(m: Any, x: Any, y: Any) -> Any:
    """Whether one of two conditions holds and the other does not."""
    return m.logical_or(m.logical_and(x, m.logical_not(y)), m.logical_and(y, m.logical_not(x)))


def clip(m: Any, x: Any, low: Any = None, high: Any = None) -> Any:
    """x, or the limit that it is beyond; where the limits cross, the upper one."""
    if low is not None:
        x = m.maximum(x, low)
    return x if high is None else m.minimum(x, high)


def hypot(m: Any, x: Any, y: Any) -> Any:
    """``sqrt(x**2 + y**2)``."""
    return m.sqrt(m.add(m.square(x), m.square(y)))


def degrees(m: Any, x: Any) -> Any:
    """Radians as degrees."""
    return m.divide(m.multiply(x, 180), m.pi)


def radians(m: Any, x: Any) -> Any:
    """Degrees as radians."""
    return m.divide(m.multiply(x, m.pi), 180)


def softplus(m: Any, x: Any) -> Any:
    """``log(1 + exp(x))``."""
    return m.logaddexp(x, 0)


def log_sigmoid(m: Any, x: Any) -> Any:
    """``-log(1 + exp(-x))``."""
    return m.negative(m.logaddexp(m.negative(x), 0))


def normal_cdf(m: Any, x: Any) -> Any:
    """The distribution function of the normal distribution, which is never a difference of numbers near 1."""
    return m.divide(m.erfc(m.negative(m.divide(x, m.sqrt(2)))), 2)


ELEMENTWISE = {
    "greater": greater, "greater_equal": greater_equal, "not_equal": not_equal, "logical_xor": logical_xor,
    "clip": clip, "hypot": hypot, "degrees": degrees, "radians": radians, "softplus": softplus,
    "log_sigmoid": log_sigmoid, "normal_cdf": normal_cdf,
}  # fmt: skip
