"""The operations of the reference: one entry each, and adding an operation is adding one entry.

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


@dataclass(frozen=True)
class Step:
    """One node during the reverse sweep: where to record, its operands, its own value, its cotangent."""

    record: Recorder
    operands: tuple[int, ...]
    value: int
    cotangent: int
    parameter: int

    def __call__(self, operation: str, *operands: int) -> int:
        """Record an operation."""
        return self.record.apply(operation, *operands)

    def number(self, value: Fraction | int) -> int:
        """Record a constant."""
        return self.record.constant(value)


Pull = Callable[[Step], int]


@dataclass(frozen=True)
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
        ball: Python expression on Arb balls, with ``{0}``, ``{1}`` ... for the operands, ``{n}`` for the parameter,
            and the names ``zero``, ``one``, ``two``; on power series too unless `series` is given.
        mp: the operation on mpmath numbers, called as ``mp(context, *operands[, parameter])``.
        pulls: for each operand, its cotangent from the node's own; None where nothing flows (a condition).
        series: expression on power series, where it differs from that on balls.
        rational: expression on exact rationals, None if the value need not be rational.
        outside: expression on balls, true only where the operation certainly has no value.
        size: the node that holds the size of the terms; None for first-order propagation through the derivative.
        fold: the operation on exact constants; its result may be None.
        neutral: for a position, the constant there that leaves the other operand as it is.
        commutative: whether the operands may be exchanged.
        odd: whether the sign of each operand is a sign of the result.
        logical: whether the result is a truth value.
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


def _total(z: Measure) -> int:
    return z("add", *z.sizes)


def _larger(z: Measure) -> int:
    return z("maximum", *z.sizes)


def _same(z: Measure) -> int:
    return z.sizes[0]


def _own(z: Measure) -> int:
    return z("abs", z.value)


def _inverse(z: Measure) -> int:
    return z("divide", z.sizes[0], z("square", z.operands[0]))


def _magnitude(x: Fraction) -> Fraction:
    return abs(x)


def _quotient(x: Fraction, y: Fraction) -> Fraction | None:
    return x / y if y else None


def _integer_power(x: Fraction, n: int) -> Fraction | None:
    return x**n if x or n >= 0 else None


def _pull_integer_power(s: Step) -> int:
    (x,), n = s.operands, s.parameter
    if n == 0:
        return s.number(0)
    lower = s.record.apply("integer_power", x, parameter=n - 1) if n != 1 else s.number(1)
    return s("multiply", s.cotangent, s("multiply", s.number(n), lower))


def _times(partial: Callable[[Step], int]) -> tuple[Pull, ...]:
    """The pull of a function of one argument: the cotangent times its derivative."""
    return (lambda s: s("multiply", s.cotangent, partial(s)),)


def _over(denominator: Callable[[Step], int]) -> tuple[Pull, ...]:
    """The pull of a function of one argument whose derivative is the reciprocal of this."""
    return (lambda s: s("divide", s.cotangent, denominator(s)),)


def _one_plus(s: Step, node: int) -> int:
    return s("add", s.number(1), node)


def _one_minus(s: Step, node: int) -> int:
    return s("subtract", s.number(1), node)


def _squared(s: Step) -> int:
    return s("square", s.operands[0])


ARITHMETIC = {
    "add": Operation(
        "{0} + {1}", lambda _, x, y: x + y, (lambda s: s.cotangent, lambda s: s.cotangent),
        rational="{0} + {1}", size=_total, fold=lambda x, y: x + y, neutral={0: 0, 1: 0}, commutative=True,
    ),
    "subtract": Operation(
        "{0} - {1}", lambda _, x, y: x - y, (lambda s: s.cotangent, lambda s: s("negative", s.cotangent)),
        rational="{0} - {1}", size=_total, fold=lambda x, y: x - y, neutral={1: 0},
    ),
    "multiply": Operation(
        "{0} * {1}", lambda _, x, y: x * y,
        (lambda s: s("multiply", s.cotangent, s.operands[1]), lambda s: s("multiply", s.cotangent, s.operands[0])),
        rational="{0} * {1}", size=lambda z: z("multiply", *z.sizes),
        fold=lambda x, y: x * y, neutral={0: 1, 1: 1}, commutative=True, odd=True,
    ),
    "divide": Operation(
        "{0} / {1}", lambda _, x, y: x / y,
        (
            lambda s: s("divide", s.cotangent, s.operands[1]),
            # The quotient is also the numerator's cotangent, so that the two share it.
            lambda s: s("negative", s("multiply", s("divide", s.cotangent, s.operands[1]), s.value)),
        ),
        rational="{0} / {1}", outside="{1}.is_zero()",
        size=lambda z: z("divide", z("multiply", *z.sizes), z("square", z.operands[1])),
        fold=_quotient, neutral={1: 1}, odd=True,
    ),
    "negative": Operation(
        "-{0}", lambda _, x: -x, (lambda s: s("negative", s.cotangent),),
        rational="-{0}", size=_same, fold=lambda x: -x, odd=True,
    ),
    "square": Operation(
        "{0} * {0}", lambda _, x: x * x,
        _times(lambda s: s("multiply", s.number(2), s.operands[0])),
        rational="{0} * {0}", size=lambda z: z("square", z.sizes[0]), fold=lambda x: x * x,
    ),
    "reciprocal": Operation(
        "one / {0}", lambda _, x: 1 / x,
        (lambda s: s("negative", s("multiply", s.cotangent, s("square", s.value))),),
        rational="1 / {0}", outside="{0}.is_zero()", size=_inverse,
        fold=lambda x: _quotient(Fraction(1), x),
    ),
    "integer_power": Operation(
        "{0} ** {n}", lambda _, x, n: x**n, (_pull_integer_power,),
        rational="{0} ** {n}", outside="{n} < 0 and {0}.is_zero()",
        size=lambda z: z.record.apply(
            "integer_power", z.sizes[0] if z.parameter >= 0 else _inverse(z), parameter=abs(z.parameter)
        ),
        fold=_integer_power,
    ),
}  # fmt: skip

CHOICE = {
    # 1 where x > y, 0 where x < y; at x = y there is no derivative, which is what this is used for.
    "exceeds": Operation(
        "exceeds({0}, {1})", lambda _, x, y: int(x > y),
        (lambda s: s("multiply", s.cotangent, s("flat", *s.operands)),) * 2,
        series="exceeds(first({0}), first({1}))", rational="exceeds({0}, {1})", size=_own,
    ),
    # 0, the derivative of `exceeds` and `sign`, except at x = y, where it has no value.
    "flat": Operation(
        "flat({0}, {1})", lambda _, x, y: 0 * x,  # noqa: ARG005
        (lambda s: s("multiply", s.cotangent, s("flat", *s.operands)),) * 2,
        series="flat(first({0}), first({1}))", rational="flat({0}, {1})", size=_own,
    ),
    "abs": Operation(
        "abs({0})", lambda _, x: abs(x),
        _times(lambda s: s("subtract", s("exceeds", s.operands[0], s.number(0)),
                           s("exceeds", s.number(0), s.operands[0]))),
        series="{0} * side(first({0}))", rational="abs({0})", size=_same, fold=_magnitude,
    ),
    "sign": Operation(
        "{0}.sgn()", lambda context, x: context.sign(x), _times(lambda s: s("flat", s.operands[0], s.number(0))),
        series="{0} * 0 + side(first({0}))", rational="sign({0})", size=_own,
    ),
    "maximum": Operation(
        "{0}.max({1})", lambda _, x, y: max(x, y),
        (
            lambda s: s("multiply", s.cotangent, s("exceeds", s.operands[0], s.operands[1])),
            lambda s: s("multiply", s.cotangent, s("exceeds", s.operands[1], s.operands[0])),
        ),
        series="{0} if exceeds(first({0}), first({1})) else {1}", rational="max({0}, {1})", size=_larger,
        fold=max, commutative=True,
    ),
    "minimum": Operation(
        "{0}.min({1})", lambda _, x, y: min(x, y),
        (
            lambda s: s("multiply", s.cotangent, s("exceeds", s.operands[1], s.operands[0])),
            lambda s: s("multiply", s.cotangent, s("exceeds", s.operands[0], s.operands[1])),
        ),
        series="{1} if exceeds(first({0}), first({1})) else {0}", rational="min({0}, {1})", size=_larger,
        fold=min, commutative=True,
    ),
    "less": Operation(
        "less({0}, {1})", lambda _, x, y: x < y, (None, None),
        series="less(first({0}), first({1}))", rational="{0} < {1}", size=_own, logical=True,
    ),
    "less_equal": Operation(
        "not less({1}, {0})", lambda _, x, y: x <= y, (None, None),
        series="not less(first({1}), first({0}))", rational="{0} <= {1}", size=_own, logical=True,
    ),
    "equal": Operation(
        "equal({0}, {1})", lambda _, x, y: x == y, (None, None),
        series="equal(first({0}), first({1}))", rational="{0} == {1}", size=_own, commutative=True, logical=True,
    ),
    "select": Operation(
        "{1} if {0} else {2}", lambda _, c, x, y: x if c else y,
        (
            None,
            lambda s: s("select", s.operands[0], s.cotangent, s.number(0)),
            lambda s: s("select", s.operands[0], s.number(0), s.cotangent),
        ),
        rational="{1} if {0} else {2}", size=lambda z: z("select", z.operands[0], *z.sizes[1:]),
    ),
    # y, unless x is exactly zero: a cotangent of zero from a branch not taken stays zero whatever that branch does.
    "gate": Operation(
        "zero if {0}.is_zero() else {1}", lambda _, x, y: y if x else 0 * y,
        (None, lambda s: s("gate", s.operands[0], s.cotangent)),
        rational="{1} if {0} else {0}", size=lambda z: z("gate", z.operands[0], z.sizes[1]),
    ),
}  # fmt: skip

ELEMENTARY = {
    "sqrt": Operation(
        "{0}.sqrt()", lambda context, x: context.sqrt(x),
        _over(lambda s: s("multiply", s.number(2), s.value)), outside="{0} < 0",
    ),
    "rsqrt": Operation(
        "{0}.rsqrt()", lambda context, x: 1 / context.sqrt(x),
        (lambda s: s("divide", s("multiply", s("multiply", s.number(Fraction(-1, 2)), s.cotangent), s.value),
                     s.operands[0]),),
        outside="{0} <= 0",
    ),
    "exp": Operation("{0}.exp()", lambda context, x: context.exp(x), _times(lambda s: s.value)),
    "expm1": Operation(
        "{0}.expm1()", lambda context, x: context.expm1(x), _times(lambda s: s("exp", s.operands[0])),
        series="{0}.exp() - one",
    ),
    "log": Operation(
        "{0}.log()", lambda context, x: context.log(x), _over(lambda s: s.operands[0]), outside="{0} <= 0"
    ),
    "log1p": Operation(
        "{0}.log1p()", lambda context, x: context.log1p(x), _over(lambda s: _one_plus(s, s.operands[0])),
        series="(one + {0}).log()", outside="{0} <= -1",
    ),
    "sin": Operation("{0}.sin()", lambda context, x: context.sin(x), _times(lambda s: s("cos", s.operands[0]))),
    "cos": Operation(
        "{0}.cos()", lambda context, x: context.cos(x), _times(lambda s: s("negative", s("sin", s.operands[0])))
    ),
    "tan": Operation(
        "{0}.tan()", lambda context, x: context.tan(x), _times(lambda s: _one_plus(s, s("square", s.value)))
    ),
    "sinh": Operation(
        "{0}.sinh()", lambda context, x: context.sinh(x), _times(lambda s: s("cosh", s.operands[0])),
        series="({0}.exp() - (-{0}).exp()) / two",
    ),
    "cosh": Operation(
        "{0}.cosh()", lambda context, x: context.cosh(x), _times(lambda s: s("sinh", s.operands[0])),
        series="({0}.exp() + (-{0}).exp()) / two",
    ),
    # 1 / cosh^2 rather than 1 - tanh^2, whose ball holds nothing but noise where tanh is near 1.
    "tanh": Operation(
        "{0}.tanh()", lambda context, x: context.tanh(x), _over(lambda s: s("square", s("cosh", s.operands[0]))),
        series="one - two / (({0} + {0}).exp() + one)",
    ),
    "arcsin": Operation(
        "{0}.asin()", lambda context, x: context.asin(x), _over(lambda s: s("sqrt", _one_minus(s, _squared(s)))),
        outside="abs({0}) > 1",
    ),
    "arccos": Operation(
        "{0}.acos()", lambda context, x: context.acos(x),
        _over(lambda s: s("negative", s("sqrt", _one_minus(s, _squared(s))))), outside="abs({0}) > 1",
    ),
    "arctan": Operation(
        "{0}.atan()", lambda context, x: context.atan(x), _over(lambda s: _one_plus(s, _squared(s)))
    ),
    "arcsinh": Operation(
        "{0}.asinh()", lambda context, x: context.asinh(x), _over(lambda s: s("sqrt", _one_plus(s, _squared(s)))),
        series="({0} + (one + {0} * {0}).sqrt()).log()",
    ),
    "arccosh": Operation(
        "{0}.acosh()", lambda context, x: context.acosh(x),
        _over(lambda s: s("sqrt", s("subtract", _squared(s), s.number(1)))),
        series="({0} + ({0} * {0} - one).sqrt()).log()", outside="{0} < 1",
    ),
    "arctanh": Operation(
        "{0}.atanh()", lambda context, x: context.atanh(x), _over(lambda s: _one_minus(s, _squared(s))),
        series="((one + {0}) / (one - {0})).log() / two", outside="abs({0}) >= 1",
    ),
    # The derivative is e^-x / (1 + e^-x)^2 = 1 / (2 + e^x + e^-x), which nothing cancels in.
    "sigmoid": Operation(
        "one / (one + (-{0}).exp())", lambda context, x: 1 / (1 + context.exp(-x)),
        _over(lambda s: s("add", s.number(2), s("multiply", s.number(2), s("cosh", s.operands[0])))),
    ),
    "erf": Operation(
        "{0}.erf()", lambda context, x: context.erf(x),
        _times(lambda s: s("multiply", s("two_over_sqrt_pi"), s("exp", s("negative", _squared(s))))),
    ),
    "two_over_sqrt_pi": Operation("2 / pi().sqrt()", lambda context: 2 / context.sqrt(context.pi), ()),
    # x**y for positive x; an integer exponent known beforehand is `integer_power`.
    "power": Operation(
        "{0} ** {1}", lambda context, x, y: context.power(x, y),
        (
            lambda s: s("multiply", s.cotangent, s("multiply", s.operands[1],
                        s("power", s.operands[0], s("subtract", s.operands[1], s.number(1))))),
            lambda s: s("multiply", s.cotangent, s("multiply", s.value, s("log", s.operands[0]))),
        ),
        series="({0}.log() * {1}).exp()", outside="{0} < 0",
    ),
}  # fmt: skip

OPERATIONS: dict[str, Operation] = {**ARITHMETIC, **CHOICE, **ELEMENTARY}
