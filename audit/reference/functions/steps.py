"""Floor, ceiling, rounding and remainders: functions that jump, and the places where they do.

A ball that holds a jump and is no exact number decides nothing. What is called a slope is zero, except at a jump, where
there is none.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, fmpq

from audit.reference.evaluate import NoDerivative, Undecided

ZERO = arb(0)
HALF = arb(0.5)


def _certain(x: arb) -> arb:
    if x.is_exact() or not x.is_finite():
        return x
    raise Undecided


def floor(x: arb) -> arb:
    """The largest integer that is not above x."""
    return _certain(x.floor())


def ceil(x: arb) -> arb:
    """The smallest integer that is not below x."""
    return _certain(x.ceil())


def trunc(x: arb) -> arb:
    """The integer next to x towards zero."""
    if abs(x) < 1:
        return ZERO
    return floor(x) if x > 0 else ceil(x)


def nearest(x: arb) -> arb:
    """The nearest integer, the even one of two."""
    if x.is_integer():
        return x
    middle = x + HALF
    whole = floor(middle)
    return whole - 1 if middle.is_integer() and not (whole * HALF).is_integer() else whole


def _slope(jumps: Callable[[arb], bool]) -> Callable[[arb], arb]:
    def slope(x: arb) -> arb:
        if jumps(x):
            raise NoDerivative
        return ZERO

    return slope


def _at_integer(x: arb) -> bool:
    if not x.is_exact() and x.contains_integer():
        raise Undecided
    return x.is_integer()


def _at_middle(x: arb) -> bool:
    return _at_integer(x + HALF)


integer_slope = _slope(_at_integer)
trunc_slope = _slope(lambda x: not abs(x) < 1 and _at_integer(x))
nearest_slope = _slope(_at_middle)


def _divided(x: arb, y: arb) -> tuple[arb, arb]:
    """Floor of x / y and the remainder, which has the sign of y; exact for exact numbers."""
    if not (x.is_finite() and y.is_finite()) or y.is_zero():
        return arb("nan"), arb("nan")
    whole = (x / y).floor()
    if whole.is_exact() and (rest := x - whole * y).is_exact():
        return whole, rest
    if not (x.is_exact() and y.is_exact()):
        whole = _certain(whole)
        return whole, x - whole * y
    # In integers, however many digits the quotient has.
    (a, e), (b, f) = x.man_exp(), y.man_exp()
    low = min(int(e), int(f))
    quotient, rest = divmod(int(a) << int(e) - low, int(b) << int(f) - low)
    return arb(quotient), arb((rest, low))


def floor_quotient(x: arb, y: arb) -> arb:
    """``floor(x / y)``."""
    return _divided(x, y)[0]


def remainder(x: arb, y: arb) -> arb:
    """``x - y * floor(x / y)``."""
    return _divided(x, y)[1]


def quotient_slope(x: arb, y: arb) -> arb:
    """Zero; there is none where x / y is an integer."""
    rest = remainder(x, y)
    if rest.is_zero():
        raise NoDerivative
    if rest.contains(0):
        raise Undecided
    return ZERO


def rational_floor(x: fmpq) -> fmpq:
    """The largest integer that is not above x."""
    return fmpq(x.floor())


def rational_ceil(x: fmpq) -> fmpq:
    """The smallest integer that is not below x."""
    return fmpq(x.ceil())


def rational_trunc(x: fmpq) -> fmpq:
    """The integer next to x towards zero."""
    return rational_floor(x) if x > 0 else rational_ceil(x)


def rational_nearest(x: fmpq) -> fmpq:
    """The nearest integer, the even one of two."""
    middle = x + fmpq(1, 2)
    whole = middle.floor()
    return fmpq(whole - 1 if middle.denominator == 1 and whole % 2 else whole)


def rational_quotient(x: fmpq, y: fmpq) -> fmpq:
    """``floor(x / y)``."""
    return fmpq((x / y).floor())


def rational_remainder(x: fmpq, y: fmpq) -> fmpq:
    """``x - y * floor(x / y)``."""
    return x - y * (x / y).floor()


def _rational_slope(jumps: Callable[[fmpq], bool]) -> Callable[[fmpq], fmpq]:
    def slope(x: fmpq) -> fmpq:
        if jumps(x):
            raise NoDerivative
        return fmpq(0)

    return slope


rational_integer_slope = _rational_slope(lambda x: x.denominator == 1)
rational_trunc_slope = _rational_slope(lambda x: x.denominator == 1 and x != 0)
rational_nearest_slope = _rational_slope(lambda x: x.denominator == 2)


def rational_quotient_slope(x: fmpq, y: fmpq) -> fmpq:
    """Zero; there is none where x / y is an integer."""
    return rational_integer_slope(x / y)
