"""Division's rules under MLX's transforms, for shapes, layouts and streams, and in every form."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from patch_support import RULES, rule

from audit.case import Batch, Function, Mode
from audit.formats import FLOAT32
from audit.modes import ask
from audit.patches.implementations import IMPLEMENTATIONS

ALL_RULES = (*RULES, "mlx+divide-report")
# Squared, every denominator leaves float32; first and second derivatives of every pair do not.
A = mx.array(np.ldexp([[1.0, 3.0, -5.0], [7.0, -9.0, 11.0]], -120).astype(np.float32))
B = mx.array(np.ldexp([[1.0, -2.0, 3.0], [-8.0, 5.0, 12.0]], -80).astype(np.float32))


def right_vjp(a: mx.array, b: mx.array) -> tuple[np.ndarray, np.ndarray]:
    """Both gradients of the sum of a/b, in float64, summed to the shapes of the arguments."""
    wide_a, wide_b = np.broadcast_arrays(np.array(a, np.float64), np.array(b, np.float64))
    by_a, by_b = 1 / wide_b, -wide_a / wide_b**2
    return _summed(by_a, a.shape), _summed(by_b, b.shape)


def _summed(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    x = x.sum(axis=tuple(range(x.ndim - len(shape))))
    return x.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1 and x.shape[i] != 1), keepdims=True)


def assert_gradients(function: Callable[..., mx.array], a: mx.array, b: mx.array) -> None:
    got = mx.grad(lambda a, b: function(a, b).sum(), argnums=(0, 1))(a, b)
    for found, right in zip(got, right_vjp(a, b), strict=True):
        assert found.shape == right.shape
        np.testing.assert_allclose(np.array(found, np.float64), right, rtol=1e-6)


@pytest.fixture(params=ALL_RULES)
def m(request: pytest.FixtureRequest) -> Any:
    with rule(request.param) as arithmetic:
        yield arithmetic


AXES = [(0, 0), (1, 1), (0, 1), (1, 0), (0, None), (None, 0), (1, None), (None, 1)]


@pytest.mark.parametrize("axes", AXES, ids=str)
def test_gradient_of_a_map(m: Any, axes: tuple[int | None, int | None]) -> None:
    mapped = mx.vmap(m.divide, in_axes=axes)

    def looped(a: mx.array, b: mx.array) -> mx.array:
        return mx.stack([m.divide(_taken(a, axes[0], i), _taken(b, axes[1], i)) for i in range(2)])

    a, b = A[:, :2], B[:, :2]
    got, right = (mx.grad(lambda a, b, f=f: f(a, b).sum(), argnums=(0, 1))(a, b) for f in (mapped, looped))
    for one, other in zip(got, right, strict=True):
        assert mx.isfinite(other).all().item()
        np.testing.assert_allclose(np.array(one), np.array(other), rtol=1e-6)


@pytest.mark.parametrize("axes", AXES, ids=str)
def test_map_of_gradients(m: Any, axes: tuple[int | None, int | None]) -> None:
    a, b = A[:, :2], B[:, :2]
    second = mx.grad(lambda a, b: mx.grad(lambda a, b: m.divide(a, b).sum(), 1)(a, b).sum(), argnums=1)
    for gradient in (mx.grad(lambda a, b: m.divide(a, b).sum(), argnums=1), second):
        got = mx.vmap(gradient, in_axes=axes)(a, b)
        rows = [gradient(_taken(a, axes[0], i), _taken(b, axes[1], i)) for i in range(2)]
        assert mx.array_equal(got, mx.stack(rows)).item()


@pytest.mark.parametrize("axes", AXES, ids=str)
def test_map_of_jvps(m: Any, axes: tuple[int | None, int | None]) -> None:
    a, b = A[:, :2], B[:, :2]

    def jvp(a: mx.array, b: mx.array) -> mx.array:
        return mx.jvp(m.divide, [a, b], [a, -b])[1][0]

    got = mx.vmap(jvp, in_axes=axes)(a, b)
    assert mx.array_equal(got, mx.stack([jvp(_taken(a, axes[0], i), _taken(b, axes[1], i)) for i in range(2)])).item()


def test_map_of_a_map(m: Any) -> None:
    a, b = mx.stack([A, 2 * A]), mx.stack([B, B])
    assert_gradients(mx.vmap(mx.vmap(m.divide)), a, b)


def _taken(x: mx.array, axis: int | None, index: int) -> mx.array:
    return x if axis is None else mx.take(x, index, axis=axis)


def test_checkpoint(m: Any) -> None:
    assert_gradients(mx.checkpoint(m.divide), A, B)


def test_stop_gradient(m: Any) -> None:
    got = mx.grad(lambda a, b: m.divide(mx.stop_gradient(a), b).sum(), argnums=(0, 1))(A, B)
    assert mx.array_equal(got[0], mx.zeros_like(A)).item()
    np.testing.assert_allclose(np.array(got[1], np.float64), right_vjp(A, B)[1], rtol=1e-6)
    got = mx.grad(lambda a, b: mx.stop_gradient(m.divide(a, b)).sum(), argnums=1)(A, B)
    assert mx.array_equal(got, mx.zeros_like(B)).item()


@pytest.mark.parametrize("shapes", [((2, 1), (1, 3)), ((3,), (2, 3)), ((), (2, 3)), ((2, 3), ())], ids=str)
def test_broadcast_gradients_have_the_shapes_of_the_arguments(m: Any, shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b = (mx.reshape(x.reshape(-1)[: math.prod(shape)], shape) for x, shape in zip((A, B), shapes, strict=True))
    assert_gradients(m.divide, a, b)
    tangent = mx.jvp(m.divide, [a, b], [a, b])[1][0]
    assert tangent.shape == np.broadcast_shapes(*shapes)
    assert mx.all(tangent == 0).item()


def test_views_that_are_not_contiguous(m: Any) -> None:
    wide = mx.repeat(A, 2, axis=1)
    assert_gradients(m.divide, wide[:, ::2], B)
    assert_gradients(m.divide, A.T, B.T)
    assert_gradients(m.divide, A[::-1], B[:, ::-1])


def test_empty_arrays_and_scalars(m: Any) -> None:
    empty = mx.zeros((0, 3))
    got = mx.vjp(m.divide, [empty, empty], [empty])[1]
    assert [x.shape for x in got] == [(0, 3), (0, 3)]
    assert mx.jvp(m.divide, [empty, empty], [empty, empty])[1][0].shape == (0, 3)
    tiny = mx.array(2.0**-80)
    assert mx.grad(m.divide, argnums=1)(tiny, tiny).item() == -(2.0**80)


def test_the_stream_of_the_operation_is_used(m: Any) -> None:
    other = mx.new_stream(mx.cpu)
    at = mx.array(2.0**-80)
    assert mx.grad(lambda b: m.divide(at, b, stream=other))(at).item() == -(2.0**80)
    double = at.astype(mx.float64, stream=other)
    assert mx.grad(lambda b: m.divide(double, b, stream=other))(double).item() == -(2.0**80)


def test_tangents_of_another_format_are_taken_as_stock_takes_them(m: Any) -> None:
    a, b, tangent = mx.array(3.0, mx.float16), mx.array(2.0, mx.float16), mx.array(1.0)
    for function in (m.divide, mx.grad(m.divide, argnums=1)):
        got = mx.jvp(function, [a, b], [tangent, tangent])[1][0]
        assert got.dtype == mx.float32
        assert got.item() == (-0.25 if function is m.divide else 0.5)


def test_one_argument_divided_by_itself(m: Any) -> None:
    x = mx.array([2.0**-80, 3.0, -(2.0**90)])
    assert mx.grad(lambda x: m.divide(x, x).sum())(x).tolist() == [0.0, 0.0, 0.0]
    assert mx.jvp(lambda x: m.divide(x, x), [x], [x])[1][0].tolist() == [0.0, 0.0, 0.0]


def test_compiled_as_a_whole() -> None:
    # Fused code must keep what the rule relies on: exact halves, exact scaling, subnormals.
    a, b = (mx.concatenate([x.reshape(-1), mx.array([2.0**127, 2.0**-149])]) for x in (A, B))
    with rule("mlx+divide") as m:

        def jvp(a: mx.array, b: mx.array, s: mx.array, t: mx.array) -> mx.array:
            return mx.jvp(m.divide, [a, b], [s, t])[1][0]

        tangents = [a * 1.25, b * 1.25 + mx.abs(b) * 2.0**-22]
        assert mx.array_equal(mx.compile(jvp)(a, b, *tangents), jvp(a, b, *tangents)).item()


@pytest.mark.parametrize("name", RULES)
def test_what_mlx_cannot_do_with_the_rule_is_an_error_and_not_a_wrong_number(name: str, tmp_path: Path) -> None:
    with rule(name) as m:
        gradient = mx.grad(lambda b: m.divide(A, b).sum())
        with pytest.raises(ValueError, match="cannot infer output shapes"):
            mx.compile(gradient, shapeless=True)(B)
        with pytest.raises(ValueError, match="Unable to serialize"):
            mx.export_function(str(tmp_path / "gradient.mlxfn"), gradient, B)
        forward = mx.compile(lambda b: m.divide(A, b), shapeless=True)
        if name == "python":
            with pytest.raises(ValueError, match="cannot infer output shapes"):
                forward(B)
        else:
            assert mx.array_equal(forward(B), mx.divide(A, B)).item()


QUOTIENT = Function("quotient", ("a", "b"), lambda m, a, b: m.divide(a, b), "a / b")
PAIRS = Function("pairs", ("a", "b"), lambda m, a, b: m.divide(a, b), "a / b", elementwise=False)


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_every_form_gives_every_point(name: str) -> None:
    implementation = IMPLEMENTATIONS[name]
    if implementation.unavailable():
        pytest.skip(implementation.unavailable())
    a, b = np.array([3.0, -5.0, 2.0**-20]), np.array([2.0, 4.0, -(2.0**-20)])
    right = {(0,): [1 / b], (1,): [-a / b**2], (0, 1): [1 / b, -a / b**2]}
    for function in (QUOTIENT, PAIRS):
        for traced, values in right.items():
            batch = Batch("by hand", function, FLOAT32, Mode("vjp", traced), (a, b), (np.ones(3),))
            with implementation.active():
                got = ask(batch, implementation.arithmetic(), implementation.transform)
            assert [list(one.real) for one in got] == [list(value) for value in values]


def test_implementations_are_the_four_rules_in_three_forms() -> None:
    plain = ["mlx", "mlx+divide-report", "mlx+divide", "python"]
    assert list(IMPLEMENTATIONS) == [name + form for name in plain for form in ("", ":compiled", ":vmapped")]
    assert all(made.name == name for name, made in IMPLEMENTATIONS.items())
    assert len({made.summary for made in IMPLEMENTATIONS.values()}) == len(IMPLEMENTATIONS)
