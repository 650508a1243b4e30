"""What an entry of the table of operations says.

An entry says how the operation is evaluated on Arb balls, on Arb power series, on exact rationals and on mpmath
numbers, how large the terms are that add up in it, where it has no value, and how a cotangent is pulled back through
it, written in the operations themselves. The derivative rules are those of any calculus text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol


class Recorder(Protocol):
    """What a pullback needs of a program's builder."""

    def constant(self, value: Fraction | int) -> int:
        """An exact constant."""
        ...

    def apply(self, operation: str, *operands: int, parameter: int | None = None) -> int:
        """An operation on earlier nodes."""
        ...

    def given(self, index: int) -> bool:
        """Whether a node is an input or a constant."""
        ...


@dataclass(slots=True)
class Step:
    """One node during the reverse sweep: where to record, its operands, its own value, its cotangent.

    `position` is that of the operand whose cotangent is asked for.
    """

    record: Recorder
    operands: tuple[int, ...]
    value: int
    cotangent: int
    parameter: int
    position: int = 0

    def __call__(self, operation: str, *operands: int) -> int:
        """Record an operation."""
        return self.record.apply(operation, *operands)

    def number(self, value: Fraction | int) -> int:
        """Record a constant."""
        return self.record.constant(value)


Pull = Callable[[Step], int]


@dataclass(slots=True)
class Measure:
    """One node while sizes of terms are recorded: where, its operands, its own value, the sizes of its operands."""

    record: Recorder
    operands: tuple[int, ...]
    value: int
    sizes: tuple[int, ...]
    parameter: int

    def __call__(self, operation: str, *operands: int) -> int:
        """Record an operation."""
        return self.record.apply(operation, *operands)


Size = Callable[[Measure], int]


@dataclass(frozen=True)
class Operation:
    """One operation.

    Args:
        ball: Python expression on Arb balls, with ``{0}``, ``{1}`` ... for the operands, ``{all}`` for all of them
            with commas between, ``{n}`` for the parameter, and the names ``zero``, ``one``, ``two``; on power series
            too unless `series` is given.
        mp: the operation on mpmath numbers, called as ``mp(context, *operands[, parameter])``.
        pulls: for each operand, its cotangent from the node's own; None where nothing flows (a condition). Of a
            variadic operation one pull, which `Step.position` tells the operand it is for.
        series: expression on power series, where it differs from that on balls.
        rational: expression on exact rationals, None if the value need not be rational.
        outside: expression on balls, true only where the operation certainly has no value.
        size: the node that holds the size of the terms; None for first-order propagation through the derivative.
        fold: the operation on exact constants; its result may be None.
        neutral: for a position, the constant there that leaves the other operand as it is.
        commutative: whether the operands may be exchanged.
        odd: whether the sign of each operand is a sign of the result.
        logical: whether the result is a truth value.
        variadic: whether it takes any number of operands.
        factor: what a dot product multiplies the cotangent by, so that many such products become one dot product again.
    """

    ball: str
    mp: Callable[..., Any]
    pulls: tuple[Pull | None, ...]
    series: str | None = None
    rational: str | None = None
    outside: str | None = None
    size: Size | None = None
    fold: Callable[..., Fraction | None] | None = None
    neutral: Mapping[int, int] | None = None
    commutative: bool = False
    odd: bool = False
    logical: bool = False
    variadic: bool = False
    factor: Callable[[Step], int] | None = None

    def pull(self, position: int) -> Pull | None:
        """The pull of the operand at a position."""
        if self.variadic:
            return self.pulls[0]
        return self.pulls[position] if position < len(self.pulls) else None


def times(partial: Callable[[Step], int]) -> tuple[Pull, ...]:
    """The pull of a function of one argument: the cotangent times its derivative."""
    return (lambda s: s("multiply", s.cotangent, partial(s)),)
