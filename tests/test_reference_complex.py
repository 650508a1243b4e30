"""Complex functions: values on either side of their cuts, on the cuts, and derivatives by mpmath."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath import MPContext

from audit.case import Batch, Function, Mode
from audit.formats import COMPLEX64, FLOAT32, Format
from audit.reference import Enclosures, References, State
from audit.reference.convert import FARTHEST
from tests.reference_examples import batch, function, unary

MP: Any = MPContext()
MP.prec = 1200
LEAST, MOST = 2.0**-149, 2.0**120

One = Callable[[Any], Any]
# By definition in terms of exponentials and logarithms, or by mpmath's own function, and the derivative.
UNARY: dict[str, tuple[One, One]] = {
    "exp": (MP.exp, MP.exp),
    "log": (MP.log, lambda z: 1 / z),
    "log2": (lambda z: MP.log(z) / MP.ln2, lambda z: 1 / (z * MP.ln2)),
    "log10": (lambda z: MP.log(z) / MP.ln10, lambda z: 1 / (z * MP.ln10)),
    "log1p": (lambda z: MP.log(1 + z), lambda z: 1 / (1 + z)),
    "sqrt": (MP.sqrt, lambda z: MP.exp(-MP.log(z) / 2) / 2),
    "rsqrt": (lambda z: 1 / MP.sqrt(z), lambda z: -MP.exp(-3 * MP.log(z) / 2) / 2),
    "sin": (MP.sin, MP.cos),
    "cos": (MP.cos, lambda z: -MP.sin(z)),
    "tan": (MP.tan, lambda z: MP.sec(z) ** 2),
    "sinh": (MP.sinh, MP.cosh),
    "cosh": (MP.cosh, MP.sinh),
    "tanh": (MP.tanh, lambda z: MP.sech(z) ** 2),
    "arcsin": (MP.asin, lambda z: 1 / MP.cos(MP.asin(z))),
    "arccos": (MP.acos, lambda z: -1 / MP.sin(MP.acos(z))),
    "arctan": (MP.atan, lambda z: 1 / ((z - 1j) * (z + 1j))),
    "arcsinh": (MP.asinh, lambda z: 1 / MP.cosh(MP.asinh(z))),
    "arccosh": (MP.acosh, lambda z: 1 / MP.sinh(MP.acosh(z))),
    "arctanh": (MP.atanh, lambda z: 1 / ((1 - z) * (1 + z))),
    "square": (lambda z: z * z, lambda z: 2 * z),
    "reciprocal": (lambda z: 1 / z, lambda z: -1 / (z * z)),
    "negative": (lambda z: -z, lambda _: MP.mpf(-1)),
}
# None of these lies on a cut; several lie next to one, on both sides.
POINTS = [
    1.5 + 0.5j, -1.5 + 0.5j, -1.5 - 0.5j, 0.25 - 1.75j, -0.25 - 0.125j,
    complex(-2, LEAST), complex(-2, -LEAST), complex(2, LEAST), complex(2, -LEAST), complex(LEAST, 2),
    complex(-LEAST, 2), complex(LEAST, -2), complex(-LEAST, -2), complex(0.5, LEAST), complex(0.5, -LEAST),
    complex(MOST, MOST), complex(-MOST, LEAST), complex(LEAST, -MOST), complex(LEAST, LEAST), complex(-100, 3),
    complex(80, 100), complex(1 + 2.0**-23, 2.0**-40),
]  # fmt: skip


def agrees(e: Enclosures, due: Any, size: Any, index: int) -> bool:
    """Whether an enclosure holds a part of a number that mpmath has to 2**-400 of its modulus."""
    assert e.state[index] == State.KNOWN
    exponent = int(e.exponent[index])
    if abs(exponent) == FARTHEST:
        beyond = MP.mag(due) > FARTHEST if exponent > 0 else MP.mag(due) <= -FARTHEST
        return bool(due) and beyond and MP.sign(due) == e.head[index]
    scale = MP.ldexp(1, exponent)
    middle = (MP.mpf(float(e.head[index])) + MP.mpf(float(e.tail[index]))) * scale
    return abs(middle - due) <= float(e.radius[index]) * scale + size * MP.mpf(2) ** -400


@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_complex_number(name: str) -> None:
    value, slope = UNARY[name]
    references = References(opinions=4)
    w = 0.5 - 2j
    (forward,) = references.enclose(batch(unary(name), "forward", (0,), [POINTS], [], COMPLEX64))
    weights = [np.full(len(POINTS), w)]
    (back,) = references.enclose(batch(unary(name), "vjp", (0,), [POINTS], weights, COMPLEX64))
    (along,) = references.enclose(batch(unary(name), "jvp", (0,), [POINTS], weights, COMPLEX64))
    for index, z in enumerate(map(MP.mpmathify, POINTS)):
        right, factor = MP.mpmathify(value(z)), MP.mpmathify(slope(z))
        for answer, due in ((forward, right), (back, w * MP.conj(factor)), (along, w * factor)):
            assert answer.imag is not None
            assert agrees(answer.real, due.real, abs(due), index), z
            assert agrees(answer.imag, due.imag, abs(due), index), z
    assert references.disagreements == []


CUT: dict[str, tuple[str, list[complex]]] = {
    "log": ("log", [-2, -LEAST, -MOST]), "log10": ("log10", [-2]), "sqrt": ("sqrt", [-4, -LEAST]),
    "arcsin": ("asin", [2, -2]), "arccos": ("acos", [2, -2]), "arctan": ("atan", [2j, -2j]),
    "arcsinh": ("asinh", [2j, -2j]), "arccosh": ("acosh", [0.5, -0.5, -2]), "arctanh": ("atanh", [2, -2]),
}  # fmt: skip
# Functions whose derivatives are the same on both sides of the cut.
SINGLE = ("log", "log10", "arctan", "arctanh")


@pytest.mark.parametrize("name", CUT)
def test_on_a_cut_zero_counts_as_positive(name: str) -> None:
    # As in the C standard, which Python's cmath follows, and MLX as well.
    theirs, points = CUT[name]
    points = [complex(z) for z in points]
    references = References(opinions=4)
    (forward,) = references.enclose(batch(unary(name), "forward", (0,), [points], [], COMPLEX64))
    (back,) = references.enclose(batch(unary(name), "vjp", (0,), [points], [np.ones(len(points))], COMPLEX64))
    assert forward.imag is not None
    for index, z in enumerate(points):
        due = getattr(cmath, theirs)(z + complex(0.0, 0.0))
        assert forward.real.head[index] == pytest.approx(due.real, rel=1e-14, abs=1e-16)
        assert forward.imag.head[index] == pytest.approx(due.imag, rel=1e-14, abs=1e-16)
    assert back.real.state.tolist() == [State.KNOWN if name in SINGLE else State.UNDEFINED] * len(points)
    assert references.disagreements == []


def test_a_derivative_on_a_cut_that_both_sides_share() -> None:
    (back,) = References(opinions=1).enclose(batch(unary("log"), "vjp", (0,), [-4.0], [1.0], COMPLEX64))
    assert (back.real.head[0], back.imag.head[0] if back.imag else None) == (-0.25, 0.0)


@pytest.mark.parametrize(
    ("name", "points"),
    [("log", [0]), ("rsqrt", [0]), ("log1p", [-1]), ("arctan", [1j, -1j]), ("arctanh", [1, -1]), ("reciprocal", [0])],
)
def test_poles(name: str, points: list[complex]) -> None:
    for kind, weights in (("forward", []), ("vjp", [np.ones(len(points))])):
        (answer,) = References().enclose(batch(unary(name), kind, (0,), [points], weights, COMPLEX64))
        assert answer.real.state.tolist() == [State.UNDEFINED] * len(points)


Two = Callable[[Any, Any], Any]


def _before(x: Any, y: Any) -> bool:
    return bool((x.real, x.imag) < (y.real, y.imag))


BINARY: dict[str, tuple[Two, Two, Two]] = {
    "add": (lambda x, y: x + y, lambda *_: MP.mpf(1), lambda *_: MP.mpf(1)),
    "subtract": (lambda x, y: x - y, lambda *_: MP.mpf(1), lambda *_: MP.mpf(-1)),
    "multiply": (lambda x, y: x * y, lambda _, y: y, lambda x, _: x),
    "divide": (lambda x, y: x / y, lambda _, y: 1 / y, lambda x, y: -x / (y * y)),
    "power": (
        lambda x, y: MP.exp(y * MP.log(x)), lambda x, y: y * MP.exp((y - 1) * MP.log(x)),
        lambda x, y: MP.exp(y * MP.log(x)) * MP.log(x),
    ),
    "logaddexp": (
        lambda x, y: MP.log(MP.exp(x) + MP.exp(y)), lambda x, y: 1 / (1 + MP.exp(y - x)),
        lambda x, y: 1 / (1 + MP.exp(x - y)),
    ),
    "maximum": (lambda x, y: y if _before(x, y) else x, lambda x, y: MP.mpf(not _before(x, y)),
                lambda x, y: MP.mpf(_before(x, y))),
    "minimum": (lambda x, y: x if _before(x, y) else y, lambda x, y: MP.mpf(_before(x, y)),
                lambda x, y: MP.mpf(not _before(x, y))),
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_complex_numbers(name: str) -> None:
    value, by_x, by_y = BINARY[name]
    points = [(1.5 + 0.5j, -0.5 + 2j), (-1.5 - 0.25j, 2 + 0j), (0.25 - 1.75j, 0.5 + 0.5j), (-3 + 1j, 1.5 - 4j)]
    xs, ys = [list(column) for column in zip(*points, strict=True)]
    f = function(name, "x y", lambda m, x, y: getattr(m, name)(x, y))
    references = References(opinions=4)
    w = 0.5 - 2j
    (forward,) = references.enclose(batch(f, "forward", (0, 1), [xs, ys], [], COMPLEX64))
    for_x, for_y = references.enclose(batch(f, "vjp", (0, 1), [xs, ys], [np.full(len(xs), w)], COMPLEX64))
    for index, (x, y) in enumerate(points):
        a, b = MP.mpc(x), MP.mpc(y)
        for answer, due in (
            (forward, value(a, b)),
            (for_x, w * MP.conj(by_x(a, b))),
            (for_y, w * MP.conj(by_y(a, b))),
        ):
            due = MP.mpc(due)
            assert answer.imag is not None
            assert agrees(answer.real, due.real, abs(due), index), (x, y)
            assert agrees(answer.imag, due.imag, abs(due), index), (x, y)
    assert references.disagreements == []


@pytest.mark.parametrize(("name", "due"), [("maximum", 0.25 + 0.5j), ("minimum", 0.25 - 1.75j)])
def test_equal_real_parts_are_ordered_by_the_imaginary_ones(name: str, due: complex) -> None:
    f = function(name, "x y", lambda m, x, y: getattr(m, name)(x, y))
    points = [0.25 - 1.75j, 0.25 + 0.5j]
    (value,) = References(opinions=1).enclose(batch(f, "forward", (0, 1), points, [], COMPLEX64))
    assert value.imag is not None
    assert complex(value.real.head[0], value.imag.head[0]) == due
    # A step along the real axis takes the other one: there is no slope.
    for answer in References().enclose(batch(f, "vjp", (0, 1), points, [1.0], COMPLEX64)):
        assert answer.real.state[0] == State.UNDEFINED


# Functions of both parts, with the gradient along (x, y) of the sum of w's parts times the value's.
PARTS: dict[str, tuple[Format, Callable[[complex], complex], Callable[[complex, complex], complex]]] = {
    "real": (FLOAT32, lambda z: z.real, lambda _, w: complex(w.real, 0)),
    "imag": (FLOAT32, lambda z: z.imag, lambda _, w: complex(0, w.real)),
    "abs": (FLOAT32, abs, lambda z, w: w.real * z / abs(z)),
    "conj": (COMPLEX64, lambda z: z.conjugate(), lambda _, w: w.conjugate()),
    "sign": (
        COMPLEX64, lambda z: z / abs(z),
        lambda z, w: (w - (w * z.conjugate()).real * z / abs(z) ** 2) / abs(z),
    ),
    "round": (COMPLEX64, lambda z: complex(round(z.real), round(z.imag)), lambda *_: 0j),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_functions_of_both_parts(name: str) -> None:
    fmt, value, gradient = PARTS[name]
    points = np.array([1.5 + 0.25j, -1.25 + 0.75j, -1.75 - 3.25j, 0.25 - 1.75j])
    w: Any = np.array([0.5 - 2j, 1 + 1j, -3 + 0.5j, 2 - 1j])
    f = unary(name)
    references = References(opinions=4)

    def ask(kind: Any, weights: tuple[Any, ...]) -> Any:
        asked = Batch("test", f, COMPLEX64, Mode(kind, (0,)), (points,), weights, result=fmt)
        return references.enclose(asked)[0]

    forward = ask("forward", ())
    back = ask("vjp", (w if fmt is COMPLEX64 else w.real,))
    for index, z in enumerate(points.tolist()):
        due = value(z)
        assert forward.real.head[index] == pytest.approx(due.real, rel=1e-14)
        if fmt is COMPLEX64:
            assert forward.imag.head[index] == pytest.approx(due.imag, rel=1e-14)
        slope = gradient(z, complex(w[index]))
        assert back.real.head[index] == pytest.approx(slope.real, rel=1e-13, abs=1e-15)
        assert back.imag.head[index] == pytest.approx(slope.imag, rel=1e-13, abs=1e-15)
    assert references.disagreements == []


def test_the_sign_of_zero_is_zero_and_has_no_slope() -> None:
    references = References()
    (value,) = references.enclose(batch(unary("sign"), "forward", (0,), [0j], [], COMPLEX64))
    assert (value.real.head[0], value.real.radius[0]) == (0.0, 0.0)
    (back,) = references.enclose(batch(unary("sign"), "vjp", (0,), [0j], [1.0], COMPLEX64))
    assert back.real.state[0] == State.UNDEFINED


def test_a_real_number_beside_a_complex_one_costs_no_products_with_zero() -> None:
    f = Function("x * z", ("x", "z"), lambda m, x, z: m.multiply(x, z), "x * z")
    asked = Batch(
        "test", f, COMPLEX64, Mode("vjp", (0, 1)), (np.array([3.0]), np.array([2 + 5j])), (np.array([1 - 1j]),),
        formats=(FLOAT32, COMPLEX64),
    )  # fmt: skip
    for_x, for_z = References(opinions=1).enclose(asked)
    assert for_x.imag is None
    assert for_x.real.head[0] == 2 - 5
    assert for_z.imag is not None
    assert (for_z.real.head[0], for_z.imag.head[0]) == (3.0, -3.0)


def test_both_parts_of_a_root_have_the_modulus_as_their_size() -> None:
    # The real part of the root of -4 is exactly zero: what a library returns there is compared with 2, not with 0.
    (value,) = References().enclose(batch(unary("sqrt"), "forward", (0,), [-4.0], [], COMPLEX64))
    assert (value.real.head[0], value.real.terms[0]) == (0.0, pytest.approx(2.0))
