"""What mpmath is asked where its own function is not the one that is meant, or has a cut."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

# Beyond this, a function of a fractional part takes back what any step of a difference adds.
LARGEST = 2**64
# Beyond this precision mpmath's error function takes long.
COSTLY_BITS = 4096


class NoOpinion(Exception):
    """A point of which a difference says nothing: on a branch cut, or with thousands of jumps beside it."""


def cut_below(x: Any, end: int = 0) -> Any:
    """The number, unless it is complex and on the real axis below the end of a cut.

    Raises:
        NoOpinion: it is.
    """
    if hasattr(x, "_mpc_") and not x.imag and x.real < end:
        raise NoOpinion
    return x


def cut_outside(x: Any) -> Any:
    """The number, unless it is complex and on the real axis beyond 1 or -1; raises as `cut_below` does."""
    if hasattr(x, "_mpc_") and not x.imag and abs(x.real) > 1:
        raise NoOpinion
    return x


def cut_beside(x: Any) -> Any:
    """The number, unless it is complex and on the imaginary axis beyond i or -i; raises as `cut_below` does."""
    if hasattr(x, "_mpc_") and not x.real and abs(x.imag) > 1:
        raise NoOpinion
    return x


def fractional(x: Any) -> Any:
    """The number, unless a difference at it goes over whole numbers; raises `NoOpinion` then."""
    if abs(x) > LARGEST:
        raise NoOpinion
    return x


def erf(context: Any, x: Any) -> Any:
    """The error function; raises `NoOpinion` where mpmath takes seconds for thousands of digits next to 1."""
    if context.prec > COSTLY_BITS and abs(x) > 4:
        raise NoOpinion
    return context.erf(x)


def quotient(context: Any, x: Any, y: Any) -> Any:
    """``x / y``, no number where y is zero: a selection may leave it out."""
    return x / y if y else context.nan


def arctan2(context: Any, y: Any, x: Any) -> Any:
    """The angle of the point (x, y); raises `NoOpinion` on the negative axis of x."""
    if not y and x < 0:
        raise NoOpinion
    return context.atan2(y, x)


def logaddexp(context: Any, x: Any, y: Any) -> Any:
    """``log(exp(x) + exp(y))``."""
    if hasattr(x, "_mpc_") or hasattr(y, "_mpc_"):
        return context.log(context.exp(x) + context.exp(y))
    return max(x, y) + context.log1p(context.exp(-abs(x - y)))


def power(context: Any, x: Any, y: Any) -> Any:
    """``x**y``, no number where zero has no such power.

    Raises:
        NoOpinion: a negative number has no such power, beside a zero that has.
    """
    if not hasattr(x, "_mpc_") and x < 0 and y != context.floor(y):
        raise NoOpinion
    if not x:
        return context.mpf(not y) if y >= 0 else context.nan
    return context.power(x, y)


def before(x: Any, y: Any) -> bool:
    """Whether x < y; complex numbers by real parts, and by imaginary ones where those are equal."""
    if hasattr(x, "_mpc_") or hasattr(y, "_mpc_"):
        return (x.real, x.imag) < (y.real, y.imag)
    return bool(x < y)


def cos_pi(x: Fraction) -> Fraction | None:
    """``cos(pi x)`` where that is rational, None otherwise."""
    turn = x % 2
    known = {0: 1, 1: -1, Fraction(1, 2): 0, Fraction(3, 2): 0}
    halves = {Fraction(1, 3): 1, Fraction(5, 3): 1, Fraction(2, 3): -1, Fraction(4, 3): -1}
    if turn in known:
        return Fraction(known[turn])
    return Fraction(halves[turn], 2) if turn in halves else None
