"""Real powers x**y and their partial derivatives of every order, for every x and y that have them.

For positive x this is exp(y log x). A negative x has the powers whose exponents are integers, and none of their
derivatives along y. At zero, positive powers are zero, and so are their derivatives as long as the exponent that is
left is positive; a power of zero is 1.
"""

from __future__ import annotations

from math import comb, factorial
from typing import Any

import flint
from flint import arb, arb_series

from audit.reference.functions.saturating import WIDEST, ZERO, bits, exp, first, whole

# A ball or a power series; both operands are of the same kind.
Number = Any

NAN = arb("nan")
# A partial derivative's parameter is this times its order along y, plus its order along x.
ALONG_Y = 64
# Integer powers of series are products; beyond this, too many.
LARGEST_INTEGER = 2**20


def power(x: Number, y: Number) -> Number:
    """``x**y``."""
    return power_partial(x, y, 0)


def power_partial(x: Number, y: Number, parameter: int) -> Number:
    """The partial derivative of x**y: ``parameter // 64`` times along y, ``parameter % 64`` times along x."""
    if first(x) > ZERO:
        return _positive(x, y, *divmod(parameter, ALONG_Y))
    j, k = divmod(parameter, ALONG_Y)
    if isinstance(x, arb_series):
        if parameter:
            raise ValueError("a series of a derivative of a power needs a positive base")
        return _series(x, y)
    if x.is_zero():
        return _at_zero(y, j, k)
    if x < 0 and not j and y.is_integer():
        return _falling(y, k, 0) * _whole_power(x, y - k)
    return NAN


def outside(x: arb, y: arb, parameter: int) -> bool:
    """Whether x**y, or this derivative of it, certainly does not exist."""
    j, k = divmod(parameter, ALONG_Y)
    if x.is_zero():
        polynomial = not j and y.is_integer() and 0 <= y <= k
        return not polynomial and (y <= k)
    return x < 0 and (j > 0 or not y.contains_integer())


def _positive(x: Number, y: Number, j: int, k: int) -> Number:
    if not j and k < 2:
        return y * _plain_power(x, y - 1) if k else _plain_power(x, y)
    terms = [(comb(j, i), _falling(y, k, i), j - i) for i in range(j + 1)]
    terms = [term for term in terms if not (isinstance(term[1], arb) and term[1].is_zero())]
    if not terms:
        return y * 0
    factor = _term(x, *terms[0])
    for term in terms[1:]:
        factor = factor + _term(x, *term)
    return factor * _plain_power(x, y - k)


def _term(x: Number, count: int, falling: Number, logs: int) -> Number:
    return falling * count * x.log() ** logs if logs else falling * count


def _plain_power(x: Number, y: Number) -> Number:
    """``x**y`` of positive x."""
    if isinstance(x, arb_series):
        return exp(x.log() * y)
    value = x**y
    if (value > ZERO and value.is_finite()) or not (x.is_exact() and y.is_exact()):
        return value
    # The logarithm is made with the bits that the exponential loses.
    size = (y * x.log()).abs_upper()
    if not size.is_finite() or not 0 < bits(size) < WIDEST:
        return value
    with flint.ctx.workprec(flint.ctx.prec + bits(size) + 8):
        return (y * x.log()).exp()


def _whole_power(x: arb, n: arb) -> arb:
    """A negative number to the power of an integer."""
    size = _plain_power(-x, n)
    return size if (n / 2).is_integer() else -size


def _at_zero(y: arb, j: int, k: int) -> arb:
    if not j and y.is_integer() and 0 <= y <= k:
        return arb(factorial(k) if y == k else 0)
    return arb(0) if y > k else NAN


def _series(x: arb_series, y: arb_series) -> arb_series:
    """The power of a series whose constant coefficient is not positive."""
    base, exponent = x[0], y[0]
    if exponent.is_integer() and all(c.is_zero() for c in y.coeffs()[1:]):
        if abs(exponent) < LARGEST_INTEGER:
            n = whole(exponent)
            return x**n if n >= 0 else (x**-n).inv()
        if base < 0:
            size = exp((-x).log() * exponent)
            return size if (exponent / 2).is_integer() else -size
    if base.is_zero() and exponent > 0:
        # Of smaller order than any power of t below the exponent; nothing at all if the base rests at zero.
        if all(c.is_zero() for c in x.coeffs()):
            return x
        order = range(flint.ctx.cap)
        return arb_series([0 if k < exponent else x[1] ** k if exponent == k else NAN for k in order])
    raise ValueError("a power of a series has a positive base or an integer exponent")


def _falling(y: Number, k: int, times: int) -> Number:
    """``y (y - 1) ... (y - k + 1)`` differentiated so many times."""
    coefficients = [1]
    for root in range(k):
        shifted = [0, *coefficients]
        coefficients = [s - root * c for s, c in zip(shifted, [*coefficients, 0], strict=True)]
    for _ in range(times):
        coefficients = [n * c for n, c in enumerate(coefficients)][1:]
    total = y * 0
    for c in reversed(coefficients):
        total = total * y + c
    return total
