"""Derivatives of a/b of orders 1 to 3 against exact rationals, over the whole exponent range of every format."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from patch_support import RULES, arrays, numbers, rule, whole_range, with_result_in_range, worst_error

from audit.formats import FLOAT16, FLOAT32, FLOAT64, REAL_FORMATS, Format, lookup

# Measured worst of 40,000 points a derivative and format: 2.3, 3.3 and 4.4 ulp at orders 1, 2 and 3.
LIMIT = 4.5
POINTS = 250


def vjp_b(m: Any) -> Callable[..., mx.array]:
    return lambda a, b, g: mx.vjp(m.divide, [a, b], [g])[1][1]


def vjp_bb(m: Any) -> Callable[..., mx.array]:
    return lambda a, b, g, h: mx.vjp(vjp_b(m), [a, b, g], [h])[1][1]


# Name: the derivative as MLX is asked for it, the right value, and the powers of one of its terms.
DERIVATIVES: dict[str, tuple[Callable[..., mx.array], Callable[..., Fraction], tuple[int, ...]]] = {
    "vjp a": (lambda m, a, b, g: mx.vjp(m.divide, [a, b], [g])[1][0], lambda _a, b, g: g / b, (0, -1, 1)),
    "vjp b": (lambda m, *x: vjp_b(m)(*x), lambda a, b, g: -g * a / b**2, (1, -2, 1)),
    "jvp": (
        lambda m, a, b, s, t: mx.jvp(m.divide, [a, b], [s, t])[1][0],
        lambda a, b, s, t: s / b - a * t / b**2,
        (1, -2, 0, 1),
    ),
    "vjp b of vjp b": (lambda m, *x: vjp_bb(m)(*x), lambda a, b, g, h: 2 * h * g * a / b**3, (1, -3, 1, 1)),
    "vjp g of vjp b": (
        lambda m, a, b, g, h: mx.vjp(vjp_b(m), [a, b, g], [h])[1][2],
        lambda a, b, _g, h: -h * a / b**2,
        (1, -2, 0, 1),
    ),
    "jvp of vjp b": (
        lambda m, a, b, g, s, t: mx.jvp(lambda a, b: vjp_b(m)(a, b, g), [a, b], [s, t])[1][0],
        lambda a, b, g, s, t: -g * s / b**2 + 2 * g * a * t / b**3,
        (1, -3, 1, 0, 1),
    ),
    "vjp b of vjp b of vjp b": (
        lambda m, a, b, g, h, k: mx.vjp(vjp_bb(m), [a, b, g, h], [k])[1][1],
        lambda a, b, g, h, k: -6 * k * h * g * a / b**4,
        (1, -4, 1, 1, 1),
    ),
    "jvp of vjp b of vjp b": (
        lambda m, a, b, g, h, s, t: mx.jvp(lambda a, b: vjp_bb(m)(a, b, g, h), [a, b], [s, t])[1][0],
        lambda a, b, g, h, s, t: 2 * g * h * s / b**3 - 6 * g * h * a * t / b**4,
        (1, -4, 1, 1, 0, 1),
    ),
    "jvp of jvp of jvp for b": (
        lambda m, *x: third_directional(m, *x),  # noqa: PLW0108  defined below
        lambda a, b, s, t, u: -6 * a * s * t * u / b**4,
        (1, -4, 1, 1, 1),
    ),
}


def third_directional(m: Any, a: mx.array, b: mx.array, *tangents: mx.array) -> mx.array:
    def quotient(b: mx.array) -> mx.array:
        return m.divide(a, b)

    derivative: Callable[[mx.array], mx.array] = quotient
    for tangent in tangents:
        derivative = _directional(derivative, tangent)
    return derivative(b)


def _directional(function: Callable[[mx.array], mx.array], tangent: mx.array) -> Callable[[mx.array], mx.array]:
    return lambda b: mx.jvp(function, [b], [tangent])[1][0]


@pytest.mark.parametrize("fmt", REAL_FORMATS, ids=lambda f: f.name)
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_right_over_the_whole_exponent_range(derivative: str, name: str, fmt: Format) -> None:
    ask, right, powers = DERIVATIVES[derivative]
    for columns in (
        whole_range(fmt, len(powers), POINTS, seed=11),
        with_result_in_range(fmt, powers, POINTS, seed=12),
    ):
        with rule(name) as m:
            got = numbers(ask(m, *arrays(columns, fmt)), fmt)
        assert worst_error(got, right, columns, fmt) <= LIMIT


def test_points_reach_subnormal_operands_and_results() -> None:
    columns = with_result_in_range(FLOAT32, (1, -2, 1), POINTS, seed=12)
    a, b, g = ([Fraction(x) for x in column.tolist()] for column in columns)
    results = [abs(float(-z * x / y**2)) for x, y, z in zip(a, b, g, strict=True)]
    assert sum(0 < x < FLOAT32.smallest_normal for x in results) > 10
    for column in columns:
        assert np.sum(np.abs(column) < FLOAT32.smallest_normal) > 10


def test_stock_rule_fails_the_same_points() -> None:
    columns = with_result_in_range(FLOAT32, (1, -2, 1), POINTS, seed=12)
    with rule("mlx") as m:
        got = numbers(vjp_b(m)(*arrays(columns, FLOAT32)), FLOAT32)
    assert worst_error(got, DERIVATIVES["vjp b"][1], columns, FLOAT32) > 1000


@pytest.mark.parametrize("fmt", REAL_FORMATS, ids=lambda f: f.name)
@pytest.mark.parametrize("name", RULES)
def test_terms_of_a_jvp_that_nearly_cancel(name: str, fmt: Format) -> None:
    a, b, s = whole_range(fmt, 3, 400, seed=13)
    b = np.copysign(np.ldexp(np.frexp(b)[0] * 2, np.frexp(b)[1] // 8), b)
    a, s = (np.copysign(np.ldexp(np.frexp(x)[0] * 2, np.frexp(x)[1] // 8), x) for x in (a, s))
    # The tangent of b that makes the terms cancel, and its neighbours.
    with np.errstate(over="ignore", under="ignore"):
        t = fmt.round(s / a * b)
    steps = np.random.default_rng(14).integers(-2, 3, t.shape)
    t = t + steps * fmt.ulp(t)
    columns = [fmt.round(a), fmt.round(b), fmt.round(s), fmt.round(t)]
    cancelled = [
        abs(1 - x * v / (y * u)) for x, y, u, v in zip(*(map(Fraction, c.tolist()) for c in columns), strict=True)
    ]
    assert sum(x < Fraction(2) ** (2 - fmt.precision) for x in cancelled) > 200
    with rule(name) as m:
        got = numbers(mx.jvp(m.divide, arrays(columns[:2], fmt), arrays(columns[2:], fmt))[1][0], fmt)
    assert worst_error(got, DERIVATIVES["jvp"][1], columns, fmt) <= LIMIT


@pytest.mark.parametrize("name", RULES)
def test_exact_cancellation_is_zero_and_uncovers_the_term_below(name: str) -> None:
    with rule(name) as m:
        x = mx.array([3.0, 2.0**100, -(2.0**-120)], dtype=mx.float32)
        assert mx.jvp(m.divide, [x, 7 * x], [x, 7 * x])[1][0].tolist() == [0.0, 0.0, 0.0]

        # -s q/b^2 - p t/b^2 + 2 a t q/b^3: the first two cancel, and the third is 2^-60 of them.
        a, b, s, t, p, q = (mx.array(v) for v in (2.0**-60, 1.0, 1.0, 1.0, -1.0, 1.0))
        inner = lambda a, b: mx.jvp(m.divide, [a, b], [s, t])[1][0]  # noqa: E731
        assert mx.jvp(inner, [a, b], [p, q])[1][0].item() == 2.0**-59


@pytest.mark.parametrize("name", RULES)
def test_points_where_the_reports_orders_fail(name: str) -> None:
    points = [
        (FLOAT16, 6040.0, FLOAT16.round(0.1854).item(), FLOAT16.round(4.17e-7).item()),
        (FLOAT32, 2.0**127, 0.75, 2.0**-149),
    ]
    for fmt, *point in points:
        columns = [np.array([x]) for x in point]
        with rule(name) as m:
            got = numbers(vjp_b(m)(*arrays(columns, fmt)), fmt)
        assert worst_error(got, DERIVATIVES["vjp b"][1], columns, fmt) <= 1.0
        with rule("mlx+divide-report") as m:
            got = numbers(vjp_b(m)(*arrays(columns, fmt)), fmt)
        assert worst_error(got, DERIVATIVES["vjp b"][1], columns, fmt) > 4.0


@pytest.mark.parametrize("fmt", REAL_FORMATS, ids=lambda f: f.name)
def test_the_reports_orders_are_right_for_normal_operands(fmt: Format) -> None:
    columns = with_result_in_range(fmt, (1, -2, 1), 600, seed=15)
    result = [abs(z * x / y**2) for x, y, z in zip(*([Fraction(v) for v in c.tolist()] for c in columns), strict=True)]
    normal = [Fraction(fmt.smallest_normal) <= x <= Fraction(fmt.largest) for x in result]
    keep = np.all([np.abs(c) >= fmt.smallest_normal for c in columns], axis=0) & np.array(normal)
    assert keep.sum() > 50
    columns = [column[keep] for column in columns]
    with rule("mlx+divide-report") as m:
        got = numbers(vjp_b(m)(*arrays(columns, fmt)), fmt)
    assert worst_error(got, DERIVATIVES["vjp b"][1], columns, fmt) <= LIMIT


def scaled_reciprocal(m: Any, scale: mx.array) -> Callable[[mx.array], mx.array]:
    return lambda t: m.divide(scale, scale * t)


SCALES = {"float16": (-13, 0, 10), "bfloat16": (-80, 0, 80), "float32": (-80, 0, 80), "float64": (-600, 0, 600)}


@pytest.mark.parametrize("name", [*RULES, "mlx+divide-report"])
@pytest.mark.parametrize("format_name", SCALES)
def test_three_derivatives_of_a_scaled_reciprocal(format_name: str, name: str) -> None:
    fmt = lookup(format_name)
    for exponent in SCALES[format_name]:
        scale, t = arrays([np.array(2.0**exponent), np.array(1.0)], fmt)
        with rule(name) as m:
            function = scaled_reciprocal(m, scale)
            found = []
            for _ in range(3):
                function = mx.grad(function)
                found.append(numbers(function(t), fmt).item())
        assert found == [-1.0, 2.0, -6.0]


@pytest.mark.parametrize("name", RULES)
def test_float16_scale_at_which_only_reverse_mode_overflows(name: str) -> None:
    # In reverse mode the third derivative passes through the cotangent of C*t, -6/C, which float16 does not have at
    # C = 2^-14, whatever the rule of division. Forward mode meets nothing so large.
    scale, t, one = arrays([np.array(2.0**-14), np.array(1.0), np.array(1.0)], FLOAT16)
    with rule(name) as m:
        forward = scaled_reciprocal(m, scale)
        reverse = mx.grad(mx.grad(mx.grad(forward)))
        for _ in range(3):
            forward = _directional(forward, one)
        assert numbers(reverse(t), FLOAT16).item() == -np.inf
        assert numbers(forward(t), FLOAT16).item() == -6.0


def test_python_and_compiled_rule_agree_to_the_bit() -> None:
    for fmt in (FLOAT16, FLOAT32, FLOAT64):
        for derivative, (ask, _, powers) in DERIVATIVES.items():
            columns = with_result_in_range(fmt, powers, 200, seed=16)
            got = []
            for name in RULES:
                with rule(name) as m:
                    got.append(fmt.to_bits(numbers(ask(m, *arrays(columns, fmt)), fmt)))
            np.testing.assert_array_equal(got[0], got[1], err_msg=derivative)
