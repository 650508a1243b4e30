"""Functions of arrays, complex numbers, mapped functions, and conditions of large programs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.case import Batch, Mode
from audit.errors import AuditError
from audit.formats import COMPLEX64, FLOAT64
from audit.reference import Enclosures, References, evaluate
from tests.reference_examples import BROADCAST, MATMUL, QUOTIENT, batch, bounds, function, holds, terms

integers = st.integers(-128, 127)


def matrices(rows: int, columns: int, points: int) -> st.SearchStrategy[np.ndarray[Any, Any]]:
    size = points * rows * columns
    return st.lists(integers, min_size=size, max_size=size).map(
        lambda xs: np.array(xs, float).reshape(points, rows, columns)
    )


def heads(e: Enclosures) -> np.ndarray[Any, Any]:
    assert not e.state.any()
    return np.ldexp(e.head, e.exponent)


@given(matrices(2, 3, 2), matrices(3, 2, 2), matrices(2, 2, 2))
def test_a_matrix_product(a: Any, b: Any, w: Any) -> None:
    references = References()
    for_a, for_b = references.enclose(batch(MATMUL, "vjp", (0, 1), [a, b], [w]))
    assert (for_a.shape, for_b.shape) == ((2, 3), (3, 2))
    assert heads(for_a.real).reshape(a.shape).tolist() == (w @ b.swapaxes(1, 2)).tolist()
    assert heads(for_b.real).reshape(b.shape).tolist() == (a.swapaxes(1, 2) @ w).tolist()
    assert for_a.real.terms == pytest.approx((abs(w) @ abs(b).swapaxes(1, 2)).reshape(-1))
    (along,) = references.enclose(batch(MATMUL, "jvp", (0, 1), [a, b], [a, -b]))
    assert along.shape == (2, 2)
    assert heads(along.real).tolist() == [0.0] * 8
    assert along.real.terms == pytest.approx(2 * (abs(a) @ abs(b)).reshape(-1))
    (value,) = references.enclose(batch(MATMUL, "forward", (0, 1), [a, b], []))
    assert heads(value.real).tolist() == (a @ b).reshape(-1).tolist()
    assert references.disagreements == []


@pytest.mark.parametrize("scale", [2.0**-600, 1.0, 2.0**600])
def test_a_broadcast_quotient(scale: float) -> None:
    a, b = scale * np.array([[[1.0], [2.0]]]), scale * np.array([[[1.0, 2.0, 4.0]]])
    references = References()
    for_a, for_b = references.enclose(batch(BROADCAST, "vjp", (0, 1), [a, b], [1.0]))
    assert (for_a.shape, for_b.shape) == ((2, 1), (1, 3))
    s = Fraction(scale)
    for index in range(2):
        assert holds(for_a.real, Fraction(7, 4) / s, index)
    for index, y in enumerate((1, 2, 4)):
        assert holds(for_b.real, -Fraction(3) / (s * y * y), index)
        assert terms(for_b.real, index) >= Fraction(3) / (s * y * y)
    # The directions along a and along -b add up to zero: a sum of equal terms that cancel.
    (along,) = references.enclose(batch(BROADCAST, "jvp", (0, 1), [a, b], [a, b]))
    assert holds(along.real, Fraction(0))
    assert terms(along.real) >= 2 * Fraction(21, 4)
    assert references.disagreements == []


@given(st.lists(st.floats(-8, 8, width=32, allow_subnormal=False), min_size=8, max_size=8))
def test_a_complex_quotient(parts: list[float]) -> None:
    a, b, v, w = (complex(x, y) for x, y in zip(parts[::2], parts[1::2], strict=True))
    b = b or 1 + 1j
    exact = [[Fraction(z.real), Fraction(z.imag)] for z in (a, b, v, w)]

    def times(x: list[Fraction], y: list[Fraction]) -> list[Fraction]:
        return [x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]]

    def conjugate(x: list[Fraction]) -> list[Fraction]:
        return [x[0], -x[1]]

    def inverse(x: list[Fraction]) -> list[Fraction]:
        norm = x[0] ** 2 + x[1] ** 2
        return [x[0] / norm, -x[1] / norm]

    x, y, tangent, cotangent = exact
    by_a = inverse(y)
    by_b = [-part for part in times(x, times(by_a, by_a))]
    references = References()
    # The vjp multiplies by the conjugate of the derivative, the jvp by the derivative.
    answers = references.enclose(batch(QUOTIENT, "vjp", (0, 1), [a, b], [w], COMPLEX64))
    for answer, slope in zip(answers, (by_a, by_b), strict=True):
        assert_complex(answer, times(cotangent, conjugate(slope)))
    (answer,) = references.enclose(batch(QUOTIENT, "jvp", (1,), [a, b], [v], COMPLEX64))
    assert_complex(answer, times(tangent, by_b))
    (answer,) = references.enclose(batch(QUOTIENT, "forward", (0, 1), [a, b], [], COMPLEX64))
    assert_complex(answer, times(x, by_a))
    assert references.disagreements == []


def assert_complex(answer: Any, value: list[Fraction]) -> None:
    assert answer.imag is not None
    for e, part in zip((answer.real, answer.imag), value, strict=True):
        low, high = bounds(e)
        assert low <= part <= high
        assert terms(e) >= abs(part)


def test_complex_functions_follow_the_convention() -> None:
    z, w = 1.5 - 2j, 0.5 + 1j
    for f, due in (
        (function("z * z", "z", lambda _, z: z * z), w * (2 * z).conjugate()),
        (function("conj(z)", "z", lambda m, z: m.conj(z)), w.conjugate()),
        (function("z**3", "z", lambda m, z: m.power(z, 3)), w * (3 * z * z).conjugate()),
        (function("real(z)", "z", lambda m, z: m.real(z)), complex(w.real, 0)),
    ):
        references = References()
        (answer,) = references.enclose(batch(f, "vjp", (0,), [z], [w], COMPLEX64))
        assert complex(answer.real.head[0], answer.imag.head[0]) == due  # type: ignore[union-attr]
        assert references.disagreements == []
    exp = function("exp(z)", "z", lambda m, z: m.exp(z))
    (answer,) = References().enclose(batch(exp, "jvp", (0,), [z], [1.0], COMPLEX64))
    assert answer.imag is not None
    assert complex(answer.real.head[0], answer.imag.head[0]) == pytest.approx(np.exp(z))


def test_complex_operations_that_are_not_written_are_refused() -> None:
    f = function("erf(z)", "z", lambda m, z: m.erf(z))
    with pytest.raises(AuditError, match="no complex erf. These exist: abs, add"):
        References().enclose(batch(f, "vjp", (0,), [1j], [1j], COMPLEX64))


def test_a_mapped_function_is_the_stack_of_its_rows() -> None:
    f = function("a / sum(b)", "a b", lambda m, a, b: m.divide(a, m.sum(b)), elementwise=False)
    a, b, w = np.array([[1.0, 2.0, 3.0]]), np.array([[[1.0, 2.0, 4.0], [1.0, 6.0, 8.0]]]), np.array([[1.0, 1.0, 2.0]])
    asked = Batch("mapped", f, FLOAT64, Mode("vjp", (0, 1)), (a, b), (w,), wrap="vmap 0,1")
    references = References()
    for_a, for_b = references.enclose(asked)
    totals = b[0].sum(axis=0)
    assert for_a.real.head == pytest.approx(w[0] / totals)
    assert for_b.real.head.reshape(2, 3) == pytest.approx(np.tile(-w[0] * a[0] / totals**2, (2, 1)))
    assert references.disagreements == []


def test_large_programs_are_interpreted_to_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    a, b, w = (rng.integers(1, 100, shape).astype(float) for shape in ((2, 4, 4), (2, 4, 4), (2, 4, 4)))
    f = function("a @ b / (1 + a * a)", "a b", lambda m, a, b: m.divide(m.matmul(a, b), 1 + a * a), elementwise=False)
    asked = batch(f, "vjp", (0, 1), [a, b], [w])
    generated = References().enclose(asked)
    monkeypatch.setattr(evaluate, "LARGEST_GENERATED", 0)
    references = References()
    for one, other in zip(generated, references.enclose(asked), strict=True):
        assert (one.real.head == other.real.head).all()
        assert (one.real.radius == other.real.radius).all()
        assert (one.real.terms == other.real.terms).all()
    assert references.disagreements == []
    # More elements than are checked one by one: one direction meets them all.
    assert len(generated[0].real) == 32


def test_only_the_compared_arguments_are_answered() -> None:
    asked = Batch(
        "one", QUOTIENT, FLOAT64, Mode("vjp", (0, 1)), (np.ones(3), np.ones(3)), (np.ones(3),), compared=(1,)
    )  # fmt: skip
    (answer,) = References().enclose(asked)
    assert answer.argument == "b"


def test_a_constant_function_has_a_derivative_of_zero() -> None:
    f = function("3", "x", lambda _, __: 3.0)
    references = References()
    (answer,) = references.enclose(batch(f, "grad1", (0,), [[1.0, 2.0]], [[1.0, 1.0]]))
    assert answer.real.head.tolist() == [0.0, 0.0]
    assert not answer.real.state.any()
    (answer,) = references.enclose(batch(f, "forward", (0,), [[1.0, 2.0]], []))
    assert answer.real.head.tolist() == [3.0, 3.0]
    assert references.disagreements == []
