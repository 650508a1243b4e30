"""Exponentials and what is made of them, on balls and power series alike, for arguments of any size.

Arb gives no number for exp(x) where x has more bits before its binary point than twice the working precision; here the
precision is raised by as many bits as x has, so that the result is a number with an enormous exponent. What levels off
is written with exponentials that only ever underflow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import flint
from flint import arb, arb_series

Number = TypeVar("Number", arb, arb_series)

# Comparing a ball with a ball is several times as fast as with an integer.
ZERO = arb(0)
# An argument with more bits before its point is not worth the precision that its exponential takes.
WIDEST = 2**14


def first(x: arb | arb_series) -> arb:
    """The constant coefficient of a power series; a number is its own."""
    return x[0] if isinstance(x, arb_series) else x


def one(x: Number) -> Number:
    """1, of the kind of the number."""
    return type(x)([1]) if isinstance(x, arb_series) else type(x)(1)


def bits(x: arb) -> int:
    """How many bits an exact number has before its binary point; of a small number, minus the zeros after it."""
    mantissa, exponent = x.man_exp()
    return int(exponent) + int(mantissa.bit_length())


def whole(x: arb) -> int:
    """The integer that a ball holds, the only one."""
    number = x.unique_fmpz()
    assert number is not None
    return int(number)


def widely(function: Callable[[arb], arb], x: arb) -> arb:
    """A function with the working precision raised by the bits that x has before its binary point."""
    if not x.is_finite() or not x.rad() < 1:
        return function(x)
    size = bits(x.abs_upper())
    if not 0 < size < WIDEST:
        return function(x)
    with flint.ctx.workprec(flint.ctx.prec + size + 8):
        return function(x)


def exp(x: Number) -> Number:
    """``exp(x)``, above zero for every x."""
    if isinstance(x, arb_series):
        powers = x.exp()
        return powers if powers[0] > ZERO else (x - x[0]).exp() * widely(arb.exp, x[0])
    y = x.exp()
    return y if y > ZERO else widely(arb.exp, x)


def exp2(x: Number) -> Number:
    """``2**x``, exact where x is a small integer."""
    if isinstance(x, arb) and x.is_integer() and abs(x) < 2**20:
        return arb((1, whole(x)))
    # The product is rounded: it needs the bits that its exponential loses.
    return widely(lambda y: exp(y * arb.const_log2()), x) if isinstance(x, arb) else exp(x * arb.const_log2())


def expm1(x: Number) -> Number:
    """``exp(x) - 1``, without cancellation for numbers."""
    if isinstance(x, arb_series):
        return exp(x) - one(x)
    y = x.expm1()
    return y if y.is_finite() else widely(arb.expm1, x)


def sinh(x: Number) -> Number:
    """``(exp(x) - exp(-x)) / 2``."""
    if isinstance(x, arb_series):
        return (exp(x) - exp(-x)) / arb_series([2])
    y = x.sinh()
    return y if y.is_finite() else widely(arb.sinh, x)


def cosh(x: Number) -> Number:
    """``(exp(x) + exp(-x)) / 2``."""
    if isinstance(x, arb_series):
        return (exp(x) + exp(-x)) / arb_series([2])
    y = x.cosh()
    return y if y.is_finite() else widely(arb.cosh, x)


def sigmoid(x: Number) -> Number:
    """``1 / (1 + exp(-x))``."""
    if first(x) < ZERO:
        y = exp(x)
        return y / (one(x) + y)
    return one(x) / (one(x) + exp(-x))


def tanh(x: Number) -> Number:
    """``(exp(x) - exp(-x)) / (exp(x) + exp(-x))``."""
    if first(x) < ZERO:
        y = exp(x + x)
        return (y - one(x)) / (y + one(x))
    y = exp(-x - x)
    return (one(x) - y) / (one(x) + y)


def sech(x: Number) -> Number:
    """``2 / (exp(x) + exp(-x))``."""
    y = exp(x) if first(x) < ZERO else exp(-x)
    return (y + y) / (one(x) + y * y)


def log1p(x: Number) -> Number:
    """``log(1 + x)``, without cancellation for numbers."""
    return (one(x) + x).log() if isinstance(x, arb_series) else x.log1p()


def logaddexp(x: Number, y: Number) -> Number:
    """``log(exp(x) + exp(y))``."""
    if first(x) < first(y):
        x, y = y, x
    return x + log1p(exp(y - x))


def erfc(x: Number) -> Number:
    """``1 - erf(x)``, above zero for every x."""
    if isinstance(x, arb_series):
        return x.erfc()
    y = x.erfc()
    return y if y > ZERO else widely(arb.erfc, x)


def erfinv(x: Number) -> Number:
    """The inverse of erf; of a series by Newton's iteration, which doubles the number of right coefficients."""
    if not isinstance(x, arb_series):
        # Arb's is infinite at the ends, where there is no number.
        return arb("nan") if abs(x) >= 1 else x.erfinv()
    v = x * 0 + x[0].erfinv()
    slope = arb.pi().sqrt() / 2
    for _ in range(flint.ctx.cap.bit_length()):
        v = v - (v.erf() - x) * (v * v).exp() * slope
    return v
