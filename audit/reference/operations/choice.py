"""Comparisons, and what is chosen by them: piecewise functions, which have no derivative where the pieces meet.

Where the pieces meet continuously the derivative is a set, which `audit.reference.resolve` finds; where they jump, as
`sign` does at zero, there is none, and any answer is let pass.
"""

from __future__ import annotations

from fractions import Fraction

from audit.reference.operations.entry import Measure, Operation, times
from audit.reference.operations.opinions import before


def _larger(z: Measure) -> int:
    return z("maximum", *z.sizes)


def _same(z: Measure) -> int:
    return z.sizes[0]


def _own(z: Measure) -> int:
    return z("abs", z.value)


def _magnitude(x: Fraction) -> Fraction:
    return abs(x)


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
        times(lambda s: s("subtract", s("exceeds", s.operands[0], s.number(0)),
                           s("exceeds", s.number(0), s.operands[0]))),
        series="{0} * side(first({0}))", rational="abs({0})", size=_same, fold=_magnitude,
    ),
    "sign": Operation(
        "{0}.sgn()", lambda context, x: context.sign(x), times(lambda s: s("flat", s.operands[0], s.number(0))),
        series="{0} * 0 + side(first({0}))", rational="sign({0})", size=_own,
    ),
    "maximum": Operation(
        "{0}.max({1})", lambda _, x, y: y if before(x, y) else x,
        (
            lambda s: s("multiply", s.cotangent, s("exceeds", s.operands[0], s.operands[1])),
            lambda s: s("multiply", s.cotangent, s("exceeds", s.operands[1], s.operands[0])),
        ),
        series="{0} if above(first({0}), first({1})) else {1}", rational="max({0}, {1})", size=_larger,
        fold=max, commutative=True,
    ),
    "minimum": Operation(
        "{0}.min({1})", lambda _, x, y: y if before(y, x) else x,
        (
            lambda s: s("multiply", s.cotangent, s("exceeds", s.operands[1], s.operands[0])),
            lambda s: s("multiply", s.cotangent, s("exceeds", s.operands[0], s.operands[1])),
        ),
        series="{1} if above(first({0}), first({1})) else {0}", rational="min({0}, {1})", size=_larger,
        fold=min, commutative=True,
    ),
    "less": Operation(
        "less({0}, {1})", lambda _, x, y: before(x, y), (None, None),
        series="less(first({0}), first({1}))", rational="{0} < {1}", size=_own, logical=True,
    ),
    "less_equal": Operation(
        "not less({1}, {0})", lambda _, x, y: not before(y, x), (None, None),
        series="not less(first({1}), first({0}))", rational="{0} <= {1}", size=_own, logical=True,
    ),
    "equal": Operation(
        "equal({0}, {1})", lambda _, x, y: x == y, (None, None),
        series="equal(first({0}), first({1}))", rational="{0} == {1}", size=_own, commutative=True, logical=True,
    ),
    # The same conditions where a derivative is asked for: there is none where the numbers are equal.
    "decided_less": Operation(
        "above({1}, {0})", lambda _, x, y: before(x, y), (None, None),
        series="above(first({1}), first({0}))", rational="above({1}, {0})", size=_own, logical=True,
    ),
    "decided_equal": Operation(
        "apart({0}, {1})", lambda _, x, y: x == y, (None, None),
        series="apart(first({0}), first({1}))", rational="apart({0}, {1})", size=_own, commutative=True, logical=True,
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
