"""Where every weight that reaches an infinite slope is exactly zero, the derivative is exactly zero, and known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from audit.case import Function
from audit.reference import References, State
from tests.reference_examples import batch, function, unary

MASKED = function("where(x > 0, sqrt(x), 0)", "x", lambda m, x: m.where(x > 0, m.sqrt(x), 0 * x))
CLIPPED = function("sqrt(maximum(x, 0))", "x", lambda m, x: m.sqrt(m.maximum(x, 0)))
NORM = function("sqrt(sum(x * x))", "x", lambda m, x: m.sqrt(m.sum(x * x)), elementwise=False)
ROOTS = function("sqrt(x)", "x", lambda m, x: m.sqrt(x), elementwise=False)
SQUARE = function("sqrt(x) * sqrt(x)", "x", lambda m, x: m.sqrt(x) * m.sqrt(x))
SCALED = function("k * sqrt(x)", "k x", lambda m, k, x: k * m.sqrt(x))


def found(f: Function, kind: str, traced: tuple[int, ...], primals: Any, weights: Any) -> list[tuple[State, float]]:
    references = References()
    answers = references.enclose(batch(f, kind, traced, primals, weights))
    assert references.disagreements == []
    return [
        (State(s), float(h) if s == State.KNOWN else 0.0)
        for answer in answers
        for s, h in zip(answer.real.state, answer.real.head, strict=True)
    ]


@pytest.mark.parametrize("kind", ["vjp", "jvp"])
@pytest.mark.parametrize(
    ("name", "x"), [("sqrt", 0.0), ("arcsin", 1.0), ("arccos", -1.0), ("arccosh", 1.0), ("abs", 0.0)]
)
def test_a_zero_weight_at_an_infinite_slope_gives_zero(name: str, x: float, kind: str) -> None:
    assert found(unary(name), kind, (0,), [x], [0.0]) == [(State.KNOWN, 0.0)]
    assert found(unary(name), kind, (0,), [x], [1.0])[0][0] in (State.UNDEFINED, State.SET)


@pytest.mark.parametrize("name", ["log", "reciprocal", "rsqrt"])
def test_where_there_is_no_value_a_zero_weight_does_not_help(name: str) -> None:
    for kind in ("vjp", "jvp"):
        assert found(unary(name), kind, (0,), [0.0], [0.0]) == [(State.UNDEFINED, 0.0)]


def test_a_branch_not_taken_closes_the_slope_behind_it() -> None:
    for kind in ("vjp", "jvp"):
        assert found(MASKED, kind, (0,), [[-4.0, 4.0]], [[1.0, 1.0]]) == [(State.KNOWN, 0.0), (State.KNOWN, 0.25)]
        # The root of the zero that the maximum gives has an infinite slope, which nothing reaches.
        assert found(CLIPPED, kind, (0,), [[-4.0, 4.0]], [[1.0, 1.0]]) == [(State.KNOWN, 0.0), (State.KNOWN, 0.25)]
        assert found(CLIPPED, kind, (0,), [0.0], [0.0]) == [(State.KNOWN, 0.0)]
        assert found(CLIPPED, kind, (0,), [0.0], [1.0]) == [(State.UNDEFINED, 0.0)]


def test_each_element_by_itself() -> None:
    x = [[0.0, 4.0, 0.0]]
    due = [(State.KNOWN, 0.0), (State.KNOWN, 0.5), (State.UNDEFINED, 0.0)]
    for kind in ("vjp", "jvp"):
        assert found(ROOTS, kind, (0,), [x], [[[0.0, 2.0, 1.0]]]) == due


def test_a_norm_at_zero() -> None:
    zeros = [[[0.0, 0.0]]]
    assert found(NORM, "vjp", (0,), zeros, [0.0]) == [(State.KNOWN, 0.0)] * 2
    assert found(NORM, "jvp", (0,), zeros, zeros) == [(State.KNOWN, 0.0)]
    assert found(NORM, "vjp", (0,), zeros, [1.0]) == [(State.UNDEFINED, 0.0)] * 2


def test_a_factor_that_happens_to_be_zero_closes_nothing() -> None:
    # The derivative of x, from the right, is 1: zero times infinity is not zero here.
    assert found(SQUARE, "vjp", (0,), [[0.0, 4.0]], [[1.0, 1.0]]) == [(State.UNDEFINED, 0.0), (State.KNOWN, 1.0)]


def test_a_constant_factor_of_zero_does() -> None:
    assert found(SCALED, "vjp", (1,), [0.0, 0.0], [1.0]) == [(State.KNOWN, 0.0)]
    assert found(SCALED, "jvp", (1,), [0.0, 0.0], [1.0]) == [(State.KNOWN, 0.0)]


@pytest.mark.parametrize("kind", ["grad2", "second-rr", "second-fr", "second-rf", "third"])
def test_higher_derivatives_need_the_lower_ones(kind: str) -> None:
    tangent = [] if kind == "grad2" else [[1.0, 0.0, 1.0]]
    due = [(State.KNOWN, 0.0), (State.UNDEFINED, 0.0), (State.UNDEFINED, 0.0)]
    # With a cotangent of zero there is nothing to differentiate; along a tangent of zero there is, and it has no slope.
    assert found(unary("sqrt"), kind, (0,), [[0.0, 0.0, 0.0]], [[0.0, 1.0, 1.0], *tangent]) == due


def test_sizes_of_terms_are_zero_too() -> None:
    (answer,) = References().enclose(batch(unary("sqrt"), "vjp", (0,), [0.0], [0.0]))
    assert answer.real.terms[0] == 0


def test_subnormal_weights_are_not_zero() -> None:
    assert found(unary("sqrt"), "vjp", (0,), [0.0], [np.nextafter(0.0, 1.0)]) == [(State.UNDEFINED, 0.0)]
