"""Programs on Arb balls: certified values at a given precision, and what it means where there is none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction

import flint
from flint import arb, fmpq

from audit.formats import Floats
from audit.reference.evaluate import Column, Dialect, NoDerivative, Undecided, dot, evaluate, operator, total
from audit.reference.functions import FUNCTIONS
from audit.reference.operations import OPERATIONS
from audit.reference.program import CONSTANT, INPUT, Program

NAN = arb("nan")
ZERO = arb(0)
ONE = arb(1)


def precision(bits: int) -> AbstractContextManager[object]:
    """A context in which Arb works at this many bits."""
    return flint.ctx.workprec(bits)


def from_floats(x: Floats) -> list[arb]:
    """Exact balls of float64 numbers."""
    if len(x) and (x == x[0]).all():
        return [arb(float(x[0]))] * len(x)
    return list(map(arb, x.tolist()))


def less(x: arb, y: arb) -> bool:
    """Whether x < y.

    Raises:
        Undecided: the balls overlap.
    """
    if x < y:
        return True
    if x >= y:
        return False
    raise Undecided


def equal(x: arb, y: arb) -> bool:
    """Whether x = y.

    Raises:
        Undecided: the balls overlap and are not both exact.
    """
    if x == y:
        return True
    if x != y:
        return False
    raise Undecided


def above(x: arb, y: arb) -> bool:
    """Whether x > y, where they differ.

    Raises:
        NoDerivative: x = y exactly.
        Undecided: the balls overlap.
    """
    if x > y:
        return True
    if x < y:
        return False
    raise NoDerivative if x == y else Undecided


def exceeds(x: arb, y: arb) -> arb:
    """1 where x > y, 0 where x < y; raises as `above` does."""
    return ONE if above(x, y) else ZERO


def apart(x: arb, y: arb) -> bool:
    """False, the answer to whether two numbers are equal that differ; raises as `above` does."""
    above(x, y)
    return False


def flat(x: arb, y: arb) -> arb:
    """0 where x and y differ; raises as `above` does otherwise."""
    above(x, y)
    return ZERO


def side(x: arb) -> arb:
    """1 where x > 0, -1 where x < 0; raises as `above` does otherwise."""
    return ONE if above(x, ZERO) else -ONE


def constant(value: Fraction) -> arb:
    """An exact constant, rounded outwards at the precision of the moment."""
    return arb(fmpq(value.numerator, value.denominator))


BALLS = Dialect(
    name="balls",
    scope={
        **FUNCTIONS, "above": above, "apart": apart, "exceeds": exceeds, "flat": flat, "less": less, "equal": equal,
        "zero": ZERO, "one": ONE, "two": arb(2), "total": total, "dot": dot,
    },
    constant=constant,
    failed=NAN,
    failures=(Undecided, NoDerivative),
)  # fmt: skip


def values(program: Program, inputs: Sequence[Column]) -> list[list[arb]]:
    """Enclosures of the program's results at many points, one list per result.

    A result that could not be enclosed at the precision of the moment is not finite.
    """
    return evaluate(program, BALLS, inputs)


def undefined(program: Program, point: Iterable[arb]) -> bool:
    """Whether a result certainly does not exist at this point: an operation that it needs has no value there.

    A denominator that is exactly zero, a logarithm of what is certainly not positive, a kink met exactly. A ball that
    merely contains such a place decides nothing.
    """
    given = iter(point)
    found: list[arb] = []
    # What is known of each node: None if it has a value, otherwise whether it certainly has none.
    missing: list[bool | None] = []
    for operation, operands, parameter in program.nodes:
        if operation == INPUT:
            value, lack = next(given), None
        elif operation == CONSTANT:
            assert isinstance(parameter, Fraction)
            value, lack = constant(parameter), None
        else:
            needed = _needed(operation, operands, found, missing)
            lacks = [missing[operand] for operand in needed if missing[operand] is not None]
            value = NAN
            if lacks:
                lack = any(lacks)
            else:
                value, lack = _attempt(operation, [found[operand] for operand in operands], parameter)
        found.append(value)
        missing.append(lack)
    return any(missing[output] is True for output in program.outputs)


def _needed(operation: str, operands: tuple[int, ...], found: list[arb], missing: list[bool | None]) -> tuple[int, ...]:
    """The operands that matter: the branch taken, and none behind a closed gate."""
    if operation in ("select", "gate") and missing[operands[0]] is not None:
        return operands[:1]
    if operation == "select":
        return (operands[1] if found[operands[0]] else operands[2],)
    if operation == "gate" and found[operands[0]].is_zero():
        return operands[:1]
    return operands


def _attempt(operation: str, operands: list[arb], parameter: object) -> tuple[arb, bool | None]:
    entry = OPERATIONS[operation]
    try:
        value = operator(BALLS, entry.ball, len(operands), parameter)(*operands)
    except NoDerivative:
        return NAN, True
    except Undecided:
        return NAN, False
    if entry.logical or value.is_finite():
        return value, None
    outside = entry.outside is not None and operator(BALLS, entry.outside, len(operands), parameter)(*operands)
    return value, bool(outside)
