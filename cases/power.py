"""Powers, also with Python's operators and numbers."""

from fractions import Fraction
from typing import Any

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation, Values

_TERMS = Tolerance(terms=4, reason="two products, each rounded three times, add up along two tangents")
# Beyond these exponents of b the power of any a but 1 leaves the range of every format.
_EXPONENTS = Values(singular=(0.0, 1.0, 2.0), exponents=(-64, 10))


def _whole(m: Any, a: Any, exponent: float) -> Any:
    whole = Fraction(exponent).denominator == 1
    return m.power(a, int(exponent) if whole else exponent)


OPERATIONS = (
    Operation(
        name="mx.power",
        arguments=("a", "b"),
        call=mx.power,
        body=lambda m, a, b: m.power(a, b),
        values={"a": Values(low=0.0, singular=(0.0, 1.0)), "b": _EXPONENTS},
        tolerance=_TERMS,
        mixed=True,
        also=("mx.array.__pow__", "mx.array.__rpow__", "mx.array.__ipow__"),
    ),
    Operation(
        name="mx.power(of complex numbers)",
        arguments=("a", "b"),
        call=mx.power,
        body=lambda m, a, b: m.power(a, b),
        shapes=(((2, 3), (2, 3)), ((2, 1), (3,))),
        values={"a": Values(scaled=False), "b": Values(scaled=False)},
        tolerance=Tolerance(terms=8, reason="a logarithm, a product and an exponential of complex numbers in sequence"),
        formats=("complex64",),
        text="mx.power(a, b)",
    ),
    # Of negative numbers too, and of zero.
    Operation(
        name="mx.power(to a Python number)",
        arguments=("a",),
        call=lambda a, exponent: a**exponent,
        body=_whole,
        parameters={"exponent": (3, 2, 1, 0, -2.0)},
        values={"a": Values(singular=(0.0, 1.0, -1.0))},
        formats=(*REAL_FORMATS, "complex64"),
        text="a ** {exponent}",
    ),
    Operation(
        name="mx.power(to a fraction)",
        arguments=("a",),
        call=lambda a, exponent: a**exponent,
        body=_whole,
        parameters={"exponent": (0.5, 1.5, -0.5)},
        values={"a": Values(low=0.0, singular=(0.0, 1.0))},
        text="a ** {exponent}",
    ),
    Operation(
        name="mx.power(of a Python number)",
        arguments=("b",),
        call=lambda b, base: base**b,
        body=lambda m, b, base: m.power(Fraction(base), b),
        parameters={"base": (2.0, 1, 0.5, 10)},
        values={"b": Values(singular=(0.0, 1.0), exponents=(-64, 10))},
        text="{base} ** b",
    ),
)
