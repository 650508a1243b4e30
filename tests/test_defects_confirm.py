"""The second method: mpmath on the body alone agrees with the reference in every mode, and objects to a wrong one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from defect_examples import REFERENCES, STOCK, function, rows_of

from audit.case import Batch, Function, Mode
from audit.defects.again import Asker, Place, place_of
from audit.defects.confirm import confirm
from audit.defects.opinion import estimate
from audit.defects.subjects import Subject
from audit.formats import COMPLEX64, FLOAT32, FLOAT64
from audit.report import record

MIXED = function(
    "mixed", lambda x, y: mx.exp(x) * mx.sin(x * y), lambda m, x, y: m.multiply(m.exp(x), m.sin(x * y)), ("x", "y")
)
ARRAY = replace(MIXED, name="mixed arrays", elementwise=False)
ONE = function("one", lambda x: mx.exp(x * x), lambda m, x: m.exp(x * x))
KINDS = ("forward", "vjp", "jvp", "second-rr", "second-fr", "second-rf", "third")


def batch(kind: str, f: Function, shape: tuple[int, ...] = ()) -> Batch:
    rng = np.random.default_rng(3)
    x, y, *more = (np.rint(rng.uniform(-2, 2, (1, *shape)) * 8) / 8 + 0.0625 for _ in range(5))
    traced = () if kind == "forward" else (0, 1)
    mode = Mode(kind, traced)  # type: ignore[arg-type]
    return Batch("opinions", f, FLOAT64, mode, (x, y), tuple(more[: mode.weights]))


def places(made: Batch) -> list[tuple[Place, dict[str, Any]]]:
    subject = Subject(made.function.name, made.function)
    return [(place_of(row, subject), row) for row in rows_of([made]).to_pylist()]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(), (2,)], ids=["scalar", "array"])
def test_every_mode_has_an_opinion_that_agrees(kind: str, shape: tuple[int, ...]) -> None:
    for place, row in places(batch(kind, ARRAY if shape else MIXED, shape)):
        found, right = estimate(place), record.right(row)
        assert found is not None
        assert right is not None
        assert found.agrees(right), (found.text, right[0].decimal())
        (part,) = right
        wrong = replace(part, residual=part.residual + 0.01)
        assert found.agrees([wrong]) is False


@pytest.mark.parametrize("kind", ["grad1", "grad2", "grad3", "hessian-rr", "hessian-fr"])
def test_repeated_gradients_have_one(kind: str) -> None:
    x, w = np.array([0.75]), np.array([-1.5])
    for place, row in places(Batch("opinions", ONE, FLOAT64, Mode(kind, (0,)), (x,), (w,))):  # type: ignore[arg-type]
        found, right = estimate(place), record.right(row)
        assert found is not None
        assert right is not None
        assert found.agrees(right)


@pytest.mark.parametrize("kind", ["forward", "vjp", "jvp"])
def test_complex_numbers_have_one_in_both_parts(kind: str) -> None:
    f = function("product", lambda x, y: x * x * y, lambda m, x, y: m.multiply(m.multiply(x, x), y), ("x", "y"))
    z, v = np.array([1.5 - 0.5j]), np.array([0.25 + 2j])
    traced = () if kind == "forward" else (0, 1)
    weights = {"forward": (), "vjp": (v,), "jvp": (v, z)}[kind]
    made = Batch("opinions", f, COMPLEX64, Mode(kind, traced), (z, v), weights)  # type: ignore[arg-type]
    for place, row in places(made):
        found, right = estimate(place), record.right(row)
        assert found is not None
        assert right is not None
        assert found.agrees(right), (found.text, [part.decimal() for part in right])
        turned = [right[0], replace(right[1], value=-right[1].value)]
        assert right[1].value == 0 or found.agrees(turned) is False


def test_beside_a_kink_there_is_an_opinion_and_at_it_none() -> None:
    f = function("kink", mx.abs, lambda m, x: m.abs(x))
    subject = Subject("kink", f)
    for x, agrees in ((0.5, True), (0.0, None)):
        made = Batch("opinions", f, FLOAT32, Mode("vjp", (0,)), (np.array([x]),), (np.array([1.0]),))
        found = estimate(Place(subject, made, "x", 0))
        assert found is not None
        right = [record.Enclosure(1.0, 0.0, 0.0, FLOAT32)]
        assert found.agrees(right) is agrees
        assert found.kinked == (agrees is None)


def test_a_right_value_beyond_the_format_agrees_by_its_side() -> None:
    f = function("exp", mx.exp, lambda m, x: m.exp(x))
    made = Batch("opinions", f, FLOAT32, Mode("forward", ()), (np.array([100.0]),), ())
    found = estimate(Place(Subject("exp", f), made, "output", 0))
    assert found is not None
    assert found.agrees([record.Enclosure(np.inf, 0.0, 0.0, FLOAT32)])
    assert found.agrees([record.Enclosure(-np.inf, 0.0, 0.0, FLOAT32)]) is False


def test_a_wrong_right_value_is_contradicted() -> None:
    f = function("square", mx.square, lambda m, x: m.square(x))
    (pair,) = places(Batch("opinions", f, FLOAT32, Mode("vjp", (0,)), (np.array([3.0]),), (np.array([1.0]),)))
    place, row = pair
    asker = Asker(STOCK, REFERENCES)
    good = confirm(place, row, asker)
    assert good.confirmed
    assert not good.contradicted
    bad = confirm(place, row | {"right": 6.5}, asker)
    assert bad.contradicted
    assert not bad.confirmed


def test_what_mpmath_cannot_do_is_no_opinion() -> None:
    def body(m: Any, x: Any) -> Any:
        return m.log(x)

    f = function("log", mx.log, body)
    made = Batch("opinions", f, FLOAT32, Mode("vjp", (0,)), (np.array([0.0]),), (np.array([1.0]),))
    found = estimate(Place(Subject("log", f), made, "x", 0))
    assert found is None or found.agrees([record.Enclosure(1.0, 0.0, 0.0, FLOAT32)]) is not True
