"""The witness: its bound holds, it is taken where it should be, and it accuses the reference only with proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from audit.case import Batch, Function, Implementation, Mode
from audit.comparison import WITNESSED_MISMATCHES, Question, compare
from audit.difference import Differences, Witness
from audit.formats import FLOAT16, FLOAT32, FLOAT64, REAL_FORMATS, Format
from audit.identity import Origin
from audit.reference import Answer, References
from audit.verdict import MISMATCHES

ORIGIN = Origin("check", "1", "check")


def batch(
    body: Callable[..., Any], kind: str, traced: tuple[int, ...], primals: list[Any], weights: list[Any]
) -> Batch:
    arrays = tuple(np.array(p, np.float64) for p in primals)
    names = tuple("abc"[: len(arrays)])
    function = Function("f", names, body, "f", elementwise=arrays[0].ndim == 1)
    mode = Mode(kind, traced)  # type: ignore[arg-type]
    return Batch("witness", function, FLOAT32, mode, arrays, tuple(np.array(w, np.float64) for w in weights))


X, Y, W = [0.75, 1.5, -2.5, 0.0078125], [1.25, -3.0, 0.5, 64.0], [1.0, -0.5, 2.0, 1.0]
ONES = [1.0] * 4
A, B = [[[1.0, -2.0, 3.0], [0.5, 1.0, -1.0]]], [[[2.0, 1.0, -4.0], [1.0, 8.0, 1.5]]]

BATCHES = {
    "vjp of a quotient": batch(lambda m, a, b: m.divide(a, b), "vjp", (0, 1), [X, Y], [W]),
    "jvp of a quotient": batch(lambda m, a, b: m.divide(a, b), "jvp", (0, 1), [X, Y], [W, ONES]),
    "jvp along one": batch(lambda m, a, b: m.divide(a, b), "jvp", (1,), [X, Y], [W]),
    "second of a reciprocal": batch(lambda m, a: m.divide(1, a), "grad2", (0,), [X], [W]),
    "third of a reciprocal": batch(lambda m, a: m.divide(1, a), "grad3", (0,), [X], [W]),
    "square root": batch(lambda m, a: m.sqrt(a), "grad1", (0,), [np.abs(X)], [W]),
    "Hessian": batch(lambda m, a, b: m.divide(a * a, b), "hessian-fr", (0, 1), [X, Y], [W]),
    "array": batch(lambda m, a, b: m.divide(a, b), "vjp", (0, 1), [A, B], [B]),
    "array, jvp": batch(lambda m, a, b: m.divide(a, b), "jvp", (0, 1), [A, B], [B, A]),
}


def taken(asked: Batch, answer: Answer, references: References) -> Witness:
    taker = Differences(references).of(asked)
    assert taker is not None
    return taker(answer, np.arange(len(answer.real)))


@pytest.mark.parametrize("name", BATCHES)
@pytest.mark.parametrize("fmt", REAL_FORMATS, ids=lambda fmt: fmt.name)
def test_the_right_value_lies_within_the_bound(name: str, fmt: Format) -> None:
    asked, references = replace(BATCHES[name], format=fmt), References()
    sharp = 0
    for answer in references.enclose(asked):
        witness = taken(asked, answer, references)
        right = answer.real.to_format(FLOAT64).value
        known = np.isfinite(witness.value)
        assert (np.abs(witness.value - right)[known] <= witness.bound[known] + 1e-15 * np.abs(right[known])).all()
        sharp += int((known & (witness.bound < np.abs(right) / 2)).sum())
    # Four ulps of a format of 8 or 11 bits leave little of a higher difference.
    assert sharp or fmt.precision < 24, "no witness says anything"


def test_a_witness_that_the_forward_value_spoils_accuses_nobody() -> None:
    asked, references = BATCHES["vjp of a quotient"], References()

    class Off:
        """Divides badly: 1 % off, and more so from call to call."""

        calls = 0

        def divide(self, a: mx.array, b: mx.array) -> mx.array:
            Off.calls += 1
            return a / b * (1 + 0.01 * Off.calls)

    differences = Differences(references, Off())
    taker = differences.of(asked)
    assert taker is not None
    answer = references.enclose(asked)[1]
    witness = taker(answer, np.arange(4))
    right = answer.real.to_format(FLOAT64).value
    assert (np.abs(witness.value - right) > witness.bound).any()
    assert differences.contradictions == []


def test_a_wrong_reference_is_accused() -> None:
    asked, references = BATCHES["vjp of a quotient"], References()
    differences = Differences(references)
    taker = differences.of(asked)
    assert taker is not None
    answer = references.enclose(asked)[1]
    wrong = replace(answer, real=replace(answer.real, head=answer.real.head * 1.5))
    taker(wrong, np.arange(4))
    assert len(differences.contradictions) == 4
    assert "the reference is not the central difference of right values" in differences.contradictions[0]


def test_points_that_are_no_numbers_of_the_format_give_no_witness() -> None:
    # The step above the largest float16 number cannot be taken.
    asked = replace(BATCHES["square root"], format=FLOAT16, primals=(np.array([65504.0]),), weights=(np.ones(1),))
    references = References()
    (answer,) = references.enclose(asked)
    assert np.isnan(taken(asked, answer, references).value).all()


class Squared:
    """MLX's own division, whose rule squares the denominator; its value can be made wrong as well."""

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def divide(self, a: mx.array, b: mx.array) -> mx.array:
        return mx.divide(a, b) * self._factor


