"""Every function of single numbers that a body may use: values and slopes by closed forms, at numbers of every size."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from mpmath import MPContext

from audit.case import Function
from audit.formats import FLOAT64
from audit.reference import Enclosures, References, Rounded, State
from audit.reference.arithmetic import NAMES, Arithmetic
from audit.reference.arrays import FUNCTIONS
from audit.reference.convert import FARTHEST
from tests.reference_examples import batch, function, unary
from tests.test_reference_array_functions import ARRAYS, COMPLEX_ARRAYS, STRUCTURE
from tests.test_reference_complex import BINARY as COMPLEX_BINARY
from tests.test_reference_complex import PARTS
from tests.test_reference_complex import UNARY as COMPLEX_UNARY

MP: Any = MPContext()
MP.prec = 2400
MAX, TINY = FLOAT64.largest, FLOAT64.smallest_subnormal
SIZES = [TINY, 1e-300, 2.0**-60, 0.5, 3.25, 700.0, 1e5, 1e30, 1e300, MAX]
ANY = [sign * size for size in SIZES for sign in (1.0, -1.0)]
POSITIVE = SIZES
UNIT = [sign * size for size in (TINY, 1e-300, 0.5, 0.999, 1 - 2.0**-53) for sign in (1.0, -1.0)]

One = Callable[[Any], Any]

# Value, slope, points; each by mpmath's own functions or by an identity, none by the reference's rules.
SMOOTH: dict[str, tuple[One, One, list[float]]] = {
    "negative": (lambda x: -x, lambda _: MP.mpf(-1), ANY),
    "square": (lambda x: x * x, lambda x: 2 * x, ANY),
    "reciprocal": (lambda x: 1 / x, lambda x: -1 / (x * x), ANY),
    "sqrt": (MP.sqrt, lambda x: x ** (-MP.mpf(1) / 2) / 2, POSITIVE),
    "rsqrt": (lambda x: 1 / MP.sqrt(x), lambda x: -(x ** (-MP.mpf(3) / 2)) / 2, POSITIVE),
    "exp": (MP.exp, MP.exp, ANY),
    "exp2": (lambda x: MP.exp(x * MP.ln2), lambda x: MP.ln2 * MP.exp(x * MP.ln2), ANY),
    "expm1": (MP.expm1, MP.exp, ANY),
    "log": (MP.log, lambda x: 1 / x, POSITIVE),
    "log2": (lambda x: MP.log(x, 2), lambda x: 1 / (x * MP.ln2), POSITIVE),
    "log10": (lambda x: MP.log(x, 10), lambda x: 1 / (x * MP.ln10), POSITIVE),
    "log1p": (MP.log1p, lambda x: 1 / (1 + x), [*POSITIVE, -TINY, -1e-300, -0.5, -1 + 2.0**-53]),
    "sin": (MP.sin, MP.cos, ANY),
    "cos": (MP.cos, lambda x: -MP.sin(x), ANY),
    "tan": (MP.tan, lambda x: MP.sec(x) ** 2, ANY),
    "sinh": (MP.sinh, MP.cosh, ANY),
    "cosh": (MP.cosh, MP.sinh, ANY),
    "tanh": (MP.tanh, lambda x: 4 / (MP.exp(x) + MP.exp(-x)) ** 2, ANY),
    "arcsin": (MP.asin, lambda x: 1 / MP.sqrt((1 - x) * (1 + x)), UNIT),
    "arccos": (MP.acos, lambda x: -1 / MP.sqrt((1 - x) * (1 + x)), UNIT),
    "arctan": (MP.atan, lambda x: MP.cos(MP.atan(x)) ** 2, ANY),
    "arcsinh": (MP.asinh, lambda x: 1 / MP.cosh(MP.asinh(x)), ANY),
    "arccosh": (MP.acosh, lambda x: 1 / MP.sinh(MP.acosh(x)), [1 + 2.0**-52, 1.5, 700.0, 1e300, MAX]),
    "arctanh": (MP.atanh, lambda x: 1 / ((1 - x) * (1 + x)), UNIT),
    "sigmoid": (lambda x: 1 / (1 + MP.exp(-x)), lambda x: 1 / ((1 + MP.exp(-x)) * (1 + MP.exp(x))), ANY),
    "softplus": (
        lambda x: MP.log1p(MP.exp(x)) if x < 0 else x + MP.log1p(MP.exp(-x)), lambda x: 1 / (1 + MP.exp(-x)), ANY,
    ),
    "log_sigmoid": (
        lambda x: -MP.log1p(MP.exp(-x)) if x > 0 else x - MP.log1p(MP.exp(x)), lambda x: 1 / (1 + MP.exp(x)), ANY,
    ),
    "erf": (MP.erf, lambda x: 2 * MP.exp(-x * x) / MP.sqrt(MP.pi), ANY),
    "erfc": (MP.erfc, lambda x: -2 * MP.exp(-x * x) / MP.sqrt(MP.pi), [x for x in ANY if abs(x) < 1e6]),
    "normal_cdf": (
        lambda x: MP.erfc(-x / MP.sqrt(2)) / 2, MP.npdf, [x for x in ANY if abs(x) < 1e6],
    ),
    "erfinv": (MP.erfinv, lambda x: MP.sqrt(MP.pi) / 2 * MP.exp(MP.erfinv(x) ** 2), [0.5, -0.25, 0.999, 2.0**-30]),
    "sin_pi": (MP.sinpi, lambda x: MP.pi * MP.cospi(x), ANY),
    "cos_pi": (MP.cospi, lambda x: -MP.pi * MP.sinpi(x), ANY),
    "degrees": (MP.degrees, lambda _: 180 / MP.pi, ANY),
    "radians": (MP.radians, lambda _: MP.pi / 180, ANY),
    "abs": (abs, MP.sign, ANY),
    "sign": (MP.sign, lambda _: MP.mpf(0), ANY),
}  # fmt: skip


def agrees(e: Enclosures, due: Any, index: int) -> bool:
    """Whether a known enclosure holds a number that mpmath has to 2**-150 of itself, and is narrow."""
    assert e.state[index] == State.KNOWN
    exponent, due = int(e.exponent[index]), MP.mpf(due)
    if abs(exponent) == FARTHEST:
        beyond = MP.mag(due) > FARTHEST if exponent > 0 else MP.mag(due) <= -FARTHEST
        # What is computed from a rounded argument may be known to be this near to zero, and no more.
        return bool(due) and beyond and e.head[index] in (MP.sign(due), 0)
    middle = MP.ldexp(MP.mpf(float(e.head[index])) + MP.mpf(float(e.tail[index])), exponent)
    radius = MP.ldexp(MP.mpf(float(e.radius[index])), exponent)
    narrow = radius <= max(abs(due) * MP.mpf(2) ** -75, MP.mpf(2) ** -1090)
    return narrow and abs(middle - due) <= radius + abs(due) * MP.mpf(2) ** -150


@pytest.mark.parametrize("name", SMOOTH)
def test_a_function_of_one_number(name: str) -> None:
    value, slope, points = SMOOTH[name]
    references = References(opinions=4)
    (forward,) = references.enclose(batch(unary(name), "forward", (0,), [points], []))
    (derivative,) = references.enclose(batch(unary(name), "vjp", (0,), [points], [np.full(len(points), -1.5)]))
    for index, x in enumerate(points):
        assert agrees(forward.real, value(MP.mpf(x)), index), x
        assert agrees(derivative.real, MP.mpf(-1.5) * slope(MP.mpf(x)), index), x
    assert references.disagreements == []


@pytest.mark.parametrize("name", [name for name in SMOOTH if name not in ("abs", "sign")])
def test_higher_derivatives_of_a_function_of_one_number(name: str) -> None:
    value, _, points = SMOOTH[name]
    near = [x for x in points if 0.1 < abs(x) < 1] + ([1.75] if max(points) > 1 else [])
    references = References(opinions=len(near))
    for order in (2, 3):
        (answer,) = references.enclose(batch(unary(name), f"grad{order}", (0,), [near], [np.ones(len(near))]))
        for index, x in enumerate(near):
            with MP.workprec(400):
                due = MP.diff(value, MP.mpf(x), order)
            middle = MP.mpf(float(answer.real.head[index])) + MP.mpf(float(answer.real.tail[index]))
            # mpmath.diff itself is right to about half of its digits.
            assert abs(middle - due) <= abs(due) * MP.mpf(2) ** -95 + MP.mpf(2) ** -95
    assert references.disagreements == []


STEPS: dict[str, Callable[[float], float]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round": round,
}


@pytest.mark.parametrize("name", STEPS)
def test_functions_that_jump(name: str) -> None:
    points = [-2.5, -2.25, -2.0, -1.5, -0.75, -0.5, -TINY, 0.0, TINY, 0.5, 0.75, 1.0, 1.5, 2.5, 2.0**53 - 1, 1e300]
    references = References()
    (value,) = references.enclose(batch(unary(name), "forward", (0,), [points], []))
    assert value.real.to_format(FLOAT64).value.tolist() == [float(STEPS[name](x)) for x in points]
    for kind in ("grad1", "grad2", "grad3"):
        (slope,) = references.enclose(batch(unary(name), kind, (0,), [points], [np.ones(len(points))]))
        for index, x in enumerate(points):
            half = name == "round" and x % 1 == 0.5
            whole = name != "round" and x % 1 == 0 and not (name == "trunc" and x == 0)
            assert slope.real.state[index] == (State.UNDEFINED if half or whole else State.KNOWN), x
        known = slope.real.state == State.KNOWN
        assert not slope.real.head[known].any()
        assert not slope.real.radius[known].any()
    assert references.disagreements == []


def two(name: str) -> Function:
    return function(name, "x y", lambda m, x, y: getattr(m, name)(x, y))


PAIRS = [(x, y) for x, y in product([-1e300, -3.5, -1e-300, TINY, 0.75, 2.0, 1e5, MAX], repeat=2)]
Two = Callable[[Any, Any], Any]

# Value and both slopes.
SMOOTH_TWO: dict[str, tuple[Two, Two, Two, list[tuple[float, float]]]] = {
    "add": (lambda x, y: x + y, lambda *_: MP.mpf(1), lambda *_: MP.mpf(1), PAIRS),
    "subtract": (lambda x, y: x - y, lambda *_: MP.mpf(1), lambda *_: MP.mpf(-1), PAIRS),
    "multiply": (lambda x, y: x * y, lambda _, y: y, lambda x, _: x, PAIRS),
    "divide": (lambda x, y: x / y, lambda _, y: 1 / y, lambda x, y: -x / y**2, PAIRS),
    "hypot": (MP.hypot, lambda x, y: x / MP.hypot(x, y), lambda x, y: y / MP.hypot(x, y), PAIRS),
    "arctan2": (
        MP.atan2, lambda y, x: x / (x * x + y * y), lambda y, x: -y / (x * x + y * y),
        [*PAIRS, (0.0, 2.0), (0.0, -2.0), (2.0, 0.0), (-2.0, 0.0), (TINY, -MAX), (-TINY, -MAX)],
    ),
    "logaddexp": (
        lambda x, y: max(x, y) + MP.log1p(MP.exp(-abs(x - y))), lambda x, y: 1 / (1 + MP.exp(y - x)),
        lambda x, y: 1 / (1 + MP.exp(x - y)), [*PAIRS, (-math.log(2), -math.log(2)), (0.0, 0.0), (-700.0, 700.0)],
    ),
    "power": (
        MP.power, lambda x, y: y * MP.power(x, y - 1), lambda x, y: MP.power(x, y) * MP.log(x),
        [(2.0, 0.5), (0.75, -3.5), (1 + 2.0**-52, 1e5), (1e300, 1e-300), (TINY, 0.75), (3.5, 0.0), (1.0, 1e300),
         (MAX, -2.5), (TINY, -2.5), (1e300, 1e5), (1e-300, 1e5)],
    ),
    "remainder": (
        lambda x, y: x - y * MP.floor(x / y), lambda *_: MP.mpf(1), lambda x, y: -MP.floor(x / y),
        [(5.0, 3.0), (-5.0, 3.0), (5.0, -3.0), (-5.0, -3.0), (0.3, 0.1), (1e300, 1e-300), (-1e-300, 1e300), (MAX, 3.5),
         (TINY, -MAX)],
    ),
    "floor_divide": (
        lambda x, y: MP.floor(x / y), lambda *_: MP.mpf(0), lambda *_: MP.mpf(0),
        [(5.0, 3.0), (-5.0, 3.0), (5.0, -3.0), (-5.0, -3.0), (0.3, 0.1), (1e300, 1e-300), (-1e-300, 1e300), (MAX, 3.5)],
    ),
    "maximum": (max, lambda x, y: MP.mpf(int(x > y)), lambda x, y: MP.mpf(int(y > x)),
                [(x, y) for x, y in PAIRS if x != y]),
    "minimum": (min, lambda x, y: MP.mpf(int(x < y)), lambda x, y: MP.mpf(int(y < x)),
                [(x, y) for x, y in PAIRS if x != y]),
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH_TWO)
def test_a_function_of_two_numbers(name: str) -> None:
    value, by_x, by_y, points = SMOOTH_TWO[name]
    xs, ys = [list(column) for column in zip(*points, strict=True)]
    references = References(opinions=4)
    w = np.full(len(points), 0.75)
    (forward,) = references.enclose(batch(two(name), "forward", (0, 1), [xs, ys], []))
    for_x, for_y = references.enclose(batch(two(name), "vjp", (0, 1), [xs, ys], [w]))
    (along,) = references.enclose(batch(two(name), "jvp", (0, 1), [xs, ys], [w, -2 * w]))
    for index, (x, y) in enumerate(points):
        a, b = MP.mpf(x), MP.mpf(y)
        assert agrees(forward.real, value(a, b), index), (x, y)
        p, q = by_x(a, b), by_y(a, b)
        assert agrees(for_x.real, MP.mpf(0.75) * p, index), (x, y)
        assert agrees(for_y.real, MP.mpf(0.75) * q, index), (x, y)
        if abs(p - 2 * q) > (abs(p) + abs(q)) * MP.mpf(2) ** -1000:
            assert agrees(along.real, MP.mpf(0.75) * p - MP.mpf(1.5) * q, index), (x, y)
    assert references.disagreements == []


def test_the_angle_at_the_origin_has_no_slope() -> None:
    (value,) = References().enclose(batch(two("arctan2"), "forward", (0, 1), [0.0, 0.0], []))
    assert value.real.to_format(FLOAT64).where[0] == Rounded.ZERO
    for answer in References().enclose(batch(two("arctan2"), "vjp", (0, 1), [0.0, 0.0], [1.0])):
        assert answer.real.state[0] == State.UNDEFINED


def test_remainders_have_no_slope_where_they_jump() -> None:
    for name in ("remainder", "floor_divide"):
        for answer in References().enclose(
            batch(two(name), "vjp", (0, 1), [[6.0, 0.0, 0.3], [3.0, -3.0, 0.0]], [[1.0] * 3])
        ):
            assert answer.real.state.tolist() == [State.UNDEFINED] * 3


K, U = State.KNOWN, State.UNDEFINED
# x, y, the value, and the slopes; None where there is none.
POWERS: list[tuple[float, float, float | None, float | None, float | None]] = [
    (-2.0, 3.0, -8.0, 12.0, None),
    (-2.0, -2.0, 0.25, 0.25, None),
    (-2.0, 2.5, None, None, None),
    (-2.0, 0.0, 1.0, 0.0, None),
    (0.0, 2.0, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 1.0, 0.0),
    (0.0, 2.5, 0.0, 0.0, 0.0),
    (0.0, 0.5, 0.0, None, 0.0),
    (0.0, 0.0, 1.0, 0.0, None),
    (0.0, -1.0, None, None, None),
    (0.0, -0.5, None, None, None),
]


def test_powers_of_numbers_that_are_not_positive() -> None:
    xs, ys = [p[0] for p in POWERS], [p[1] for p in POWERS]
    references = References(opinions=0)
    w = np.ones(len(xs))
    (value,) = references.enclose(batch(two("power"), "forward", (0, 1), [xs, ys], []))
    for_x, for_y = references.enclose(batch(two("power"), "vjp", (0, 1), [xs, ys], [w]))
    for answer, place in ((value, 2), (for_x, 3), (for_y, 4)):
        due = [p[place] for p in POWERS]
        assert answer.real.state.tolist() == [U if d is None else K for d in due]
        assert answer.real.head[answer.real.state == K].tolist() == [d for d in due if d is not None]
    # The mixed derivative of x**y at y = 0 is 1 / x, although the slope along x is zero there.
    mixed = references.enclose(batch(two("power"), "hessian-rr", (0, 1), [4.0, 0.0], [1.0]))[1]
    assert mixed.real.head.tolist() == [0.25]
    assert references.disagreements == []


def test_a_negative_base_to_the_largest_power() -> None:
    points = [[-1.5, -0.5, -1.0], [1e300, 1e300, 1e300]]
    (value,) = References(opinions=3).enclose(batch(two("power"), "forward", (0, 1), points, []))
    assert value.real.to_format(FLOAT64).where.tolist() == [Rounded.OVERFLOWS, Rounded.UNDERFLOWS, Rounded.INSIDE]
    assert value.real.to_format(FLOAT64).value.tolist() == [math.inf, 0.0, 1.0]


COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_choose(name: str) -> None:
    f = function(name, "x y", lambda m, x, y: m.where(getattr(m, name)(x, y), m.multiply(3, x), y))
    xs, ys = [1.0, 2.0, 2.0, -MAX, TINY], [2.0, 1.0, 2.0, MAX, 0.0]
    (value,) = References(opinions=5).enclose(batch(f, "forward", (0, 1), [xs, ys], []))
    due = [3 * x if COMPARISONS[name](x, y) else y for x, y in zip(xs, ys, strict=True)]
    assert value.real.to_format(FLOAT64).value.tolist() == [
        x if abs(x) <= MAX else math.copysign(math.inf, x) for x in due
    ]


LOGIC: dict[str, Callable[[bool, bool], bool]] = {
    "logical_and": lambda x, y: x and y,
    "logical_or": lambda x, y: x or y,
    "logical_xor": lambda x, y: x != y,
}


@pytest.mark.parametrize("name", LOGIC)
def test_conditions_of_conditions(name: str) -> None:
    def body(m: Any, x: Any, y: Any) -> Any:
        return m.where(getattr(m, name)(m.less(x, 0), m.less(y, 0)), 1, 2)

    xs, ys = [1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]
    (value,) = References(opinions=4).enclose(batch(function(name, "x y", body), "forward", (0, 1), [xs, ys], []))
    assert value.real.head.tolist() == [1 if LOGIC[name](x < 0, y < 0) else 2 for x, y in zip(xs, ys, strict=True)]
    # What is known beforehand leaves no condition, whatever the other one is.
    for known, x in product((True, False), (1.0, -1.0)):
        f = function("known", "x", lambda m, x, k=known: m.where(getattr(m, name)(k, m.less(x, 0)), 1, 2))
        (value,) = References(opinions=1).enclose(batch(f, "forward", (0,), [x], []))
        assert value.real.head[0] == (1 if LOGIC[name](known, x < 0) else 2)


def test_a_condition_is_turned_round() -> None:
    f = function("not", "x", lambda m, x: m.where(m.logical_not(m.less(x, 0)), x, m.multiply(x, 5)))
    (slope,) = References(opinions=2).enclose(batch(f, "vjp", (0,), [[2.0, -2.0]], [[1.0, 1.0]]))
    assert slope.real.head.tolist() == [1.0, 5.0]


def test_a_known_condition_leaves_nothing_of_the_other_branch() -> None:
    f = function("x, or 1 / 0", "x", lambda m, x: m.where(np.bool_(True), x, m.divide(x, 0)))
    (slope,) = References(opinions=1).enclose(batch(f, "vjp", (0,), [2.0], [1.0]))
    assert slope.real.head.tolist() == [1.0]


def test_clip() -> None:
    points = [-3.0, 0.5, 3.0]
    for low, high, values, slopes in (
        (-1, 2, [-1.0, 0.5, 2.0], [0.0, 1.0, 0.0]),
        (None, 2, [-3.0, 0.5, 2.0], [1.0, 1.0, 0.0]),
        (-1, None, [-1.0, 0.5, 3.0], [0.0, 1.0, 1.0]),
        # Where the limits cross, the upper one wins.
        (2, -1, [-1.0, -1.0, -1.0], [0.0, 0.0, 0.0]),
    ):
        f = function("clip", "x", lambda m, x, low=low, high=high: m.clip(x, low, high))
        (value,) = References().enclose(batch(f, "forward", (0,), [points], []))
        (slope,) = References(opinions=3).enclose(batch(f, "vjp", (0,), [points], [np.ones(3)]))
        assert value.real.head.tolist() == values
        assert slope.real.head.tolist() == slopes


def test_a_kink_that_only_decides_a_condition_is_no_kink() -> None:
    # |x - y| has a kink at x = y, but nothing of it reaches the result; x itself is used both ways.
    f = function("f", "x y", lambda m, x, y: m.where(m.less(m.abs(x - y), 1), m.square(x), y))
    for kind, weights in (("vjp", [[1.0, 1.0]]), ("jvp", [[1.0, 1.0], [1.0, 1.0]])):
        references = References(opinions=2)
        answers = references.enclose(batch(f, kind, (0, 1), [[3.0, 3.0], [3.0, 7.0]], weights))
        heads = [answer.real.head.tolist() for answer in answers]
        assert heads == ([[6.0, 0.0], [0.0, 1.0]] if kind == "vjp" else [[6.0, 1.0]])
        assert references.disagreements == []


def test_a_stopped_number_counts_as_a_constant() -> None:
    f = function("x * stop(x)", "x", lambda m, x: m.multiply(x, m.stop_gradient(m.multiply(3, x))))
    for kind in ("vjp", "jvp"):
        (slope,) = References(opinions=1).enclose(batch(f, kind, (0,), [[2.0, -5.0]], [[1.0, 2.0]]))
        assert slope.real.head.tolist() == [6.0, -30.0]


def test_constants() -> None:
    for name, due in (("pi", MP.pi), ("e", MP.e), ("euler_gamma", MP.euler)):
        f = function(name, "x", lambda m, x, name=name: m.multiply(x, getattr(m, name)))
        references = References(opinions=1)
        (value,) = references.enclose(batch(f, "forward", (0,), [3.0], []))
        assert agrees(value.real, 3 * due, 0)
        assert references.disagreements == []


def test_exact_fractions_of_a_turn_are_exact() -> None:
    def body(m: Any, x: Any) -> Any:
        return m.multiply(x, m.cos_pi(Fraction(1, 3))) + m.multiply(x, m.operation("sin_pi", Fraction(7, 6)))

    (value,) = References(opinions=1).enclose(batch(function("x / 2 - x / 2", "x", body), "forward", (0,), [3.0], []))
    assert (value.real.head[0], value.real.radius[0]) == (0.0, 0.0)


TESTED_HERE = {
    *SMOOTH, *STEPS, *SMOOTH_TWO, *COMPARISONS, *LOGIC, *COMPLEX_UNARY, *COMPLEX_BINARY, *PARTS, *STRUCTURE,
    "logical_not", "where", "clip", "pi", "e", "euler_gamma", "operation", "stop_gradient",
}  # fmt: skip


def test_every_name_of_the_vocabulary_has_a_test() -> None:
    own = {name for name in dir(Arithmetic) if not name.startswith("_")}
    tested = TESTED_HERE | {name.split()[0] for name in (*ARRAYS, *COMPLEX_ARRAYS)}
    assert sorted({*NAMES, *FUNCTIONS, *own} - tested) == []
