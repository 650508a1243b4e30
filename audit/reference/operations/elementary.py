"""Roots, exponentials, logarithms, circular and hyperbolic functions and their like."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from audit.reference.operations.entry import Operation, Pull, Step, times


def _over(denominator: Callable[[Step], int]) -> tuple[Pull, ...]:
    """The pull of a function of one argument whose derivative is the reciprocal of this."""
    return (lambda s: s("divide", s.cotangent, denominator(s)),)


def _one_plus(s: Step, node: int) -> int:
    return s("add", s.number(1), node)


def _one_minus(s: Step, node: int) -> int:
    return s("subtract", s.number(1), node)


def _squared(s: Step) -> int:
    return s("square", s.operands[0])


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
    "exp": Operation("{0}.exp()", lambda context, x: context.exp(x), times(lambda s: s.value)),
    "expm1": Operation(
        "{0}.expm1()", lambda context, x: context.expm1(x), times(lambda s: s("exp", s.operands[0])),
        series="{0}.exp() - one",
    ),
    "log": Operation(
        "{0}.log()", lambda context, x: context.log(x), _over(lambda s: s.operands[0]), outside="{0} <= 0"
    ),
    "log1p": Operation(
        "{0}.log1p()", lambda context, x: context.log1p(x), _over(lambda s: _one_plus(s, s.operands[0])),
        series="(one + {0}).log()", outside="{0} <= -1",
    ),
    "sin": Operation("{0}.sin()", lambda context, x: context.sin(x), times(lambda s: s("cos", s.operands[0]))),
    "cos": Operation(
        "{0}.cos()", lambda context, x: context.cos(x), times(lambda s: s("negative", s("sin", s.operands[0])))
    ),
    "tan": Operation(
        "{0}.tan()", lambda context, x: context.tan(x), times(lambda s: _one_plus(s, s("square", s.value)))
    ),
    "sinh": Operation(
        "{0}.sinh()", lambda context, x: context.sinh(x), times(lambda s: s("cosh", s.operands[0])),
        series="({0}.exp() - (-{0}).exp()) / two",
    ),
    "cosh": Operation(
        "{0}.cosh()", lambda context, x: context.cosh(x), times(lambda s: s("sinh", s.operands[0])),
        series="({0}.exp() + (-{0}).exp()) / two",
    ),
    # sech^2 rather than 1 - tanh^2, whose ball holds nothing but noise where tanh is near 1.
    "tanh": Operation(
        "{0}.tanh()", lambda context, x: context.tanh(x), times(lambda s: s("square", s("sech", s.operands[0]))),
        series="tanh({0})",
    ),
    "sech": Operation(
        "{0}.sech()", lambda context, x: context.sech(x),
        times(lambda s: s("negative", s("multiply", s.value, s("tanh", s.operands[0])))), series="sech({0})",
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
    # e^-x / (1 + e^-x)^2 is sech(x/2)^2 / 4, which nothing cancels in.
    "sigmoid": Operation(
        "sigmoid({0})", lambda context, x: 1 / (1 + context.exp(-x)),
        times(lambda s: s("square", s("divide", s("sech", s("divide", s.operands[0], s.number(2))), s.number(2)))),
    ),
    "erf": Operation(
        "{0}.erf()", lambda context, x: context.erf(x),
        times(lambda s: s("multiply", s("two_over_sqrt_pi"), s("exp", s("negative", _squared(s))))),
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
