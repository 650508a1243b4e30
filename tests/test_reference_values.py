"""Every enclosure holds the closed form and the mpmath value, over the whole exponent range."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import MPContext

from audit.case import Function
from audit.errors import AuditError
from audit.formats import FLOAT16, REAL_FORMATS, Format
from audit.reference import References, State
from tests.reference_examples import (
    IDENTITY,
    QUOTIENT,
    RATIO,
    SCALED,
    SQUARED,
    WAVE,
    batch,
    function,
    holds,
    holds_number,
    terms,
    unary,
)

MP: Any = MPContext()
MP.prec = 400


@st.composite
def numbers(draw: st.DrawFn, fmt: Format, *, low: int | None = None, high: int | None = None) -> float:
    """A finite number of the format other than zero, its exponent anywhere between these."""
    least, most = fmt.esub if low is None else low, fmt.emax if high is None else high
    mantissa = draw(st.integers(2 ** (fmt.precision - 1), 2**fmt.precision - 1))
    exponent = draw(st.integers(least, most))
    value = float(fmt.round(np.ldexp(float(mantissa), exponent - fmt.precision + 1)))
    value = value or fmt.smallest_subnormal
    return draw(st.sampled_from([-1.0, 1.0])) * min(value, fmt.largest)


formats = st.sampled_from(REAL_FORMATS)


@given(st.data(), formats)
def test_a_quotient_by_its_closed_form(data: st.DataObject, fmt: Format) -> None:
    a, b, w = (data.draw(numbers(fmt)) for _ in range(3))
    x, y, g = map(Fraction, (a, b, w))
    references = References()
    for_a, for_b = references.enclose(batch(QUOTIENT, "vjp", (0, 1), [a, b], [w], fmt))
    assert (for_a.argument, for_b.argument) == ("a", "b")
    assert holds(for_a.real, g / y)
    assert holds(for_b.real, -g * x / y**2)
    (along,) = references.enclose(batch(QUOTIENT, "jvp", (0, 1), [a, b], [w, b], fmt))
    assert along.argument == "output"
    assert holds(along.real, g / y - x / y)
    (value,) = references.enclose(batch(QUOTIENT, "forward", (0, 1), [a, b], [], fmt))
    assert holds(value.real, x / y)
    assert references.disagreements == []


@given(st.data(), formats)
def test_scale_families_by_their_closed_forms(data: st.DataObject, fmt: Format) -> None:
    c, t, w = data.draw(numbers(fmt)), data.draw(numbers(fmt, low=-9, high=9)), data.draw(numbers(fmt))
    x, g = Fraction(t), Fraction(w)
    references = References()
    forms: list[tuple[Function, list[Fraction]]] = [
        (SCALED, [-(x**-2), 2 * x**-3, -6 * x**-4]),
        (IDENTITY, [Fraction(0)] * 3),
        (SQUARED, [2 * (1 / x - 1) * -(x**-2), 2 * (3 * x**-4 - 2 * x**-3), 2 * (-12 * x**-5 + 6 * x**-4)]),
    ]
    for f, derivatives in forms:
        for order, derivative in enumerate(derivatives, 1):
            (answer,) = references.enclose(batch(f, f"grad{order}", (1,), [c, t], [w], fmt))
            assert holds(answer.real, g * derivative)
    assert references.disagreements == []


@given(st.data(), formats, st.sampled_from(["hessian-rr", "hessian-fr"]))
def test_every_entry_of_a_mixed_hessian(data: st.DataObject, fmt: Format, kind: str) -> None:
    c, w = data.draw(numbers(fmt)), data.draw(numbers(fmt))
    a, b = (data.draw(numbers(fmt, low=-9, high=9)) for _ in range(2))
    x, y, g = map(Fraction, (a, b, w))
    references = References()
    answers = references.enclose(batch(RATIO, kind, (1, 2), [c, a, b], [w], fmt))
    assert [answer.argument for answer in answers] == ["a,a", "a,b", "b,a", "b,b"]
    for answer, entry in zip(answers, [Fraction(0), -(y**-2), -(y**-2), 2 * x * y**-3], strict=True):
        assert holds(answer.real, g * entry)
    # The entries (a, b) and (b, a) are one.
    assert (references.computed, references.reused) == (3, 0)


def test_named_points_have_their_textbook_values() -> None:
    references = References()
    scales = [2.0**-600, 1.0, 2.0**600]
    ones = [1.0] * 3
    for f, orders in ((SCALED, [-1, 2, -6]), (SQUARED, [0, 2, -12]), (IDENTITY, [0, 0, 0])):
        for order, due in enumerate(orders, 1):
            for exact in (False, True):
                asked = batch(f, f"grad{order}", (1,), [scales, ones], [ones])
                (answer,) = references.enclose(asked, exact=exact)
                assert answer.real.head.tolist() == [due] * 3
                assert not answer.real.tail.any()
                assert not answer.real.radius.any()
    assert references.disagreements == []


UNARY: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], float, float]] = {
    "exp": (MP.exp, MP.exp, -700, 700),
    "expm1": (MP.expm1, MP.exp, -700, 700),
    "log": (MP.log, lambda x: 1 / x, 1e-300, 1e300),
    "log1p": (MP.log1p, lambda x: 1 / (1 + x), -0.99, 1e300),
    "sqrt": (MP.sqrt, lambda x: MP.mpf(1) / 2 / MP.sqrt(x), 1e-300, 1e300),
    "rsqrt": (lambda x: 1 / MP.sqrt(x), lambda x: -MP.mpf(1) / 2 / (x * MP.sqrt(x)), 1e-300, 1e300),
    "sin": (MP.sin, MP.cos, -1e9, 1e9),
    "cos": (MP.cos, lambda x: -MP.sin(x), -1e9, 1e9),
    "tan": (MP.tan, lambda x: 1 / MP.cos(x) ** 2, -1e3, 1e3),
    "sinh": (MP.sinh, MP.cosh, -700, 700),
    "cosh": (MP.cosh, MP.sinh, -700, 700),
    "tanh": (MP.tanh, lambda x: MP.sech(x) ** 2, -300, 300),
    "arcsin": (MP.asin, lambda x: 1 / MP.sqrt(1 - x * x), -0.999, 0.999),
    "arccos": (MP.acos, lambda x: -1 / MP.sqrt(1 - x * x), -0.999, 0.999),
    "arctan": (MP.atan, lambda x: 1 / (1 + x * x), -1e9, 1e9),
    "arcsinh": (MP.asinh, lambda x: 1 / MP.sqrt(1 + x * x), -1e9, 1e9),
    "arccosh": (MP.acosh, lambda x: 1 / MP.sqrt(x * x - 1), 1.001, 1e9),
    "arctanh": (MP.atanh, lambda x: 1 / (1 - x * x), -0.999, 0.999),
    "sigmoid": (
        lambda x: 1 / (1 + MP.exp(-x)),
        lambda x: MP.exp(-x) / (1 + MP.exp(-x)) ** 2,
        -300,
        300,
    ),
    "erf": (MP.erf, lambda x: 2 / MP.sqrt(MP.pi) * MP.exp(-x * x), -20, 20),
    "square": (lambda x: x * x, lambda x: 2 * x, -1e100, 1e100),
    "reciprocal": (lambda x: 1 / x, lambda x: -1 / x**2, 1e-100, 1e100),
}


@pytest.mark.parametrize("name", sorted(UNARY))
@given(st.data())
def test_unary_functions_by_mpmath(name: str, data: st.DataObject) -> None:
    value, slope, low, high = UNARY[name]
    small = st.floats(-1e-3, 1e-3, allow_subnormal=False).filter(lambda x: abs(x) > 1e-40)
    near_zero = low < -1e-3 and high > 1e-3
    x = data.draw(st.floats(low, high, allow_subnormal=False).filter(lambda x: abs(x) > 1e-40) | small if near_zero
                  else st.floats(low, high))  # fmt: skip
    w = data.draw(numbers(FLOAT16))
    references = References()
    (forward,) = references.enclose(batch(unary(name), "forward", (0,), [x], []))
    (derivative,) = references.enclose(batch(unary(name), "vjp", (0,), [x], [w]))
    assert holds_number(forward.real, value(MP.mpf(x)), MP)
    assert holds_number(derivative.real, w * slope(MP.mpf(x)), MP)
    assert references.disagreements == []


@pytest.mark.parametrize("name", sorted(UNARY))
def test_second_and_third_derivatives_of_unary_functions_by_mpmath(name: str) -> None:
    value, _, low, high = UNARY[name]
    points = [x for x in (-1.75, -0.5, 0.125, 0.75, 1.5, 6.0) if low < x < high]
    references = References(opinions=len(points))
    for order in (2, 3):
        (answer,) = references.enclose(batch(unary(name), f"grad{order}", (0,), [points], [np.ones(len(points))]))
        for index, x in enumerate(points):
            due = MP.diff(value, MP.mpf(x), order)
            middle = MP.mpf(float(answer.real.head[index])) + float(answer.real.tail[index])
            # mpmath.diff itself is right to about half of its digits.
            assert abs(middle - due) <= abs(due) * MP.mpf(2) ** -90 + MP.mpf(2) ** -100
    assert references.disagreements == []


def test_a_product_of_exponential_and_sine_repeats_itself() -> None:
    # The third derivative of exp(x) sin(x) is 2 exp(x) (cos(x) - sin(x)).
    points = [-700.0, -1.0, 0.0, 0.5, 700.0]
    (answer,) = References(opinions=5).enclose(batch(WAVE, "grad3", (0,), [points], [np.ones(5)]))
    for index, x in enumerate(map(MP.mpf, points)):
        assert holds_number(answer.real, 2 * MP.exp(x) * (MP.cos(x) - MP.sin(x)), MP, index)


def test_powers() -> None:
    cube = function("x**3", "x", lambda _, x: x**3)
    inverse = function("x**-2", "x", lambda m, x: m.power(x, -2))
    real = function("x**y", "x y", lambda m, x, y: m.power(x, y))
    references = References()
    (answer,) = references.enclose(batch(cube, "grad3", (0,), [[-2.0, 0.0, 3.0]], [[1.0] * 3]))
    assert answer.real.head.tolist() == [6.0] * 3
    (answer,) = references.enclose(batch(inverse, "grad1", (0,), [[-2.0, 0.0, 4.0]], [[1.0] * 3]))
    assert answer.real.head[[0, 2]].tolist() == [0.25, -(2.0**-5)]
    assert answer.real.state.tolist() == [State.KNOWN, State.UNDEFINED, State.KNOWN]
    for_x, for_y = references.enclose(batch(real, "vjp", (0, 1), [2.5, 0.75], [1.0]))
    x, y = MP.mpf(2.5), MP.mpf(0.75)
    assert holds_number(for_x.real, y * x ** (y - 1), MP)
    assert holds_number(for_y.real, x**y * MP.log(x), MP)
    assert references.disagreements == []


def test_exact_values_are_asked_of_rational_functions_only() -> None:
    with pytest.raises(AuditError, match="not a rational function: ask without exact=True"):
        References().enclose(batch(WAVE, "grad1", (0,), [1.0], [1.0]), exact=True)
    (answer,) = References().enclose(batch(QUOTIENT, "vjp", (0, 1), [1.0, 3.0], [1.0]), exact=True)[:1]
    assert holds(answer.real, Fraction(1, 3))


def test_sizes_of_terms_are_not_computed_where_a_single_term_is_the_value() -> None:
    (answer, _) = References().enclose(batch(QUOTIENT, "vjp", (0, 1), [[1.0, 0.0], [3.0, 3.0]], [[1.0, 1.0]]))
    assert np.isnan(answer.real.terms).all()
    (_, answer) = References().enclose(batch(QUOTIENT, "vjp", (0, 1), [[1.0, 0.0], [3.0, 3.0]], [[1.0, 1.0]]))
    assert np.isnan(answer.real.terms[0])
    assert terms(answer.real, 1) == 0
