"""Sums, products, quotients and integer powers: what rational functions are made of."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from audit.reference.operations.entry import Measure, Operation, Step, times


def _total(z: Measure) -> int:
    return z("add", *z.sizes)


def _total_of_all(z: Measure) -> int:
    return z("sum", *z.sizes)


def _same(z: Measure) -> int:
    return z.sizes[0]


def _inverse(z: Measure) -> int:
    return z("divide", z.sizes[0], z("square", z.operands[0]))


def _quotient(x: Fraction, y: Fraction) -> Fraction | None:
    return x / y if y else None


def _integer_power(x: Fraction, n: int) -> Fraction | None:
    return x**n if x or n >= 0 else None


def _partner(s: Step) -> int:
    """The operand that a dot product multiplies the one at the step's position by."""
    half = len(s.operands) // 2
    return s.operands[(s.position + half) % len(s.operands)]


def _dot(*numbers: Any) -> Any:
    half = len(numbers) // 2
    return sum(x * y for x, y in zip(numbers[:half], numbers[half:], strict=True))


def _pull_integer_power(s: Step) -> int:
    (x,), n = s.operands, s.parameter
    if n == 0:
        return s.number(0)
    lower = s.record.apply("integer_power", x, parameter=n - 1) if n != 1 else s.number(1)
    return s("multiply", s.cotangent, s("multiply", s.number(n), lower))


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
    # Sums of many numbers are one node, and so are dot products: the left operands first, then the right ones.
    "sum": Operation(
        "total({all})", lambda context, *xs: context.fsum(xs), (lambda s: s.cotangent,),
        rational="total({all})", size=_total_of_all, fold=lambda *xs: sum(xs, Fraction(0)), variadic=True,
    ),
    "dot": Operation(
        "dot({all})", lambda context, *xs: context.fdot(xs[: len(xs) // 2], xs[len(xs) // 2 :]),
        (lambda s: s("multiply", s.cotangent, _partner(s)),),
        rational="dot({all})", size=lambda z: z("dot", *z.sizes), fold=_dot, variadic=True, factor=_partner,
    ),
    "negative": Operation(
        "-{0}", lambda _, x: -x, (lambda s: s("negative", s.cotangent),),
        rational="-{0}", size=_same, fold=lambda x: -x, odd=True,
    ),
    "square": Operation(
        "{0} * {0}", lambda _, x: x * x,
        times(lambda s: s("multiply", s.number(2), s.operands[0])),
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
