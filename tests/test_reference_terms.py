"""The size of the terms that add up to a value."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from audit.case import Batch, Mode, Tolerance
from audit.formats import FLOAT64
from audit.reference import Enclosures, References
from tests.reference_examples import IDENTITY, QUOTIENT, SQUARED, batch, function, terms


def zero(f: object, kind: str, traced: tuple[int, ...], primals: object, weights: object) -> Enclosures:
    references = References()
    (answer,) = references.enclose(batch(f, kind, traced, primals, weights))  # type: ignore[arg-type]
    assert references.disagreements == []
    assert answer.real.head[0] == 0
    return answer.real


@pytest.mark.parametrize("scale", [2.0**-1000, 1.0, 2.0**1000])
@pytest.mark.parametrize("t", [2.0**-20, 1.0, 3.0])
def test_an_identity_has_terms_that_cancel(scale: float, t: float) -> None:
    # d/dt of (C t)/(C t) is 1/t - 1/t: two terms of 1/t, whatever the scale.
    size = terms(zero(IDENTITY, "grad1", (1,), [scale, t], [-0.5]))
    assert 1 <= size / (Fraction(1, 2) * 2 / Fraction(t)) < 1 + Fraction(1, 2**40)
    # The higher ones are sums of more terms, each of that power of t.
    for order in (2, 3):
        size = terms(zero(IDENTITY, f"grad{order}", (1,), [scale, t], [1.0]))
        assert 1 <= size * Fraction(t) ** order < 100


def test_a_square_that_vanishes_has_the_terms_of_its_difference() -> None:
    # 2 (f - 1) f' with f = 1 and f' = -1: the two terms of the difference count 2 each.
    assert terms(zero(SQUARED, "grad1", (1,), [2.0**600, 1.0], [1.0])) == pytest.approx(4)


def test_opposite_directions_cancel() -> None:
    size = terms(zero(QUOTIENT, "jvp", (0, 1), [3.0, 4.0], [3.0, 4.0]))
    assert size == pytest.approx(1.5)


def test_a_product_with_zero_has_no_terms() -> None:
    references = References()
    (_, for_b) = references.enclose(batch(QUOTIENT, "vjp", (0, 1), [0.0, 3.0], [1.0]))
    assert terms(for_b.real) == 0
    for_a, _ = references.enclose(batch(QUOTIENT, "vjp", (0, 1), [1.0, 3.0], [0.0]))
    assert terms(for_a.real) == 0


def test_terms_outside_float64_have_an_exponent_of_their_own() -> None:
    tiny = 2.0**-1000
    (answer,) = References().enclose(batch(QUOTIENT, "jvp", (0, 1), [tiny, tiny], [2.0**1000, 2.0**1000]))
    assert answer.real.terms_exponent[0] > 1900
    assert 1 <= terms(answer.real) / Fraction(2) ** 2001 < 1 + Fraction(1, 2**40)


def test_a_sum_has_the_sum_of_absolute_values() -> None:
    total = function("sum(x)", "x", lambda m, x: m.sum(x), elementwise=False)
    (answer,) = References().enclose(batch(total, "forward", (0,), [[[1.0, -2.0, 4.0, -3.0]]], []))
    assert answer.real.head[0] == 0
    assert terms(answer.real) == pytest.approx(10)


def test_a_function_of_what_was_computed_carries_its_error_on() -> None:
    # exp of an input rounds once; exp of a sum carries the rounding of the sum, times its slope.
    plain = function("exp(x)", "x y", lambda m, x, y: m.exp(x) + 0 * y)
    summed = function("exp(x + y)", "x y", lambda m, x, y: m.exp(x + y))
    wanted = Tolerance(terms=4.0)
    for f, due in ((plain, 1.0), (summed, 1.0 + 100 + 100)):
        asked = Batch(
            "terms", f, FLOAT64, Mode("forward", (0, 1)), (np.array([100.0]), np.array([-100.0])), (), wanted
        )  # fmt: skip
        (answer,) = References().enclose(asked)
        value = np.ldexp(answer.real.head[0], answer.real.exponent[0])
        assert answer.real.terms[0] / value == pytest.approx(due)


def test_a_denominator_that_cancels_magnifies() -> None:
    f = function("1 / (x - y)", "x y", lambda m, x, y: m.reciprocal(x - y))
    asked = Batch(
        "terms", f, FLOAT64, Mode("forward", (0, 1)), (np.array([1.0 + 2.0**-20]), np.array([1.0])), (),
        Tolerance(terms=1.0),
    )  # fmt: skip
    (answer,) = References().enclose(asked)
    assert answer.real.head[0] == 2.0**20
    assert answer.real.terms[0] == pytest.approx(2.0**41, rel=1e-5)
