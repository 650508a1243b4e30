"""Programs of + - * / and integer powers on exact rationals.

Balls contain zero for ever where a function is identically zero; exact rationals know that it is. Inputs are numbers of
a binary format, hence rationals.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb, fmpq

from audit.formats import Floats
from audit.reference.evaluate import Column, Dialect, NoDerivative, dot, evaluate, total
from audit.reference.functions import RATIONAL_FUNCTIONS
from audit.reference.program import Program


def from_floats(x: Floats) -> list[fmpq]:
    """The exact rationals that float64 numbers are."""
    return [fmpq(*value.as_integer_ratio()) for value in x.tolist()]


def _above(x: fmpq, y: fmpq) -> bool:
    if x == y:
        raise NoDerivative
    return x > y


def _exceeds(x: fmpq, y: fmpq) -> fmpq:
    return fmpq(1) if _above(x, y) else fmpq(0)


def _apart(x: fmpq, y: fmpq) -> bool:
    _above(x, y)
    return False


def _flat(x: fmpq, y: fmpq) -> fmpq:
    return _exceeds(x, y) * 0


def _sign(x: fmpq) -> fmpq:
    return fmpq((x > 0) - (x < 0))


RATIONALS = Dialect(
    name="rational",
    scope={
        **RATIONAL_FUNCTIONS,
        "above": _above,
        "apart": _apart,
        "exceeds": _exceeds,
        "flat": _flat,
        "sign": _sign,
        "total": total,
        "dot": dot,
    },
    constant=lambda value: fmpq(value.numerator, value.denominator),
    failed=None,
    failures=(ZeroDivisionError, NoDerivative),
)


def values(program: Program, inputs: Sequence[Column]) -> list[list[fmpq | None]]:
    """Exact results of a rational program at many points, one list per result; None at a point that has no value."""
    return evaluate(program, RATIONALS, inputs)


def to_ball(x: fmpq) -> arb:
    """The rational as a ball at the precision of the moment, exact if it is a short enough dyadic number."""
    return arb(x)


def to_fraction(x: fmpq) -> Fraction:
    """The rational as a Python fraction."""
    return Fraction(int(x.numerator), int(x.denominator))
