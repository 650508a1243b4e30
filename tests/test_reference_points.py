"""Where there is no derivative, where more precision is needed, and values far outside any format."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import MPContext

from audit.errors import AuditError
from audit.formats import FLOAT16, FLOAT64
from audit.reference import References, Rounded, State, certify
from tests.reference_examples import (
    IDENTITY,
    QUOTIENT,
    RATIO,
    SCALED,
    batch,
    function,
    holds,
    holds_number,
    unary,
)

MP: Any = MPContext()
MP.prec = 4000
NAN, INF = float("nan"), float("inf")


def states(answer: Any) -> list[State]:
    return [State(state) for state in answer.real.state]


def test_inputs_that_are_no_numbers_have_no_derivative() -> None:
    a, b, w = [1.0, INF, 1.0, NAN, 1.0, 1.0], [2.0, 1.0, -INF, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, NAN, INF]
    for answer in References().enclose(batch(QUOTIENT, "vjp", (0, 1), [a, b], [w])):
        assert states(answer) == [State.KNOWN, *[State.UNDEFINED] * 5]
    for answer in References().enclose(batch(QUOTIENT, "hessian-rr", (0, 1), [a, b], [w])):
        assert states(answer) == [State.KNOWN, *[State.UNDEFINED] * 5]


def test_a_denominator_of_zero_is_undefined_in_every_mode() -> None:
    a, b, w = [1.0, 0.0, -3.0], [0.0, 0.0, -0.0], [1.0, 0.0, 2.0]
    for kind in ("vjp", "hessian-rr", "hessian-fr"):
        for answer in References().enclose(batch(QUOTIENT, kind, (0, 1), [a, b], [w])):
            assert states(answer) == [State.UNDEFINED] * 3
    for kind, weights in (("jvp", [w, w]), ("forward", [])):
        (answer,) = References().enclose(batch(QUOTIENT, kind, (0, 1), [a, b], weights))
        assert states(answer) == [State.UNDEFINED] * 3
    for f in (SCALED, IDENTITY):
        for order in (1, 2, 3):
            (answer,) = References().enclose(batch(f, f"grad{order}", (1,), [[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]))
            assert states(answer) == [State.UNDEFINED] * 2


@pytest.mark.parametrize(
    ("name", "outside", "inside"),
    [
        ("log", [0.0, -1.0], [5e-324, 1.0]),
        ("log1p", [-1.0, -2.0], [-0.5]),
        ("sqrt", [0.0, -1.0], [5e-324]),
        ("rsqrt", [0.0, -5e-324], [2.0]),
        ("reciprocal", [0.0, -0.0], [5e-324]),
        ("arcsin", [-1.0, 1.0, 1.5], [0.5]),
        ("arccosh", [0.5, 1.0], [1.5]),
        ("arctanh", [1.0, -1.0, 3.0], [0.5]),
        ("sign", [0.0], [5e-324, -1.0]),
    ],
)
def test_functions_are_undefined_outside_their_domain(name: str, outside: list[float], inside: list[float]) -> None:
    points = [*outside, *inside]
    for order in (1, 2, 3):
        references = References()
        (answer,) = references.enclose(batch(unary(name), f"grad{order}", (0,), [points], [np.ones(len(points))]))
        assert states(answer) == [State.UNDEFINED] * len(outside) + [State.KNOWN] * len(inside)
        assert references.disagreements == []


def test_a_maximum_has_a_set_of_derivatives_at_a_tie_and_a_value_everywhere() -> None:
    largest = function("maximum(x, y)", "x y", lambda m, x, y: m.maximum(x, y))
    smallest = function("minimum(x, y)", "x y", lambda m, x, y: m.minimum(x, y))
    x, y, w = [1.0, 2.0, 3.0, np.nextafter(2.0, 3)], [2.0, 2.0, -3.0, 2.0], [2.0] * 4
    references = References()
    for f, first in ((largest, [0, 2, 2]), (smallest, [2, 0, 0])):
        for_x, for_y = references.enclose(batch(f, "vjp", (0, 1), [x, y], [w]))
        assert states(for_x) == states(for_y) == [State.KNOWN, State.SET, State.KNOWN, State.KNOWN]
        assert for_x.real.head[[0, 2, 3]].tolist() == first
        assert for_y.real.head[[0, 2, 3]].tolist() == [2 - value for value in first]
    (value,) = references.enclose(batch(largest, "forward", (0,), [x, y], []))
    assert value.real.head.tolist() == np.maximum(x, y).tolist()
    assert references.disagreements == []


def test_a_branch_that_is_not_taken_may_be_singular() -> None:
    f = function("where(x > 0, log(x), 3 * x)", "x", lambda m, x: m.where(x > 0, m.log(x), 3 * x))
    references = References()
    (answer,) = references.enclose(batch(f, "grad1", (0,), [[-2.0, 4.0]], [[1.0, 1.0]]))
    assert answer.real.head.tolist() == [3.0, 0.25]
    (answer,) = references.enclose(batch(f, "grad2", (0,), [[-2.0, 4.0]], [[1.0, 1.0]]))
    assert answer.real.head.tolist() == [0.0, -0.0625]
    assert references.disagreements == []


def test_python_branches_are_refused_with_what_to_write_instead() -> None:
    f = function("x if x > 0 else -x", "x", lambda _, x: x if x > 0 else -x)
    with pytest.raises(AuditError, match=r"write m\.where"):
        References().enclose(batch(f, "grad1", (0,), [1.0], [1.0]))


def test_an_unknown_operation_is_refused_with_those_that_exist() -> None:
    f = function("gamma(x)", "x", lambda m, x: m.gamma(x))
    with pytest.raises(AuditError, match=r"no operation m\.gamma.*tanh"):
        References().enclose(batch(f, "grad1", (0,), [1.0], [1.0]))


def test_precision_doubles_until_cancellation_is_overcome() -> None:
    # exp(x) - 1 - x is x**2 / 2 for tiny x: all 128 bits cancel at 2**-200.
    f = function("exp(x) - 1 - x", "x", lambda m, x: m.exp(x) - 1 - x)
    references = References()
    for x in (2.0**-30, 2.0**-200, -(2.0**-1000)):
        (answer,) = references.enclose(batch(f, "forward", (0,), [x], []))
        assert holds_number(answer.real, MP.expm1(MP.mpf(x)) - x, MP)
        (answer,) = references.enclose(batch(f, "grad1", (0,), [x], [1.0]))
        assert holds_number(answer.real, MP.expm1(MP.mpf(x)), MP)
    assert "precision" in references.seconds


def test_a_zero_that_cannot_be_proven_is_known_to_be_below_every_format() -> None:
    f = function("log(exp(x)) - x", "x", lambda m, x: m.log(m.exp(x)) - x)
    (answer,) = References().enclose(batch(f, "forward", (0,), [[0.3]], []))
    assert states(answer) == [State.KNOWN]
    assert answer.real.head[0] == 0
    assert answer.real.radius[0] > 0
    assert answer.real.exponent[0] <= -1094
    assert answer.real.to_format(FLOAT64).where[0] == Rounded.ZERO


def test_what_no_precision_decides_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certify, "LAST_PRECISION", 512)
    f = function("x / (exp(log(x)) - x)", "x", lambda m, x: x / (m.exp(m.log(x)) - x))
    (answer,) = References().enclose(batch(f, "grad1", (0,), [[3.0, 5.0]], [[1.0, 1.0]]))
    assert states(answer) == [State.INCONCLUSIVE] * 2


def test_a_denominator_that_is_a_hidden_zero_is_undefined() -> None:
    # In balls x / 3 - x / 3 contains zero for ever; exact rationals know that it is zero.
    f = function("1 / (x / 3 - x * (1 / 3))", "x", lambda m, x: m.reciprocal(m.divide(x, 3) - x * m.divide(1, 3)))
    (answer,) = References().enclose(batch(f, "grad1", (0,), [[1.0, 5e-324]], [[1.0, 1.0]]))
    assert states(answer) == [State.UNDEFINED] * 2


def test_a_denominator_that_cancels_to_a_tiny_number_is_not_undefined() -> None:
    f = function("1 / (x / 3 - y / 3)", "x y", lambda m, x, y: m.reciprocal(m.divide(x, 3) - m.divide(y, 3)))
    x, y = 1.0, 1.0 + 2.0**-52
    references = References()
    (answer,) = references.enclose(batch(f, "vjp", (0,), [[x, 2.0**600], [y, 2.0**-600]], [[1.0, 1.0]]))
    gaps = [Fraction(x) - Fraction(y), Fraction(2) ** 600 - Fraction(2) ** -600]
    for index, gap in enumerate(gaps):
        assert holds(answer.real, -Fraction(1, 3) / (gap / 3) ** 2, index)
    assert references.disagreements == []


def test_subnormal_inputs_and_values_outside_float64() -> None:
    tiny, huge = 5e-324, FLOAT64.largest
    a, b, w = [tiny, huge, tiny], [huge, tiny, tiny], [tiny, huge, huge]
    references = References()
    for_a, for_b = references.enclose(batch(QUOTIENT, "vjp", (0, 1), [a, b], [w]))
    for index, (x, y, g) in enumerate(zip(a, b, w, strict=True)):
        x, y, g = map(Fraction, (x, y, g))
        assert holds(for_a.real, g / y, index)
        assert holds(for_b.real, -g * x / y**2, index)
    assert for_b.real.exponent.tolist() == [-1074 - 1074 - 2048 + 1, 1024 + 1024 + 2148, 2098]
    where = for_b.real.to_format(FLOAT64).where.tolist()
    assert where == [Rounded.UNDERFLOWS, Rounded.OVERFLOWS, Rounded.OVERFLOWS]
    assert references.disagreements == []


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "erf", "sin", "cos", "arctan"])
def test_functions_that_stay_small_are_known_everywhere(name: str) -> None:
    points = [-FLOAT64.largest, -3e38, -1e5, -40.0, 40.0, 5.676429879436525e304, FLOAT64.largest]
    references = References(opinions=len(points))
    for kind in ("forward", "grad1", "grad2", "grad3"):
        weights = [] if kind == "forward" else [np.ones(len(points))]
        (answer,) = references.enclose(batch(unary(name), kind, (0,), [points], weights))
        assert states(answer) == [State.KNOWN] * len(points)
    assert references.disagreements == []


def test_values_beyond_any_exponent_overflow_or_underflow() -> None:
    points = [-1e300, -1e6, 1e6, 1e300]
    references = References()
    for weight in (1.0, -1.0):
        (answer,) = references.enclose(batch(unary("exp"), "grad1", (0,), [points], [[weight] * 4]))
        assert states(answer) == [State.KNOWN] * 4
        right = answer.real.to_format(FLOAT64)
        assert right.where.tolist() == [Rounded.UNDERFLOWS] * 2 + [Rounded.OVERFLOWS] * 2
        assert right.value.tolist() == [0.0, 0.0, weight * INF, weight * INF]
    assert references.disagreements == []


def test_one_enclosure_serves_every_format() -> None:
    (answer,) = References().enclose(batch(RATIO, "vjp", (1,), [[1.0], [1.0], [3.0]], [[1.0]]))
    for fmt in (FLOAT16, FLOAT64):
        right = answer.real.to_format(fmt)
        assert right.value[0] == float(fmt.round(1 / 3))


def test_higher_derivatives_of_arrays_are_refused() -> None:
    f = function("sum(x * x)", "x", lambda m, x: m.sum(x * x), elementwise=False)
    with pytest.raises(AuditError, match="every entry of real elementwise functions only"):
        References().enclose(batch(f, "grad2", (0,), [[[1.0, 2.0]]], [[1.0]]))


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(AuditError, match="elementwise=False"):
        References().enclose(batch(QUOTIENT, "forward", (0, 1), [[[1.0, 2.0]], [[1.0, 2.0]]], []))
    f = function("sum(x)", "x", lambda m, x: m.sum(x), elementwise=False)
    with pytest.raises(AuditError, match=r"a weight has shape \(2,\) at each point, it must have \(\)"):
        References().enclose(batch(f, "vjp", (0,), [[[1.0, 2.0]]], [[[1.0, 2.0]]]))
