"""Roots, exponentials, logarithms, circular and hyperbolic functions and their like."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from audit.reference.operations.entry import Operation, Pull, Step, times
from audit.reference.operations.opinions import (
    arctan2,
    cos_pi,
    cut_below,
    cut_beside,
    cut_outside,
    erf,
    fractional,
    logaddexp,
    quotient,
)


def _over(denominator: Callable[[Step], int]) -> tuple[Pull, ...]:
    """The pull of a function of one argument whose derivative is the reciprocal of this."""
    return (lambda s: s("divide", s.cotangent, denominator(s)),)


def _one_plus(s: Step, node: int) -> int:
    return s("add", s.number(1), node)


def _one_minus(s: Step, node: int) -> int:
    return s("subtract", s.number(1), node)


def _squared(s: Step) -> int:
    return s("square", s.operands[0])


def _norm(s: Step) -> int:
    return s("add", s("square", s.operands[0]), s("square", s.operands[1]))


ELEMENTARY = {
    "sqrt": Operation(
        "{0}.sqrt()", lambda context, x: context.sqrt(cut_below(x)),
        _over(lambda s: s("multiply", s.number(2), s.value)), outside="{0} < 0",
    ),
    "rsqrt": Operation(
        "{0}.rsqrt()", lambda context, x: quotient(context, 1, context.sqrt(cut_below(x))),
        (lambda s: s("divide", s("multiply", s("multiply", s.number(Fraction(-1, 2)), s.cotangent), s.value),
                     s.operands[0]),),
        outside="{0} <= 0",
    ),
    "exp": Operation("exp({0})", lambda context, x: context.exp(x), times(lambda s: s.value)),
    "exp2": Operation(
        "exp2({0})", lambda context, x: context.exp(x * context.ln2),
        times(lambda s: s("multiply", s.value, s("log_2"))),
    ),
    "expm1": Operation("expm1({0})", lambda context, x: context.expm1(x), times(lambda s: s("exp", s.operands[0]))),
    "log": Operation(
        "{0}.log()", lambda context, x: context.log(cut_below(x)), _over(lambda s: s.operands[0]), outside="{0} <= 0"
    ),
    "log2": Operation(
        "{0}.log() / log_2()", lambda context, x: context.log(cut_below(x)) / context.ln2,
        _over(lambda s: s("multiply", s.operands[0], s("log_2"))), outside="{0} <= 0",
    ),
    "log10": Operation(
        "{0}.log() / log_10()", lambda context, x: context.log(cut_below(x)) / context.ln10,
        _over(lambda s: s("multiply", s.operands[0], s("log_10"))), outside="{0} <= 0",
    ),
    "log1p": Operation(
        "log1p({0})", lambda context, x: context.log1p(cut_below(x, -1)),
        _over(lambda s: _one_plus(s, s.operands[0])), outside="{0} <= -1",
    ),
    # log(exp(x) + exp(y)), whose slope along x is that of the sigmoid of x - y.
    "logaddexp": Operation(
        "logaddexp({0}, {1})", logaddexp,
        (
            lambda s: s("multiply", s.cotangent, s("sigmoid", s("subtract", *s.operands))),
            lambda s: s("multiply", s.cotangent, s("sigmoid", s("subtract", *s.operands[::-1]))),
        ),
        commutative=True,
    ),
    "sin": Operation("{0}.sin()", lambda context, x: context.sin(x), times(lambda s: s("cos", s.operands[0]))),
    "cos": Operation(
        "{0}.cos()", lambda context, x: context.cos(x), times(lambda s: s("negative", s("sin", s.operands[0])))
    ),
    "tan": Operation(
        "{0}.tan()", lambda context, x: context.tan(x), times(lambda s: _one_plus(s, s("square", s.value)))
    ),
    "sinh": Operation(
        "sinh({0})", lambda context, x: context.sinh(x), times(lambda s: s("cosh", s.operands[0])),
    ),
    "cosh": Operation(
        "cosh({0})", lambda context, x: context.cosh(x), times(lambda s: s("sinh", s.operands[0])),
    ),
    # sech^2 rather than 1 - tanh^2, whose ball holds nothing but noise where tanh is near 1.
    "tanh": Operation(
        "{0}.tanh()", lambda context, x: context.tanh(x), times(lambda s: s("square", s("sech", s.operands[0]))),
        series="tanh({0})",
    ),
    "sech": Operation(
        "sech({0})", lambda context, x: context.sech(x),
        times(lambda s: s("negative", s("multiply", s.value, s("tanh", s.operands[0])))),
    ),
    "arcsin": Operation(
        "{0}.asin()", lambda context, x: context.asin(cut_outside(x)),
        _over(lambda s: s("sqrt", _one_minus(s, _squared(s)))),
        outside="abs({0}) > 1",
    ),
    "arccos": Operation(
        "{0}.acos()", lambda context, x: context.acos(cut_outside(x)),
        _over(lambda s: s("negative", s("sqrt", _one_minus(s, _squared(s))))), outside="abs({0}) > 1",
    ),
    "arctan": Operation(
        "{0}.atan()", lambda context, x: context.atan(cut_beside(x)), _over(lambda s: _one_plus(s, _squared(s)))
    ),
    "arcsinh": Operation(
        "{0}.asinh()", lambda context, x: context.asinh(cut_beside(x)),
        _over(lambda s: s("sqrt", _one_plus(s, _squared(s)))),
        series="({0} + (one + {0} * {0}).sqrt()).log()",
    ),
    "arccosh": Operation(
        "{0}.acosh()", lambda context, x: context.acosh(cut_below(x, 1)),
        _over(lambda s: s("sqrt", s("subtract", _squared(s), s.number(1)))),
        series="({0} + ({0} * {0} - one).sqrt()).log()", outside="{0} < 1",
    ),
    "arctanh": Operation(
        "{0}.atanh()", lambda context, x: context.atanh(cut_outside(x)), _over(lambda s: _one_minus(s, _squared(s))),
        series="((one + {0}) / (one - {0})).log() / two", outside="abs({0}) >= 1",
    ),
    # e^-x / (1 + e^-x)^2 is sech(x/2)^2 / 4, which nothing cancels in.
    "sigmoid": Operation(
        "sigmoid({0})", lambda context, x: 1 / (1 + context.exp(-x)),
        times(lambda s: s("square", s("divide", s("sech", s("divide", s.operands[0], s.number(2))), s.number(2)))),
    ),
    "erf": Operation(
        "{0}.erf()", erf,
        times(lambda s: s("multiply", s("two_over_sqrt_pi"), s("exp", s("negative", _squared(s))))),
    ),
    "erfc": Operation(
        "erfc({0})", lambda context, x: context.erfc(x),
        times(lambda s: s("negative", s("multiply", s("two_over_sqrt_pi"), s("exp", s("negative", _squared(s)))))),
    ),
    "erfinv": Operation(
        "erfinv({0})", lambda context, x: context.erfinv(x),
        (lambda s: s("divide", s("multiply", s.cotangent, s("exp", s("square", s.value))), s("two_over_sqrt_pi")),),
        outside="abs({0}) >= 1",
    ),
    # sin(pi x) and cos(pi x): exact twiddles for exact fractions.
    "sin_pi": Operation(
        "{0}.sin_pi()", lambda context, x: context.sinpi(fractional(x)),
        times(lambda s: s("multiply", s("pi"), s("cos_pi", s.operands[0]))), fold=lambda x: cos_pi(Fraction(1, 2) - x),
    ),
    "cos_pi": Operation(
        "{0}.cos_pi()", lambda context, x: context.cospi(fractional(x)),
        times(lambda s: s("negative", s("multiply", s("pi"), s("sin_pi", s.operands[0])))), fold=cos_pi,
    ),
    # The angle of the point (x, y), called with y first.
    "arctan2": Operation(
        "arctan2({0}, {1})", arctan2,
        (
            lambda s: s("divide", s("multiply", s.cotangent, s.operands[1]), _norm(s)),
            lambda s: s("negative", s("divide", s("multiply", s.cotangent, s.operands[0]), _norm(s))),
        ),
    ),
    "pi": Operation("pi()", lambda context: +context.pi, ()),
    "e": Operation("e()", lambda context: +context.e, ()),
    "euler_gamma": Operation("euler()", lambda context: +context.euler, ()),
    "log_2": Operation("log_2()", lambda context: +context.ln2, ()),
    "log_10": Operation("log_10()", lambda context: +context.ln10, ()),
    "two_over_sqrt_pi": Operation("2 / pi().sqrt()", lambda context: 2 / context.sqrt(context.pi), ()),
}  # fmt: skip
