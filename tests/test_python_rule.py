"""The Python rule as a drop-in for mx.divide: values, types, and what MLX hands to a custom function."""

from __future__ import annotations

import itertools
from typing import Any

import mlx.core as mx
import pytest

from audit.formats import FLOAT16
from audit.patches.laurent import Term, derivative, evaluate, laurent
from audit.patches.python_rule import Arithmetic, divide, reciprocal

SPECIAL = [0.0, -0.0, 1.0, -3.0, 1e-30, 7e4, float("inf"), float("-inf"), float("nan")]
DTYPES = [mx.bool_, mx.uint8, mx.int32, mx.int64, mx.float16, mx.bfloat16, mx.float32, mx.complex64]


def bits(x: mx.array) -> Any:
    return mx.view(mx.contiguous(x), mx.uint8).tolist()


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32, mx.float64, mx.complex64], ids=str)
def test_value_is_that_of_divide_to_the_bit(dtype: mx.Dtype) -> None:
    with mx.stream(mx.cpu):
        a, b = (mx.array(x).astype(dtype) for x in zip(*itertools.product(SPECIAL, repeat=2), strict=True))
        assert bits(divide(a, b)) == bits(mx.divide(a, b))


@pytest.mark.parametrize("pair", list(itertools.product(DTYPES, repeat=2)), ids=str)
def test_types_are_promoted_as_divide_does(pair: tuple[mx.Dtype, mx.Dtype]) -> None:
    a, b = mx.array([3, 1, 2]).astype(pair[0]), mx.array([2, 1, 4]).astype(pair[1])
    assert divide(a, b).dtype == mx.divide(a, b).dtype
    assert bits(divide(a, b)) == bits(mx.divide(a, b))


@pytest.mark.parametrize("scalar", [2, 0.3, True, 2 + 1j], ids=repr)
def test_numbers_are_taken_as_divide_takes_them(scalar: Any) -> None:
    for x in (mx.array([3.0, 5.0], mx.float16), mx.array([3, 5])):
        for mine, theirs in ((divide(x, scalar), mx.divide(x, scalar)), (divide(scalar, x), mx.divide(scalar, x))):
            assert mine.dtype == theirs.dtype
            assert bits(mine) == bits(theirs)


def test_reciprocal() -> None:
    x = mx.array([2.0**-80, 4.0])
    assert bits(reciprocal(x)) == bits(mx.reciprocal(x))
    at, weight = mx.array(2.0**-76), mx.array(2.0**-100)
    assert mx.vjp(reciprocal, [at], [weight])[1][0].item() == -(2.0**52)
    assert mx.vjp(mx.reciprocal, [at], [weight])[1][0].item() == -float("inf")


def test_gradient_of_a_scalar_operand() -> None:
    assert mx.grad(lambda b: divide(2.0**-80, b))(mx.array(2.0**-80)).item() == -(2.0**80)
    assert mx.grad(lambda a: divide(a, 4))(mx.array(3.0)).item() == 0.25


def test_one_traced_argument() -> None:
    a, b, one = mx.array(3.0), mx.array(2.0), mx.array(1.0)
    assert mx.jvp(lambda a: divide(a, b), [a], [one])[1][0].item() == 0.5
    assert mx.jvp(lambda b: divide(a, b), [b], [one])[1][0].item() == -0.75
    second = mx.jvp(lambda b: mx.jvp(lambda a: divide(a, b), [a], [one])[1][0], [b], [one])[1][0]
    assert second.item() == -0.25
    mixed = mx.jvp(lambda b: mx.vjp(divide, [a, b], [one])[1][1], [b], [one])[1][0]
    assert mixed.item() == 0.75


def test_gradient_of_an_integer_operand_is_what_it_is_for_divide() -> None:
    a, b, one = mx.array([3, 4]), mx.array([2.0, 8.0]), mx.array([1.0, 1.0])
    mine, theirs = (mx.vjp(function, [a, b], [one])[1] for function in (divide, mx.divide))
    assert [x.dtype for x in mine] == [x.dtype for x in theirs]
    assert [x.tolist() for x in mine] == [x.tolist() for x in theirs]


def test_arithmetic_is_mlx_but_for_division() -> None:
    m = Arithmetic()
    assert m.divide is divide
    assert m.reciprocal is reciprocal
    assert m.exp is mx.exp
    assert m.float32 == mx.float32
    with pytest.raises(AttributeError):
        _ = m.no_such_operation


def test_derivative_of_a_polynomial() -> None:
    # d(3 x^2/y) along x and y with weights v, w: 6 x v/y - 3 x^2 w/y^2
    assert derivative([Term(3, (2, -1))], (0, 1)) == (Term(6, (1, -1, 1, 0)), Term(-3, (2, -2, 0, 1)))
    assert derivative([Term(3, (2, 0))], (1,)) == ()


def test_polynomial_without_terms_is_zero() -> None:
    assert laurent([mx.array([2.0, 3.0])], [], divide).tolist() == [0.0, 0.0]


def test_powers_beyond_the_range_of_float16() -> None:
    x, y = mx.array([1.5, 2.0**-14], mx.float16), mx.array([1.5, 2.0**-14], mx.float16)
    # 40 factors above and below: their significands alone would leave float16 without being normalised in between.
    assert evaluate([x, y], [Term(1, (40, -40))]).tolist() == [1.0, 1.0]
    assert evaluate([x, y], [Term(1, (41, -40)), Term(1, (40, -39))]).tolist() == [3.0, 2.0**-13]
    assert evaluate([x], [Term(362880, (1,))]).tolist() == [float("inf"), FLOAT16.round(362880 * 2.0**-14)]


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32, mx.float64], ids=str)
def test_fourth_and_fifth_derivative(dtype: mx.Dtype) -> None:
    with mx.stream(mx.cpu):
        at = mx.array(1.0, dtype)
        found = []
        function = lambda t: divide(at, t)  # noqa: E731
        for _ in range(5):
            function = mx.grad(function)
            found.append(function(at).item())
        assert found == [-1.0, 2.0, -6.0, 24.0, -120.0]
