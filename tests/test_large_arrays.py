"""Arrays of thousands of elements: one wrong element among 4096 is found, and small ones agree with large ones."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from audit.case import Tolerance
from audit.formats import FLOAT32
from audit.reference import References, State, balls, certify, derivative, evaluate, terms
from audit.reference.operations import OPERATIONS, Step
from audit.verdict import VERDICTS, Verdict, judge
from tests.reference_examples import MATMUL, batch, function

COUNT = 4096
WAVE = function("sum(sin(x) * exp(x))", "x", lambda m, x: m.sum(m.sin(x) * m.exp(x)), elementwise=False)
CUMULATIVE = function("cumsum(x)", "x", lambda m, x: m.cumsum(x, axis=0), elementwise=False)
NORMAL = function(
    "layer_norm(x)", "x", lambda m, x: (x - m.mean(x)) * m.rsqrt(m.mean(m.square(x - m.mean(x))) + 1), elementwise=False
)


def dyadic(*shape: int) -> np.ndarray[Any, Any]:
    return np.round(np.random.default_rng(len(shape)).uniform(-2, 2, shape) * 64) / 64


def test_one_element_of_4096_off_by_a_hundredth_is_found() -> None:
    x, w = dyadic(1, COUNT), np.ones(1)
    references = References()
    (answer,) = references.enclose(batch(WAVE, "vjp", (0,), [x], [w], FLOAT32))
    assert references.disagreements == []
    right = answer.real.to_format(FLOAT32)
    got = right.value.copy()
    got[1234] *= 1.01
    verdicts = judge(got, right, FLOAT32, Tolerance()).verdict
    assert [VERDICTS[code] for code in verdicts[[1233, 1234, 1235]]] == [
        Verdict.MATCH, Verdict.INACCURATE, Verdict.MATCH,
    ]  # fmt: skip
    assert (verdicts != verdicts[0]).sum() == 1
    due = np.exp(x[0]) * (np.sin(x[0]) + np.cos(x[0]))
    assert right.value == pytest.approx(due, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kind", ["vjp", "jvp"])
def test_a_wrong_rule_for_one_element_of_4096_is_found(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    entry = OPERATIONS["sin"]
    (right,) = entry.pulls
    assert right is not None

    def change(s: Step) -> int:
        node = s.record.nodes[s.operands[0]]  # type: ignore[attr-defined]
        factor = Fraction(101, 100) if node.parameter == "p0.1234" else Fraction(1)
        return s("multiply", s.number(factor), right(s))

    for cached in (derivative._task, evaluate._generated, evaluate.operator):
        cached.cache_clear()
    monkeypatch.setitem(OPERATIONS, "sin", replace(entry, pulls=(change,)))
    references = References(opinions=0)
    weights = [np.ones(1)] if kind == "vjp" else [np.ones((1, COUNT))]
    references.enclose(batch(WAVE, kind, (0,), [dyadic(1, COUNT)], weights))
    derivative._task.cache_clear()
    assert "the reverse sweep gives" in references.disagreements[0]


def test_a_cumulative_sum() -> None:
    w = dyadic(1, COUNT)
    (answer,) = References().enclose(batch(CUMULATIVE, "vjp", (0,), [dyadic(1, COUNT)], [w]))
    assert answer.real.head.tolist() == w[0, ::-1].cumsum()[::-1].tolist()


def test_a_matrix_product_of_4096_products_a_column() -> None:
    a, b, w = dyadic(1, 16, 256), dyadic(1, 256, 2), np.ones((1, 16, 2))
    for_a, for_b = References().enclose(batch(MATMUL, "vjp", (0, 1), [a, b], [w]))
    assert for_a.real.head.tolist() == (w[0] @ b[0].T).reshape(-1).tolist()
    assert for_b.real.head.tolist() == (a[0].T @ w[0]).reshape(-1).tolist()


def test_sizes_computed_at_once_are_those_of_the_recorded_program(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = batch(NORMAL, "vjp", (0,), [dyadic(3, 9)], [dyadic(3, 9)])
    (recorded,) = References().enclose(asked)
    monkeypatch.setattr(certify, "LARGEST_RECORDED", 0)
    (measured,) = References().enclose(asked)
    assert np.isfinite(recorded.real.terms).all()
    assert measured.real.terms == pytest.approx(recorded.real.terms, rel=1e-12)


@pytest.mark.parametrize("name", ["log", "tanh", "maximum", "divide"])
def test_sizes_of_single_operations_at_once(name: str) -> None:
    arity = len(OPERATIONS[name].pulls)
    f = function(name, "x y", lambda m, x, y: getattr(m, name)(*[x * y, x + y][:arity]))
    (column,) = derivative.columns(batch(f, "forward", (), [3.0, 0.5], []))
    program = column.program
    numbers = evaluate.everything(program, balls.BALLS, balls.from_floats(np.array([3.0, 0.5])))
    assert numbers is not None
    (size,) = terms.measure(program, numbers, balls.BALLS)
    ((due,),) = balls.values(terms.sizes(program), [[x] for x in balls.from_floats(np.array([3.0, 0.5]))])
    assert size.overlaps(due)


def test_states_of_a_large_array() -> None:
    x = dyadic(1, COUNT)
    x[0, 7] = np.inf
    (answer,) = References().enclose(batch(NORMAL, "vjp", (0,), [x], [np.ones((1, COUNT))]))
    assert (answer.real.state == State.UNDEFINED).all()


def test_a_step_beside_a_tie_of_huge_numbers_accuses_nobody() -> None:
    # The step that is small beside such numbers is far beyond the region in which the weights change.
    cumulative = function("lcse(x)", "x", lambda m, x: m.logcumsumexp(np.asarray(x), -1), elementwise=False)
    tied = np.full((1, 3), 2.0**1000)
    references = References()
    (answer,) = references.enclose(batch(cumulative, "vjp", (0,), [tied], [np.array([[0.0, 0.0, -1.125]])]))
    assert references.disagreements == []
    assert answer.real.to_format(FLOAT32).value == pytest.approx([-0.375] * 3)
