"""A case that names other names speaks for them rightly."""

from __future__ import annotations

import mlx.core as mx
import pytest
from spelling import reached, same_graph

from audit.catalogue import operations_of_cases, plain
from audit.operation import Operation
from audit.versions import SUPPORTED, older, version

pytestmark = pytest.mark.skipif(
    older(version(), SUPPORTED[-1]), reason="cases are written for the newest version, and older ones lack names"
)

ALSO = [(operation, alias) for operation in operations_of_cases() for alias in operation.also]


@pytest.mark.parametrize(("operation", "alias"), ALSO, ids=[f"{one.name} as {alias}" for one, alias in ALSO])
def test_the_call_uses_the_name_or_mlx_makes_the_same_graph_of_both(operation: Operation, alias: str) -> None:
    same_name = [one for one in operations_of_cases() if plain(one.name) == plain(operation.name)]
    assert any(reached(one, alias) or same_graph(one, alias) for one in same_name), (
        f"nothing of {operation.name} shows {alias} to be right: let its call use {alias}, or give {alias} an operation"
    )


def made(name: str, call: object, *arguments: str, **parameters: tuple[object, ...]) -> Operation:
    assert callable(call)
    shapes = (((2, 3),) * len(arguments),)
    return Operation(name, arguments, call, lambda m, *a, **p: a[0], shapes, parameters)  # noqa: ARG005


def subtract(a: mx.array, b: mx.array) -> mx.array:
    return mx.subtract(a, b)


def transpose(x: mx.array) -> mx.array:
    return mx.transpose(x)


SUM = made("mx.sum", lambda x, axis: mx.sum(x, axis=axis), "x", axis=(None, 0))


@pytest.mark.parametrize(
    ("operation", "alias"),
    [
        (SUM, "mx.array.sum"),
        (made("mx.exp", mx.exp, "x"), "mx.array.exp"),
        (made("mx.subtract", subtract, "a", "b"), "mx.array.__rsub__"),
        (made("mx.subtract", mx.subtract, "a", "b"), "mx.array.__isub__"),
        (made("mx.transpose", transpose, "x"), "mx.array.T"),
        (made("nn.relu", lambda x: mx.maximum(x, 0), "x"), "mx.maximum"),
    ],
)
def test_another_spelling_is_recognised(operation: Operation, alias: str) -> None:
    assert reached(operation, alias) or same_graph(operation, alias)


@pytest.mark.parametrize(
    ("operation", "alias"),
    [
        (SUM, "mx.array.mean"),
        (made("mx.exp", mx.exp, "x"), "mx.array.log"),
        (made("mx.subtract", mx.subtract, "a", "b"), "mx.array.__add__"),
        (made("mx.subtract", mx.add, "a", "b"), "mx.array.__sub__"),
        (made("mx.transpose", lambda x: mx.transpose(x, (0, 1)), "x"), "mx.array.T"),
        (made("mx.sum", mx.sum, "x", axis=(0, None)), "mx.mean"),
    ],
)
def test_another_function_is_not(operation: Operation, alias: str) -> None:
    assert not reached(operation, alias)
    assert not same_graph(operation, alias)


def test_a_right_handed_operator_takes_its_arguments_the_other_way_round() -> None:
    wrong = made("mx.subtract", lambda a, b: mx.subtract(b, a), "a", "b")
    assert same_graph(wrong, "mx.array.__sub__")
    assert not same_graph(made("mx.subtract", lambda a, b: a - b, "a", "b"), "mx.array.__rsub__")


def test_mlx_is_left_as_it_was() -> None:
    before = (mx.sum, mx.array.__dict__["sum"], mx.array.__dict__["T"])
    assert same_graph(SUM, "mx.array.sum")
    assert not reached(SUM, "mx.array.T")
    assert (mx.sum, mx.array.__dict__["sum"], mx.array.__dict__["T"]) == before
