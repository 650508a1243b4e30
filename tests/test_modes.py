"""How MLX is asked: exact numbers in and out, memory layouts, transforms, every mode, and MLX's complex convention."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from audit.case import Batch, Function, Mode
from audit.families import power
from audit.formats import COMPLEX64, FLOAT16, FLOAT32, FLOAT64, FORMATS, REAL_FORMATS, Floats, Format
from audit.modes import DTYPES, ask, from_mlx, labels, to_mlx

VJP, JVP, FORWARD = Mode("vjp", (0, 1)), Mode("jvp", (0, 1)), Mode("forward", ())
PRODUCT = Function("product", ("x", "y"), lambda m, x, y: m.multiply(x, m.square(y)), "x * y**2")
ARRAY_PRODUCT = replace(PRODUCT, name="product of arrays", elementwise=False)
ROWS = Function("sum of rows", ("x", "y"), lambda m, x, y: m.sum(m.multiply(x, y), axis=-1), "", elementwise=False)

by_format = pytest.mark.parametrize("fmt", REAL_FORMATS, ids=lambda fmt: fmt.name)


class Plain:
    """`mlx.core`, with what a test changes."""

    def __init__(self, **changed: Any) -> None:
        self.__dict__.update(changed)

    def __getattr__(self, name: str) -> Any:
        return getattr(mx, name)


def special(fmt: Format) -> Floats:
    """Zeros, infinities, NaN, subnormal and ordinary numbers, and the ends of the range."""
    x = [0.0, np.inf, 1.0, 1.5, fmt.largest, fmt.smallest_normal, fmt.smallest_subnormal, 3 * fmt.smallest_subnormal]
    x += [float(fmt.next_down(fmt.smallest_normal)), float(fmt.next_up(1.0)), np.nan]
    return np.array([*x, *(-v for v in x)])


def asked(function: Function, mode: Mode, x: Any, y: Any, *weights: Any, fmt: Format = FLOAT32, **more: Any) -> Batch:
    primals = tuple(np.asarray(p, complex if fmt.parts == 2 else float) for p in (x, y))
    return Batch("modes", function, fmt, mode, primals, tuple(np.asarray(w) for w in weights), **more)


@by_format
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided"])
def test_numbers_go_in_and_come_out_bit_for_bit(fmt: Format, layout: Any) -> None:
    """The library's own conversions are passed by: some round, flush subnormals or change NaN."""
    if fmt.bits == 16:
        x = fmt.from_bits(np.arange(2**16)).reshape(256, 256)
    else:
        x = np.concatenate([special(fmt), np.ldexp(1.25, np.arange(fmt.emin, fmt.emax))])
        x = np.resize(x, (4, len(x) // 4))
    array = to_mlx(x, fmt, layout)
    assert array.dtype == DTYPES[fmt.name]
    assert array.shape == x.shape
    back = from_mlx(array, fmt)
    assert np.array_equal(back, x, equal_nan=True)
    assert np.array_equal(np.signbit(back)[~np.isnan(x)], np.signbit(x)[~np.isnan(x)])


@by_format
def test_scalars_and_empty_arrays_keep_their_shape(fmt: Format) -> None:
    for shape in ((), (0,), (1, 1), (2, 0, 3)):
        x = np.full(shape, fmt.smallest_subnormal)
        for layout in ("contiguous", "transposed", "strided"):
            assert from_mlx(to_mlx(x, fmt, layout), fmt).shape == shape


def test_what_mlx_holds_is_that_number() -> None:
    """Read by MLX itself, in a format that holds all of them."""
    for fmt in (FLOAT16, FORMATS["bfloat16"], FLOAT32):
        x = special(fmt)
        x = x[np.isfinite(x)]
        assert [float(v) for v in np.array(to_mlx(x, fmt).astype(mx.float64))] == x.tolist()


def test_complex_numbers_go_in_and_come_out() -> None:
    parts = special(FLOAT32)
    x = np.empty((len(parts), len(parts)), complex)
    x.real, x.imag = parts[:, None], parts[None, :]
    for layout in ("contiguous", "transposed", "strided"):
        back = from_mlx(to_mlx(x, COMPLEX64, layout), COMPLEX64)
        for part in (np.real, np.imag):
            got, due = part(back), part(x)
            assert np.array_equal(got, due, equal_nan=True)
            assert np.array_equal(np.signbit(got)[~np.isnan(due)], np.signbit(due)[~np.isnan(due)])


def strides(x: mx.array) -> tuple[int, ...]:
    """In elements, as the buffer shows them without a copy."""
    view = np.array(x, copy=False)
    return tuple(step // view.itemsize for step in view.strides)


def test_layouts_are_what_they_are_called() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    assert strides(to_mlx(x, FLOAT32)) == (12, 4, 1)
    assert strides(to_mlx(x, FLOAT32, "transposed")) == (1, 2, 6)
    assert strides(to_mlx(x, FLOAT32, "strided")) == (24, 8, 2)
    assert strides(to_mlx(x.astype(complex), COMPLEX64, "strided")) == (24, 8, 2)
    # What lies between the elements is not read by accident: it is another number.
    assert from_mlx(to_mlx(x, FLOAT32, "strided"), FLOAT32).tolist() == x.tolist()


@by_format
@pytest.mark.parametrize("mode", [FORWARD, VJP, JVP, Mode("vjp", (1,)), Mode("jvp", (0,))], ids=str)
def test_layouts_and_transforms_do_not_change_a_right_answer(fmt: Format, mode: Mode) -> None:
    """Small integers: every sum and product is exact, so that all ways must agree to the last bit."""
    rng = np.random.default_rng(1)
    x, y, w = (rng.integers(-3, 4, (3, 2, 4)).astype(float) for _ in range(3))
    count = {"forward": 0, "vjp": 1, "jvp": len(mode.traced)}[mode.kind]
    plain = asked(ARRAY_PRODUCT, mode, x, y, *[w] * count, fmt=fmt)
    due = {"forward": [x * y * y], "vjp": [w * y * y, 2 * w * x * y], "jvp": [w * y * y, 2 * w * x * y]}[mode.kind]
    due = [due[i] for i in mode.traced] if mode.traced else due
    due = [np.sum(due, axis=0)] if mode.kind == "jvp" else due
    for layout, wrap in (
        ("contiguous", ""), ("transposed", ""), ("strided", ""), ("contiguous", "checkpoint"),
        ("contiguous", "vmap 0,0"), ("contiguous", "vmap 1,1"), ("strided", "vmap 1,1"), ("transposed", "checkpoint"),
    ):  # fmt: skip
        # An argument that is closed over is not mapped.
        if wrap.startswith("vmap") and mode.traced != (0, 1):
            continue
        got = ask(replace(plain, layout=layout, wrap=wrap), mx)  # type: ignore[arg-type]
        assert [g.real.tolist() for g in got] == [d.tolist() for d in due], (layout, wrap)
        assert [g.argument for g in got] == labels(plain)


@pytest.mark.parametrize(("wrap", "x", "y"), [("vmap 0,-", (2, 3), (3,)), ("vmap -,0", (3,), (2, 3))])
def test_an_argument_that_is_not_mapped_gets_the_sum_over_rows(wrap: str, x: Any, y: Any) -> None:
    a, b, w = np.ones((1, *x)) * 3, np.ones((1, *y)) * 5, np.ones((1, 2, 3))
    to_x, to_y = ask(asked(ARRAY_PRODUCT, VJP, a, b, w, wrap=wrap), mx)
    assert to_x.real.tolist() == np.full((1, *x), 25.0 * (1 if len(x) == 2 else 2)).tolist()
    assert to_y.real.tolist() == np.full((1, *y), 30.0 * (1 if len(y) == 2 else 2)).tolist()


def test_a_mapped_function_sees_one_row() -> None:
    shapes = []

    def watched(m: Any, x: Any, y: Any) -> Any:
        shapes.append((x.shape, y.shape))
        return m.multiply(x, y)

    function = Function("watched", ("x", "y"), watched, "x * y", elementwise=False)
    ask(asked(function, VJP, np.ones((1, 2, 3)), np.ones((1, 3)), np.ones((1, 2, 3)), wrap="vmap 0,-"), mx)
    assert shapes == [((3,), (3,))]


@pytest.mark.parametrize("kind", ["grad1", "grad2", "grad3"])
def test_repeated_gradients_by_their_closed_form(kind: Any) -> None:
    cube = Function("cube", ("c", "x"), lambda _, c, x: c * x * x * x, "c * x**3")
    c, x, w = np.array([1.0, 2, 4]), np.array([3.0, -5, 0.5]), np.array([1.0, -0.5, 2])
    (got,) = ask(asked(cube, Mode(kind, (1,)), c, x, w), mx)
    due = {"grad1": 3 * x * x, "grad2": 6 * x, "grad3": np.full(3, 6.0)}[kind]
    assert got.real.tolist() == (w * c * due).tolist()
    assert got.argument == "x"


@pytest.mark.parametrize("kind", ["hessian-rr", "hessian-fr"])
def test_every_entry_of_a_hessian_by_its_closed_form(kind: Any) -> None:
    x, y, w = np.array([3.0, -1]), np.array([2.0, 5]), np.array([1.0, 2])
    got = {g.argument: g.real.tolist() for g in ask(asked(PRODUCT, Mode(kind, (0, 1)), x, y, w), mx)}
    due = {"x,x": 0 * x, "x,y": 2 * w * y, "y,x": 2 * w * y, "y,y": 2 * w * x}
    assert got == {name: entry.tolist() for name, entry in due.items()}


def test_only_the_compared_arguments_come_back() -> None:
    batch = asked(PRODUCT, VJP, [3.0], [2.0], [1.0], compared=(1,))
    assert [g.argument for g in ask(batch, mx)] == ["y"]


def test_what_is_not_traced_is_closed_over() -> None:
    (got,) = ask(asked(PRODUCT, Mode("jvp", (1,)), [3.0], [2.0], [1.0]), mx)
    assert got.real.tolist() == [12.0]


def test_elementwise_functions_see_all_points_at_once_and_others_one() -> None:
    shapes = []

    def watched(m: Any, x: Any, y: Any) -> Any:
        shapes.append(x.shape)
        return m.multiply(x, y)

    for elementwise in (True, False):
        ask(asked(Function("w", ("x", "y"), watched, "", elementwise), FORWARD, np.ones((5, 1)), np.ones((5, 1))), mx)
    assert shapes == [(5, 1), *[(1,)] * 5]


def test_a_transform_wraps_what_is_differentiated() -> None:
    def doubled(function: Any, batch: Batch) -> Any:
        assert batch.function is PRODUCT
        return lambda *xs: 2 * function(*xs)

    got = ask(asked(PRODUCT, VJP, [3.0], [2.0], [1.0]), mx, doubled)
    assert [g.real.tolist() for g in got] == [[8.0], [24.0]]


def wrong(change: Any) -> Plain:
    """A product whose vjp for its first operand is changed."""

    @mx.custom_function
    def multiply(x: mx.array, y: mx.array) -> mx.array:
        return x * y

    @multiply.vjp
    def _(primals: Any, cotangent: mx.array, _: mx.array) -> Any:
        return change(cotangent * primals[1]), cotangent * primals[0]

    return Plain(multiply=multiply)


@pytest.mark.parametrize("elementwise", [True, False])
def test_a_wrong_shape_is_a_fault_of_that_argument(elementwise: bool) -> None:
    function = replace(PRODUCT, elementwise=elementwise)
    x = np.ones((2, 3))
    to_x, to_y = ask(asked(function, VJP, x, x, x), wrong(lambda g: g[None]))
    due = "(2, 3)" if elementwise else "(3,)"
    assert to_x.fault.startswith("shape: got (1, ")
    assert to_x.fault.endswith(f"{due} is due")
    assert np.isnan(to_x.real).all()
    assert to_y.fault == ""


@pytest.mark.parametrize("elementwise", [True, False])
def test_a_wrong_dtype_is_a_fault_of_that_argument(elementwise: bool) -> None:
    function = replace(PRODUCT, elementwise=elementwise)
    x = np.ones((2, 3))
    to_x, to_y = ask(asked(function, VJP, x, x, x), wrong(lambda g: g.astype(mx.float16)))
    assert to_x.fault == "dtype: got mlx.core.float16, float32 is due"
    assert (to_y.fault, to_y.real.tolist()) == ("", (2 * x).tolist())


def test_a_forward_of_another_format_is_a_fault() -> None:
    widened = Plain(multiply=lambda x, y: mx.multiply(x, y).astype(mx.float32))
    (got,) = ask(asked(PRODUCT, FORWARD, [1.0], [1.0], fmt=FLOAT16), widened)
    assert got.fault == "dtype: got mlx.core.float32, float16 is due"


def test_the_output_of_a_function_that_is_not_elementwise_has_its_own_shape() -> None:
    x = np.arange(12.0).reshape(2, 2, 3)
    (value,) = ask(asked(ROWS, FORWARD, x, x), mx)
    assert value.real.tolist() == (x * x).sum(axis=-1).tolist()
    to_x, to_y = ask(asked(ROWS, VJP, x, x, np.ones((2, 2))), mx)
    assert to_x.real.tolist() == to_y.real.tolist() == x.tolist()


Z = np.array([1 + 2j, -0.5 + 1j, 3 - 1.5j, 2 + 0j, -2j])
W = np.array([1 + 1j, 0.5 - 1j, -1 + 0.25j, 2j, 3 + 0j])
V = np.array([2 - 1j, 1 + 0.5j, -1 - 2j, 0.25 + 0.75j, 1j])

# What MLX must give: the vjp for z of a holomorphic f is conj(f'(z)) w, the gradient for the pair of reals.
COMPLEX = {
    "z": (lambda _, z: z * 1, lambda w: w, lambda v: v),
    "conj(z)": (lambda m, z: m.conj(z), np.conj, np.conj),
    "z**2": (lambda m, z: m.square(z), lambda w: np.conj(2 * Z) * w, lambda v: 2 * Z * v),
    "i*z": (lambda _, z: z * 1j, lambda w: -1j * w, lambda v: 1j * v),
    "z*conj(z)": (lambda m, z: m.multiply(z, m.conj(z)), lambda w: 2 * Z * w.real, lambda v: 2 * (np.conj(Z) * v).real),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_the_complex_convention(name: str) -> None:
    """``Re sum conj(w) jvp(v) = Re sum conj(vjp(w)) v``, and both sides by their closed forms."""
    body, vjp_due, jvp_due = COMPLEX[name]
    # MLX's own conj: the reference has one of the same name.
    function = Function(name, ("z",), body, name)
    arithmetic = Plain(conj=mx.conjugate)
    one = Mode("vjp", (0,))
    (pulled,) = ask(Batch("complex", function, COMPLEX64, one, (Z,), (W,)), arithmetic)
    (pushed,) = ask(Batch("complex", function, COMPLEX64, replace(one, kind="jvp"), (Z,), (V,)), arithmetic)
    assert pulled.imag is not None
    assert pushed.imag is not None
    back, forth = pulled.real + 1j * pulled.imag, pushed.real + 1j * pushed.imag
    assert back.tolist() == vjp_due(W).tolist()
    assert forth.tolist() == np.asarray(jvp_due(V), complex).tolist()
    assert np.real(np.conj(W) * forth).sum() == np.real(np.conj(back) * V).sum()


def test_values_outside_float32_reach_mlx_in_float64() -> None:
    x = power([-1074, -600, 600, 1023])
    (got,) = ask(asked(PRODUCT, FORWARD, x, np.ones(4), fmt=FLOAT64), mx)
    assert [Fraction(v) for v in got.real.tolist()] == [Fraction(2) ** k for k in (-1074, -600, 600, 1023)]


def test_what_mlx_raises_passes_through() -> None:
    def refuse(*_: Any) -> Any:
        message = "no"
        raise ValueError(message)

    with pytest.raises(ValueError, match="^no$"):
        ask(asked(PRODUCT, VJP, [1.0], [1.0], [1.0]), Plain(multiply=refuse))
