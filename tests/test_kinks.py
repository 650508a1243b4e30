"""At a kink or a tie the right set is the hull of the one-sided derivatives, as a whole vector."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from audit.case import Batch, Function, Implementation, Mode, Tolerance
from audit.comparison import Question, compare
from audit.difference import Differences
from audit.formats import COMPLEX64, FLOAT16, FLOAT32, FLOAT64, Format
from audit.hull import settle
from audit.identity import Origin
from audit.modes import Got
from audit.reference import References, State, at_points
from audit.reference.operations import OPERATIONS
from audit.verdict import VERDICTS, Verdict, judge
from tests.reference_examples import batch, function, unary

LARGER = function("maximum(x, y)", "x y", lambda m, x, y: m.maximum(x, y))
SMALLER = function("minimum(x, y)", "x y", lambda m, x, y: m.minimum(x, y))
RELU = function("where(x > 0, x, 0)", "x", lambda m, x: m.where(x > 0, x, 0 * x))
JUMP = function("where(x > 0, x, 1)", "x", lambda m, x: m.where(x > 0, x, 0 * x + 1))
LARGEST = function("max(x)", "x", lambda m, x: m.max(x), elementwise=False)
SORTED = function("sort(x)", "x", lambda m, x: m.sort(x), elementwise=False)
CLIPPED = function("clip(x, -1, 1)", "x", lambda m, x: m.minimum(m.maximum(x, -1), 1))


def states(f: Function, kind: str, primals: Any, weights: Any) -> list[list[State]]:
    references = References()
    answers = references.enclose(batch(f, kind, tuple(range(len(f.arguments))), primals, weights))
    assert references.disagreements == []
    return [[State(s) for s in answer.real.state] for answer in answers]


def corners(f: Function, kind: str, primals: Any, weights: Any) -> list[list[tuple[float, ...]]]:
    """The vertices of each hull, in any order."""
    references = References()
    answers = references.enclose(batch(f, kind, tuple(range(len(f.arguments))), primals, weights))
    assert references.disagreements == []
    return [
        sorted(tuple(v) for v in (hull.vertices.head * 2.0**hull.vertices.exponent).tolist())
        for hull in answers[0].hulls
    ]


def verdicts(
    f: Function, kind: Any, primals: Any, weights: Any, got: list[Any], fmt: Format = FLOAT32, ulps: float = 4.0
) -> list[list[Verdict]]:
    """The verdicts of what is said to have been got, one list an argument."""
    asked = batch(f, kind, tuple(range(len(f.arguments))), primals, weights, fmt)
    answers = References().enclose(asked)
    rounded = [(a.real.to_format(fmt), None) for a in answers]
    shaped = [Got(a.argument, np.asarray(g, float).reshape(1, *a.shape)) for a, g in zip(answers, got, strict=True)]
    settled, _ = settle(answers, rounded, [fmt] * len(answers), shaped)
    return [
        [VERDICTS[code] for code in judge(g.real.reshape(-1), right, fmt, Tolerance(ulps)).verdict]
        for g, (right, _) in zip(shaped, settled, strict=True)
    ]


def test_the_hull_of_a_tie_of_two() -> None:
    assert states(LARGER, "vjp", [[2.0, 1.0], [2.0, 2.0]], [[3.0, 3.0]]) == [[State.SET, State.KNOWN]] * 2
    assert corners(LARGER, "vjp", [2.0, 2.0], [3.0]) == [[(0.0, 3.0), (3.0, 0.0)]]
    assert corners(SMALLER, "vjp", [2.0, 2.0], [3.0]) == [[(0.0, 3.0), (3.0, 0.0)]]
    assert corners(LARGER, "jvp", [2.0, 2.0], [3.0, 5.0]) == [[(3.0,), (5.0,)]]
    # Along a direction that keeps the tie there is one derivative.
    assert states(LARGER, "jvp", [2.0, 2.0], [3.0, 3.0]) == [[State.KNOWN]]


@pytest.mark.parametrize("fmt", [FLOAT16, FLOAT32, FLOAT64], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("got", [(1, 0), (0, 1), (0.5, 0.5), (0.25, 0.75)])
def test_a_combination_of_one_sided_derivatives_is_right(got: tuple[float, float], fmt: Format) -> None:
    assert verdicts(LARGER, "vjp", [2.0, 2.0], [1.0], list(got), fmt) == [[Verdict.MATCH]] * 2


@pytest.mark.parametrize("fmt", [FLOAT16, FLOAT32, FLOAT64], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("got", [(1, 1), (0, 0), (2, -1), (0.5, 0.625), (-1, 0), (np.nan, 0), (np.inf, 0)])
def test_what_is_not_in_the_hull_is_wrong(got: tuple[float, float], fmt: Format) -> None:
    found = [verdict for (verdict,) in verdicts(LARGER, "vjp", [2.0, 2.0], [1.0], list(got), fmt)]
    assert found != [Verdict.MATCH] * 2
    assert set(found) <= {Verdict.MATCH, Verdict.WRONG, Verdict.INACCURATE, Verdict.NAN, Verdict.OVERFLOWED,
                          Verdict.NONZERO, Verdict.SIGN, Verdict.VANISHED}  # fmt: skip


def test_a_hair_outside_the_hull_is_wrong_and_a_rounding_is_not() -> None:
    ulp = 2.0**-23
    for off, due in ((2 * ulp, Verdict.MATCH), (64 * ulp, Verdict.INACCURATE)):
        found = verdicts(LARGER, "vjp", [2.0, 2.0], [1.0], [0.5 + off, 0.5 + off])
        assert found == [[due]] * 2


@pytest.mark.parametrize("exponent", [-120, 0, 100])
def test_hulls_have_no_scale(exponent: int) -> None:
    w = 2.0**exponent
    assert verdicts(LARGER, "vjp", [2.0, 2.0], [w], [w / 4, 3 * w / 4]) == [[Verdict.MATCH]] * 2
    assert verdicts(LARGER, "vjp", [2.0, 2.0], [w], [w, w]) != [[Verdict.MATCH]] * 2


def test_an_absolute_value_and_a_branch_have_an_interval() -> None:
    assert corners(unary("abs"), "vjp", [0.0], [3.0]) == [[(-3.0,), (3.0,)]]
    assert corners(RELU, "grad1", [0.0], [3.0]) == [[(0.0,), (3.0,)]]
    assert corners(CLIPPED, "jvp", [[-1.0, 1.0]], [[1.0, 1.0]]) == [[(0.0,), (1.0,)]] * 2
    for got, due in ((0.0, Verdict.MATCH), (-3.0, Verdict.MATCH), (1.0, Verdict.MATCH), (3.5, Verdict.INACCURATE)):
        assert verdicts(unary("abs"), "vjp", [0.0], [3.0], [got]) == [[due]]


def test_zero_lies_within_a_hull_whose_vertices_do_not_cancel_exactly() -> None:
    total = function("sum(abs(x))", "x", lambda m, x: m.sum(m.abs(x)), elementwise=False)
    tangents = [np.array([[-1.25, -1.125, -1.375, 0.75]])]
    (given,) = verdicts(total, "jvp", [np.zeros((1, 4))], tangents, [0.0])
    assert given == [Verdict.MATCH]
    (given,) = verdicts(total, "jvp", [np.zeros((1, 4))], tangents, [4.75])
    assert given == [Verdict.INACCURATE]


def test_where_a_branch_jumps_there_is_no_derivative() -> None:
    assert states(JUMP, "vjp", [[0.0, 1.0, -1.0]], [[1.0] * 3]) == [[State.UNDEFINED, State.KNOWN, State.KNOWN]]
    assert states(unary("sign"), "vjp", [0.0], [1.0]) == [[State.UNDEFINED]]
    assert states(unary("floor"), "vjp", [[1.0, 1.5]], [[1.0, 1.0]]) == [[State.UNDEFINED, State.KNOWN]]
    # Continuous after all: x sign(x) is the absolute value.
    f = function("x * sign(x)", "x", lambda m, x: x * m.sign(x))
    assert corners(f, "vjp", [0.0], [1.0]) == [[(-1.0,), (1.0,)]]


def test_a_condition_on_what_is_not_differentiated_is_no_tie() -> None:
    f = function("where(c > 0, x, 2 * x)", "c x", lambda m, c, x: m.where(c > 0, x, 2 * x))
    references = References()
    (answer,) = references.enclose(batch(f, "vjp", (1,), [0.0, 3.0], [1.0]))
    assert (answer.real.state[0], answer.real.head[0]) == (State.KNOWN, 2.0)
    (answer, _) = references.enclose(batch(f, "vjp", (0, 1), [0.0, 3.0], [1.0]))
    assert answer.real.state[0] in (State.UNDEFINED, State.KNOWN)


def test_second_derivatives_at_a_kink() -> None:
    f = function("x * abs(x)", "x", lambda m, x: x * m.abs(x))
    # The slope is continuous, its own slope is not.
    references = References()
    (first,) = references.enclose(batch(f, "vjp", (0,), [0.0], [1.0]))
    assert (first.real.state[0], first.real.head[0]) == (State.KNOWN, 0.0)
    assert corners(f, "grad2", [0.0], [1.0]) == [[(-2.0,), (2.0,)]]
    assert corners(f, "second-fr", [0.0], [1.0, 1.0]) == [[(-2.0,), (2.0,)]]
    assert states(unary("abs"), "grad2", [0.0], [1.0]) == [[State.UNDEFINED]]
    assert states(LARGER, "second-rr", [2.0, 2.0], [1.0, 1.0, 0.0]) == [[State.UNDEFINED]] * 2


def test_the_largest_of_many() -> None:
    found = corners(LARGEST, "vjp", [[[1.0, 2.0, 2.0, 2.0]]], [3.0])
    assert found == [[(0.0, 0.0, 3.0), (0.0, 3.0, 0.0), (3.0, 0.0, 0.0)]]
    for got, due in (
        ((0, 1, 0, 0), True), ((0, 1 / 3, 1 / 3, 1 / 3), True), ((0, 0.5, 0, 0.5), True), ((0, 1, 1, 1), False),
        ((0, 1, 1, 0), False), ((0, 0, 0, 0), False), ((0.5, 0.5, 0, 0), False),
    ):  # fmt: skip
        rounded = FLOAT32.round(np.array(got))
        (verdict,) = verdicts(LARGEST, "vjp", [[[1.0, 2.0, 2.0, 2.0]]], [1.0], [rounded])
        assert (set(verdict) == {Verdict.MATCH}) is due


def test_a_sort_with_equal_elements_gives_any_of_their_orders() -> None:
    primals, weights = [[[2.0, 1.0, 2.0]]], [[[1.0, 5.0, 9.0]]]
    for got, due in (((5, 1, 9), True), ((9, 1, 5), True), ((7, 1, 7), True), ((9, 1, 9), False), ((5, 9, 1), False)):
        (verdict,) = verdicts(SORTED, "vjp", primals, weights, [got])
        assert (set(verdict) == {Verdict.MATCH}) is due


def test_ties_that_do_not_matter_leave_one_derivative() -> None:
    f = function("softmax(x - max(x))", "x", lambda m, x: m.softmax(x - m.max(x)), elementwise=False)
    plain = function("softmax(x)", "x", lambda m, x: m.softmax(x), elementwise=False)
    asked = [[[1.0, 2.0, 2.0, 2.0]]], [[[3.0, 1.0, 0.5, 0.0]]]
    found = [References().enclose(batch(one, "vjp", (0,), *asked))[0].real for one in (f, plain)]
    assert (found[0].state == State.KNOWN).all()
    assert found[0].head.tolist() == found[1].head.tolist()


def test_elements_that_share_no_tie_have_hulls_of_their_own() -> None:
    f = function("maximum(x, 0)", "x", lambda m, x: m.maximum(x, 0), elementwise=False)
    x = np.zeros((1, 40))
    references = References()
    (answer,) = references.enclose(batch(f, "vjp", (0,), [x], [np.ones((1, 40))]))
    assert len(answer.hulls) == 40
    assert references.tangled == 0


def test_too_many_resolutions_are_not_guessed_at() -> None:
    f = function("sum(sort(x))", "x", lambda m, x: m.sort(x), elementwise=False)
    references = References()
    x, w = np.zeros((1, 6)), np.arange(6.0)[None]
    (answer,) = references.enclose(batch(f, "vjp", (0,), [x], [w]))
    assert (answer.real.state == State.UNDEFINED).all()
    assert references.tangled == 1


def test_hulls_are_kept_and_read(tmp_path: Any) -> None:
    asked = batch(LARGER, "vjp", (0, 1), [[2.0, 1.0], [2.0, 2.0]], [[3.0, 3.0]])
    kept = References(tmp_path)
    first = kept.enclose(asked)
    kept.keep()
    second = References(tmp_path)
    again = second.enclose(asked)
    assert second.computed == 0
    assert again[0].hulls[0].vertices.head.tolist() == first[0].hulls[0].vertices.head.tolist()
    # One argument alone has the same kept column, and a hull of its own.
    alone = second.enclose(replace(asked, compared=(1,)))
    assert second.computed == 0
    assert alone[0].hulls[0].vertices.head.shape == (2, 1)


def test_rows_say_that_it_is_a_convention() -> None:
    asked = Batch(
        "ties", LARGER, FLOAT32, Mode("vjp", (0, 1)), (np.array([2.0, 1.0]), np.array([2.0, 2.0])), (np.ones(2),)
    )  # fmt: skip
    references = References()
    question = Question(asked, Origin("families", "maximum", "1"), references.enclose(asked))
    rows = compare(question, Implementation("mlx", "stock", lambda: mx), references).to_pylist()
    assert [row["verdict"] for row in rows] == ["match"] * 4
    assert [row["convention"] for row in rows] == [True, False, True, False]
    assert sum(row["right"] for row in rows if row["point"] == 0) == 1.0

    class Both:
        """Gives each of two equal numbers the whole cotangent."""

        def __getattr__(self, name: str) -> Any:
            return getattr(mx, name)

        def maximum(self, x: mx.array, y: mx.array) -> mx.array:
            return mx.where(x == y, x + y - mx.stop_gradient(x), mx.maximum(x, y))

    wrong = compare(question, Implementation("both", "wrong", Both), references).to_pylist()
    assert [row["verdict"] for row in wrong if row["point"] == 0] == ["wrong", "wrong"]
    assert not any(row["convention"] for row in wrong if row["point"] == 0)


def test_complex_numbers_have_hulls_too() -> None:
    f = function("z + abs(real(z)) - real(z)", "z", lambda m, z: z + (m.abs(m.real(z)) - m.real(z)))
    asked = batch(f, "vjp", (0,), [[0.0 + 2.0j]], [[1.0 + 1.0j]], COMPLEX64)
    (answer,) = References().enclose(asked)
    assert answer.imag is not None
    assert (answer.real.state[0], answer.imag.state[0]) == (State.SET, State.KNOWN)


def test_a_wrong_rule_for_a_maximum_is_caught_at_a_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    from audit.reference import derivative

    entry = OPERATIONS["maximum"]
    double = tuple(lambda s, pull=pull: s("multiply", s.number(2), pull(s)) for pull in entry.pulls if pull)
    monkeypatch.setitem(OPERATIONS, "maximum", replace(entry, pulls=double))
    derivative._task.cache_clear()
    references = References(opinions=0)
    answers = references.enclose(batch(LARGER, "vjp", (0, 1), [2.0, 2.0], [1.0]))
    derivative._task.cache_clear()
    assert references.disagreements
    assert all(answer.real.state[0] == State.INCONCLUSIVE for answer in answers)


def test_answers_at_some_points_keep_their_hulls() -> None:
    f = function("max(x)", "x", lambda m, x: m.max(x), elementwise=False)
    x = np.array([[1.0, 2.0, 2.0], [1.0, 2.0, 3.0], [3.0, 3.0, 1.0]])
    (answer,) = at_points(References().enclose(batch(f, "vjp", (0,), [x], [np.ones(3)])), 1, 3)
    assert [(hull.point, hull.rows.tolist()) for hull in answer.hulls] == [(1, [3, 4])]
    assert answer.real.state.tolist() == [State.KNOWN] * 3 + [State.SET, State.SET, State.KNOWN]


@pytest.mark.parametrize("f", [RELU, unary("abs"), LARGER], ids=lambda f: f.name)
def test_no_central_difference_is_taken_across_a_kink(f: Function) -> None:
    count = len(f.arguments)
    references = References()
    asked = batch(f, "vjp", tuple(range(count)), [0.0] * count, [1.0], FLOAT32)
    taker = Differences(references).of(asked)
    assert taker is not None
    for answer in references.enclose(asked):
        assert np.isnan(taker(answer, np.array([0])).value).all()
