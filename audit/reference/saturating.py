"""Functions that level off, on balls and power series alike, by exponentials that only ever underflow."""

from __future__ import annotations

from typing import TypeVar

from flint import arb, arb_series

Number = TypeVar("Number", arb, arb_series)


def first(x: arb | arb_series) -> arb:
    """The constant coefficient of a power series; a number is its own."""
    return x[0] if isinstance(x, arb_series) else x


def _one(x: Number) -> Number:
    return type(x)([1]) if isinstance(x, arb_series) else type(x)(1)


def sigmoid(x: Number) -> Number:
    """``1 / (1 + exp(-x))``."""
    if first(x) < 0:
        y = x.exp()
        return y / (_one(x) + y)
    return _one(x) / (_one(x) + (-x).exp())


def tanh(x: Number) -> Number:
    """``(exp(x) - exp(-x)) / (exp(x) + exp(-x))``."""
    if first(x) < 0:
        y = (x + x).exp()
        return (y - _one(x)) / (y + _one(x))
    y = (-x - x).exp()
    return (_one(x) - y) / (_one(x) + y)


def sech(x: Number) -> Number:
    """``2 / (exp(x) + exp(-x))``."""
    y = x.exp() if first(x) < 0 else (-x).exp()
    return (y + y) / (_one(x) + y * y)