@pytest.mark.parametrize(("factor", "wrong"), [(1.0, False), (2.0, True)])
def test_mismatches_say_whether_the_value_is_wrong_too(factor: float, wrong: bool) -> None:
    far = np.ldexp(1.0, np.arange(70, 70 + WITNESSED_MISMATCHES + 8))
    asked = batch(lambda m, a, b: m.divide(a, b), "vjp", (1,), [far, far], [np.ones(len(far))])
    references = References()
    question = Question(asked, ORIGIN, references.enclose(asked), Differences(references).of(asked))
    implementation = Implementation("squared", "", lambda: Squared(factor))
    rows = compare(question, implementation, references).to_pylist()
    assert all(row["verdict"] in MISMATCHES for row in rows)
    assert {row["forward_wrong"] for row in rows} == {wrong}
    assert sum(row["witness"] is not None for row in rows) == WITNESSED_MISMATCHES
    whole = replace(question, witness_all=True, forwards={})
    assert all(row["witness"] is not None for row in compare(whole, implementation, references).to_pylist())


def test_the_sum_of_a_difference_is_rounded_too() -> None:
    # Linear, so that nothing but roundings separates the difference of right values from the right derivative.
    rng = np.random.default_rng(1)
    points, weights = np.zeros((40, 3)), rng.integers(-15, 16, (40, 3)) / 8
    linear = Function(
        "f", ("a",), lambda m, a: m.multiply(a, 1 / 3) + m.multiply(m.sum(a), 1 / 7), "f", elementwise=False
    )
    asked = Batch("witness", linear, FLOAT64, Mode("vjp", (0,)), (points,), (weights,))
    references = References()
    (answer,) = references.enclose(asked)
    taker = Differences(references).of(asked)
    assert taker is not None
    taken = taker._take(answer, np.arange(120), taker._certified).witness()
    assert np.isfinite(taken.value).all()
    assert taker._apart(answer, np.arange(120), taken).size == 0


def test_an_argument_without_elements_gives_no_trouble() -> None:
    body = Function("f", ("a", "b"), lambda m, a, b: m.multiply(a, 2) + m.sum(b), "f", elementwise=False)
    primals = (np.ones((2, 3)), np.ones((2, 0)))
    asked = Batch("witness", body, FLOAT32, Mode("vjp", (0,)), primals, (np.ones((2, 3)),))
    references = References()
    (answer,) = references.enclose(asked)
    witness = taken(asked, answer, references)
    assert np.abs(witness.value - 2).max() < 1e-3


def test_a_result_without_elements_gives_no_trouble() -> None:
    body = Function("f", ("a", "b"), lambda m, a, b: m.multiply(a, b), "f", elementwise=False)
    primals = (np.ones((2, 3)), np.ones((2, 0, 3)))
    asked = Batch("witness", body, FLOAT32, Mode("vjp", (0,)), primals, (np.ones((2, 0, 3)),))
    references = References()
    (answer,) = references.enclose(asked)
    assert answer.shape == (3,)
    # Whatever was wrong with it: nothing is summed, and the difference of nothing is exactly zero.
    witness = taken(asked, answer, references)
    assert witness.value.tolist() == [0.0] * 6
