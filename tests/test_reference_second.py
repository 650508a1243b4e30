"""Second and third derivatives along tangents, against closed forms; wrong rules are caught."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from audit.case import Function, Mode
from audit.formats import COMPLEX64
from audit.reference import References, State, derivative, evaluate
from audit.reference.operations import OPERATIONS, Step
from tests.reference_examples import MATMUL, QUOTIENT, batch, function, holds

SECOND = ("second-rr", "second-fr", "second-rf")
SOFTMAX = function("softmax(x)", "x", lambda m, x: m.softmax(x, axis=-1), elementwise=False)
CUBIC = function("z * z * conj(z)", "z", lambda m, z: z * z * m.conj(z))


def dyadic(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    return np.round(np.random.default_rng(seed).uniform(-2, 2, shape) * 64) / 64


def enclosed(f: Function, kind: str, primals: Any, weights: Any, **more: Any) -> list[Any]:
    references = References()
    answers = references.enclose(batch(f, kind, tuple(range(len(f.arguments))), primals, weights, **more))
    assert references.disagreements == []
    assert all((a.real.state == State.KNOWN).all() for a in answers)
    return answers


@pytest.mark.parametrize("kind", SECOND)
def test_the_hessian_of_a_quotient(kind: str) -> None:
    a, b, w, v, u = 3.0, 0.75, -2.0, 0.5, 5.0
    for_a, for_b = enclosed(QUOTIENT, kind, [a, b], [w, v, u])
    x, y, wf, vf, uf = map(Fraction, (a, b, w, v, u))
    assert holds(for_a.real, wf * (-uf / y**2))
    assert holds(for_b.real, wf * (-vf / y**2 + 2 * x * uf / y**3))


def test_the_third_derivative_of_a_quotient() -> None:
    a, b, w, v, u = 3.0, 0.75, -2.0, 0.5, 5.0
    for_a, for_b = enclosed(QUOTIENT, "third", [a, b], [w, v, u])
    x, y, wf, vf, uf = map(Fraction, (a, b, w, v, u))
    # <v, H v> = w (-2 v u / y^2 + 2 x u^2 / y^3)
    assert holds(for_a.real, wf * 2 * uf**2 / y**3)
    assert holds(for_b.real, wf * (4 * vf * uf / y**3 - 6 * x * uf**2 / y**4))


@pytest.mark.parametrize("scale", [2.0**-400, 1.0, 2.0**400])
def test_scales_of_primals_and_tangents(scale: float) -> None:
    for_a, for_b = enclosed(QUOTIENT, "second-rr", [scale, 1 / scale], [1.0, 1.0, scale])
    s = Fraction(scale)
    assert holds(for_a.real, -(s**3))
    assert holds(for_b.real, -(s**2) + 2 * s**5)


@pytest.mark.parametrize("kind", [*SECOND, "third"])
def test_a_matrix_product_is_bilinear(kind: str) -> None:
    a, b, w, v, u = dyadic(1, 1, 2, 3), dyadic(2, 1, 3, 2), dyadic(3, 1, 2, 2), dyadic(4, 1, 2, 3), dyadic(5, 1, 3, 2)
    for_a, for_b = enclosed(MATMUL, kind, [a, b], [w, v, u])
    due_a, due_b = (w[0] @ u[0].T, v[0].T @ w[0]) if kind != "third" else (0 * a[0], 0 * b[0])
    for answer, due in ((for_a, due_a), (for_b, due_b)):
        for index, value in enumerate(due.reshape(-1)):
            assert holds(answer.real, Fraction(value), index)


@pytest.mark.parametrize("kind", [*SECOND, "third"])
def test_softmax_against_a_difference_of_its_gradient(kind: str) -> None:
    x, w, v = dyadic(6, 5), dyadic(7, 5), dyadic(8, 5)

    def gradient(y: Any) -> Any:
        p = np.exp(y) / np.exp(y).sum()
        return p * (w - (p * w).sum())

    def along(y: Any, h: float = 1e-4) -> Any:
        return (gradient(y + h * v) - gradient(y - h * v)) / (2 * h)

    h = 1e-3
    due = along(x) if kind != "third" else (gradient(x + h * v) - 2 * gradient(x) + gradient(x - h * v)) / h**2
    (answer,) = enclosed(SOFTMAX, kind, [x[None]], [w[None], v[None]])
    assert answer.real.head == pytest.approx(due, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kind", SECOND)
def test_the_complex_convention_is_that_of_mlx(kind: str) -> None:
    z, w, v = (dyadic(seed, 4) + 1j * dyadic(seed + 1, 4) for seed in (10, 12, 14))
    (answer,) = enclosed(CUBIC, kind, [z], [w, v], fmt=COMPLEX64)
    x, cotangent, tangent = (mx.array(n.astype(np.complex64)) for n in (z, w, v))

    def cubic(y: mx.array) -> mx.array:
        return y * y * mx.conj(y)

    def gradient(y: mx.array) -> mx.array:
        return mx.vjp(cubic, [y], [cotangent])[1][0]

    got = {
        "second-rr": lambda: mx.vjp(gradient, [x], [tangent])[1][0],
        "second-fr": lambda: mx.jvp(gradient, [x], [tangent])[1][0],
        "second-rf": lambda: mx.vjp(lambda y: mx.jvp(cubic, [y], [tangent])[1][0], [x], [cotangent])[1][0],
    }[kind]()
    assert answer.real.head + 1j * answer.imag.head == pytest.approx(np.array(got), rel=1e-5)


def test_all_three_are_one_column() -> None:
    references = References()
    x, w, v = dyadic(6, 1, 5), dyadic(7, 1, 5), dyadic(8, 1, 5)
    for kind in SECOND:
        references.enclose(batch(SOFTMAX, kind, (0,), [x], [w, v]))
    assert (references.computed, references.reused) == (5, 10)


def test_a_weight_of_the_wrong_shape_is_named() -> None:
    x, w, v = dyadic(6, 1, 5), dyadic(7, 1, 5), dyadic(8, 1, 4)
    with pytest.raises(Exception, match="a weight has shape"):
        References().enclose(batch(SOFTMAX, "second-rr", (0,), [x], [w, v]))


@pytest.mark.parametrize("opinions", [0, 4])
@pytest.mark.parametrize("kind", ["second-rr", "third"])
def test_a_wrong_rule_for_the_second_derivative_is_caught(
    monkeypatch: pytest.MonkeyPatch, kind: str, opinions: int
) -> None:
    entry = OPERATIONS["cos"]

    def slope(s: Step) -> int:
        return s("multiply", s.cotangent, s("multiply", s.number(Fraction(101, 100)), s("sin", s.operands[0])))

    for cached in (derivative._task, evaluate._generated, evaluate.operator):
        cached.cache_clear()
    # The first derivative of a sine is right, those of the cosine in it are not.
    monkeypatch.setitem(OPERATIONS, "cos", replace(entry, pulls=(slope,)))
    f = function("sum(sin(x)) * x", "x", lambda m, x: m.sum(m.sin(x)) * x, elementwise=False)
    references = References(opinions=opinions)
    x = dyadic(16, 1, 4)
    (answer,) = references.enclose(batch(f, kind, (0,), [x], [dyadic(17, 1, 4), dyadic(18, 1, 4)]))
    derivative._task.cache_clear()
    assert references.disagreements
    assert (answer.real.state == State.INCONCLUSIVE).all()


def test_modes_count_their_weights() -> None:
    assert [Mode(kind, (0, 1)).weights for kind in ("forward", "vjp", "jvp", "second-rr", "third")] == [0, 1, 2, 3, 3]
    assert [Mode(kind, (0,)).order for kind in (*SECOND, "third")] == [2, 2, 2, 3]
