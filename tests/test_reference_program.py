"""Programs, the reverse sweep, and that a wrong derivative rule does not get past the checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from audit.case import Function
from audit.reference import References, State, balls, derivative, evaluate, mpmath_check
from audit.reference.adjoint import pull_back, push_forward
from audit.reference.operations import OPERATIONS, Operation, Step
from audit.reference.program import Builder, Program
from tests.reference_examples import (
    IDENTITY,
    MATMUL,
    QUOTIENT,
    RATIO,
    SCALED,
    SQUARED,
    WAVE,
    batch,
    unary,
)


@pytest.fixture
def fresh() -> object:
    """Forget programs that were recorded or compiled under other rules, before and after."""

    def forget() -> None:
        derivative._task.cache_clear()
        evaluate._generated.cache_clear()
        evaluate.operator.cache_clear()

    forget()
    yield
    forget()


def wrong(entry: Operation, place: int, change: Callable[[Step, int], int]) -> Operation:
    pulls = list(entry.pulls)
    right = pulls[place]
    assert right is not None
    pulls[place] = lambda s: change(s, right(s))
    return replace(entry, pulls=tuple(pulls))


PLANTED: dict[str, tuple[Function, str, int, Callable[[Step, int], int]]] = {
    "sign": (QUOTIENT, "divide", 1, lambda s, x: s("negative", x)),
    "squared denominator missing": (QUOTIENT, "divide", 1, lambda s, x: s("multiply", x, s.operands[1])),
    "a factor of 2": (SCALED, "multiply", 1, lambda s, x: s("multiply", s.number(2), x)),
    "one part in 2**100": (QUOTIENT, "divide", 0, lambda s, x: s("multiply", x, s.number(1 + Fraction(1, 2**100)))),
    "operands exchanged": (RATIO, "divide", 0, lambda s, _: s("divide", s.cotangent, s.operands[0])),
    "cotangent dropped": (QUOTIENT, "divide", 0, lambda s, _: s("divide", s.number(1), s.operands[1])),
    "sine for cosine": (WAVE, "sin", 0, lambda s, _: s("multiply", s.cotangent, s("sin", s.operands[0]))),
    "tanh unsquared": (unary("tanh"), "tanh", 0, lambda s, _: s("divide", s.cotangent, s("cosh", *s.operands))),
    "half of a square": (SQUARED, "square", 0, lambda s, x: s("multiply", s.number(Fraction(1, 2)), x)),
}  # fmt: skip


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("opinions", [0, 1])
def test_a_wrong_rule_is_caught_by_the_taylor_series(name: str, opinions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    f, operation, place, change = PLANTED[name]
    monkeypatch.setitem(OPERATIONS, operation, wrong(OPERATIONS[operation], place, change))
    count = len(f.arguments)
    primals = [[1.25, 3.0], [0.75, -2.5], [1.5, 0.625]][:count]
    references = References(opinions=opinions)
    answers = references.enclose(batch(f, "vjp", tuple(range(count)), primals, [[3.0, 0.5]]))
    assert any((answer.real.state == State.INCONCLUSIVE).all() for answer in answers)
    assert any("reverse sweep" in message and "Taylor" in message for message in references.disagreements)
    # What is in doubt is not kept.
    reused = references.reused
    references.enclose(batch(f, "vjp", tuple(range(count)), primals, [[3.0, 0.5]]))
    assert references.reused - reused < 2 * count


@pytest.mark.usefixtures("fresh")
def test_one_wrong_element_of_an_array_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = OPERATIONS["dot"]
    right = entry.factor
    assert right is not None

    def change(s: Step) -> int:
        # Only where the other operand is element 5 of the second matrix.
        x = right(s)
        node = s.record.nodes[x]  # type: ignore[attr-defined]
        return s("multiply", s.number(Fraction(101, 100)), x) if node.parameter == "p1.5" else x

    monkeypatch.setitem(OPERATIONS, "dot", replace(entry, factor=change))
    a, b, w = np.arange(1.0, 41).reshape(1, 8, 5), np.arange(1.0, 41).reshape(1, 5, 8), np.ones((1, 8, 8))
    references = References(opinions=0)
    for_a, for_b = references.enclose(batch(MATMUL, "vjp", (0, 1), [a, b], [w]))
    assert for_a.real.state.all()
    assert not for_b.real.state.any()
    assert len(references.disagreements) == len(for_a.real)


@pytest.mark.usefixtures("fresh")
def test_a_rule_and_a_series_that_are_wrong_alike_are_caught_by_mpmath(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = wrong(OPERATIONS["sin"], 0, lambda s, x: s("negative", x))
    monkeypatch.setitem(OPERATIONS, "sin", replace(entry, series="(-{0}).sin()"))
    references = References(opinions=2)
    (answer,) = references.enclose(batch(unary("sin"), "grad1", (0,), [np.linspace(0.5, 2.0, 64)], [[1.0] * 64]))
    assert np.flatnonzero(answer.real.state == State.INCONCLUSIVE).tolist() == [0, 63]
    assert len(references.disagreements) == 2
    assert all("mpmath gives" in message for message in references.disagreements)
    assert "x = 0.5" in references.disagreements[0]


@pytest.mark.usefixtures("fresh")
def test_a_ball_that_misses_its_exact_value_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPERATIONS, "divide", replace(OPERATIONS["divide"], rational="{0} / {1} + {0}"))
    references = References(opinions=0)
    (answer,) = references.enclose(batch(QUOTIENT, "forward", (0, 1), [[1.0, 2.0], [3.0, 4.0]], []), exact=True)
    assert answer.real.state.tolist() == [State.INCONCLUSIVE] * 2
    assert all("is not in the ball" in message for message in references.disagreements)


def test_opinions_are_asked_at_points_spread_over_the_batch() -> None:
    assert mpmath_check.sample(100, 4) == [0, 33, 66, 99]
    assert mpmath_check.sample(3, 4) == [0, 1, 2]
    assert mpmath_check.sample(5, 1) == [0]
    assert mpmath_check.sample(5, 0) == []


def test_equal_nodes_are_recorded_once_and_signs_move_outwards() -> None:
    builder = Builder()
    x, y = builder.input("p0.0"), builder.input("p1.0")
    product = builder.apply("multiply", x, y)
    assert builder.apply("multiply", y, x) == product
    assert builder.apply("multiply", builder.constant(1), x) == x
    assert builder.apply("negative", builder.apply("negative", x)) == x
    minus = builder.apply("negative", x)
    assert builder.apply("multiply", minus, builder.apply("negative", y)) == product
    assert builder.apply("divide", minus, y) == builder.apply("negative", builder.apply("divide", x, y))
    assert builder.apply("add", y, minus) == builder.apply("subtract", y, x)
    assert builder.apply("subtract", y, minus) == builder.apply("add", x, y)
    assert builder.value(builder.apply("divide", builder.constant(1), builder.constant(3))) == Fraction(1, 3)
    inverse = builder.apply("divide", builder.constant(1), y)
    assert builder.apply("multiply", x, inverse) == builder.apply("divide", x, y)
    # Nothing cancels by itself, lest the size of what cancels be lost.
    assert builder.value(builder.apply("divide", x, x)) is None
    assert builder.value(builder.apply("subtract", x, x)) is None


def test_programs_hold_what_is_needed_and_nothing_else() -> None:
    builder = Builder()
    x, y = builder.input("p0.0"), builder.input("p1.0")
    builder.apply("exp", y)
    program = builder.extract([builder.apply("square", x)])
    assert program.inputs == ("p0.0",)
    assert program.text == "v0 = input p0.0\nv1 = square v0\nreturn v1"
    assert program.rational
    assert not builder.extract([builder.apply("exp", x)]).rational
    other = Builder()
    assert other.extract(other.include(program)) == program


def test_the_sweep_is_a_transformation_that_applies_to_its_own_result() -> None:
    builder = Builder()
    x = builder.input("x")
    power = builder.apply("integer_power", x, parameter=5)
    node = power
    for factor, exponent in ((5, 4), (20, 3), (60, 2), (120, 1), (120, 0), (0, 0)):
        (node,) = pull_back(builder, [node], [builder.constant(1)], [x])
        ((value,),) = balls.values(Program(tuple(builder.nodes), (node,)), [[arb(3)]])
        assert value == factor * 3**exponent


def test_pushing_forward_is_the_transpose_of_pulling_back() -> None:
    builder = Builder()
    x, y = builder.input("x"), builder.input("y")
    outputs = [builder.apply("multiply", x, y), builder.apply("divide", x, y)]
    v, w = ([builder.input(f"{letter}{k}") for k in range(2)] for letter in "vw")
    pushed = push_forward(builder, outputs, [x, y], v)
    pulled = pull_back(builder, outputs, w, [x, y])
    program = Program(tuple(builder.nodes), (*pushed, *pulled))
    numbers = {"x": 3, "y": 4, "v0": 5, "v1": -7, "w0": 11, "w1": 13}
    found = balls.values(program, [[arb(numbers.get(name, 0))] for name in program.inputs])
    j0, j1, g0, g1 = (values[0] for values in found)
    assert j0 * 11 + j1 * 13 == g0 * 5 + g1 * -7


@pytest.mark.parametrize("f", [SCALED, SQUARED, IDENTITY], ids=lambda f: f.text)
def test_vjp_and_jvp_of_one_argument_are_one_computation(f: Function) -> None:
    primals, weights = [[1.5, 3.0], [0.75, -2.0]], [[1.0, -0.5]]
    references = References()
    for kind in ("vjp", "grad1", "jvp"):
        references.enclose(batch(f, kind, (1,), primals, weights))
    assert (references.computed, references.reused) == (2, 4)
    references.enclose(batch(f, "vjp", (0, 1), primals, weights))
    assert (references.computed, references.reused) == (4, 6)


def test_the_same_question_has_the_same_answer() -> None:
    rng = np.random.default_rng(3)
    a, b, w = (np.ldexp(rng.uniform(1, 2, 500), rng.integers(-1000, 1000, 500)) for _ in range(3))
    asked = batch(QUOTIENT, "vjp", (0, 1), [a, b], [w])
    first, second = (References(opinions=k).enclose(asked) for k in (4, 0))
    for one, other in zip(first, second, strict=True):
        for name in ("head", "tail", "radius", "exponent", "state"):
            assert (getattr(one.real, name) == getattr(other.real, name)).all()
