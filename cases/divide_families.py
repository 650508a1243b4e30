"""Scale families of division: where over the whole exponent range of a format is the derivative of a/b right?

Tolerance: 8 ulp, since a derivative of a quotient takes at most a product, a square, a division and a scaling.
Functions of C and t are asked only where the chain rule's own intermediate cotangent, about 1/C, is a number of the
format: beyond, no rule for division can help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from audit.case import Batch, Function, Layout, Mode, Tolerance
from audit.families import Choice, Columns, Exponents, Family, Mantissas, power
from audit.formats import Floats, Format
from cases.divide_functions import ARRAY_QUOTIENT, IDENTITY, QUOTIENT, RECIPROCAL, SQUARED

TOLERANCE = Tolerance(ulps=8, reason="a product, a square, a division and a scaling round at most a few times each")
COMPOSED = Tolerance(ulps=8, terms=8, reason="1/t - 1 cancels: its rounding is one of its terms, not of the result")
FORWARD = Mode("forward", ())
VJP, VJP_B = Mode("vjp", (0, 1)), Mode("vjp", (1,))
JVP_A, JVP_B, JVP = Mode("jvp", (0,)), Mode("jvp", (1,)), Mode("jvp", (0, 1))
HESSIANS = (Mode("hessian-rr", (0, 1)), Mode("hessian-fr", (0, 1)))
GRADS = {1: Mode("grad1", (1,)), 2: Mode("grad2", (1,)), 3: Mode("grad3", (1,))}

SIGNS = Choice((1.0, -1.0))
# Which of a, b and g is negative, if any.
NEGATIVE = Choice((0.0, 1.0, 2.0, 3.0))
WHOLE = Exponents(lambda f: f.esub, lambda f: f.emax)


def _scaled(mantissa: Floats, exponent: Floats, fmt: Format) -> Floats:
    """Mantissa * 2**exponent, rounded to the format; infinite where it has no such number."""
    with np.errstate(over="ignore"):
        return fmt.round(np.ldexp(mantissa, exponent.astype(np.int64)))


def _kept(keep: np.ndarray, *columns: Floats) -> list[Floats]:
    return [column[keep] for column in columns]


def _reciprocal_family(
    name: str, function: Function, room: tuple[int, int, int] = (0, 1, 3), tolerance: Tolerance = TOLERANCE
) -> Family:
    """C alone scales. By order, 2**room is the largest cotangent of C*t times C, which must not overflow."""

    def build(fmt: Format, c: Columns) -> Iterator[Batch]:
        for order, needed in enumerate(room, 1):
            scale = _scaled(np.ones_like(c["k"]), c["k"], fmt)
            t = fmt.round(c["sign"] * c["m"])
            exact = fmt.round(scale * t) == scale * t
            scale, t, weight = _kept(exact & (c["k"] >= needed - fmt.emax), scale, t, c["w"])
            yield Batch(name, function, fmt, GRADS[order], (scale, t), (weight,), tolerance)
            if order == 1:
                yield Batch(name, function, fmt, Mode("jvp", (1,)), (scale, t), (weight,), tolerance)

    axes = {
        "k": Exponents(lambda f: -f.emax, lambda f: f.emax - 2),
        "m": Mantissas((1.0, 1.5)),
        "sign": SIGNS,
        "w": Choice((1.0, -0.5, 0.0)),
    }
    return Family(name, axes, build)


def _quotients(name: str, fmt: Format, modes: Sequence[Mode], a: Floats, b: Floats, g: Floats) -> Iterator[Batch]:
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(g) & (b != 0)
    a, b, g = _kept(finite, a, b, g)
    for mode in modes:
        weights = {"forward": (), "jvp": (g,) * len(mode.traced)}.get(mode.kind, (g,))
        yield Batch(name, QUOTIENT, fmt, mode, (a, b), weights, TOLERANCE)


def _opposite(fmt: Format, c: Columns) -> Iterator[Batch]:
    a = _scaled(c["sign"] * c["m"], c["k"], fmt)
    b = _scaled(np.ones_like(a), -c["k"], fmt)
    g = _scaled(np.ones_like(a), np.clip(c["shift"] * c["k"], fmt.esub, fmt.emax), fmt)
    yield from _quotients("opposite scale", fmt, (FORWARD, VJP, JVP_A, JVP_B, JVP), a, b, g)


def _zero_numerator(fmt: Format, c: Columns) -> Iterator[Batch]:
    a = np.copysign(0.0, c["sign"])
    b, g = _scaled(c["m"], c["kb"], fmt), _scaled(np.ones_like(a), c["kg"], fmt)
    yield from _quotients("zero numerator", fmt, (FORWARD, VJP, JVP_A, JVP_B, JVP), a, b, g)


def _cube(name: str, modes: Sequence[Mode]) -> Callable[[Format, Columns], Iterator[Batch]]:
    def build(fmt: Format, c: Columns) -> Iterator[Batch]:
        a, b, g = (
            _scaled(np.where(c["negative"] == place, -c[f"m{letter}"], c[f"m{letter}"]), c[f"k{letter}"], fmt)
            for place, letter in enumerate("abg", 1)
        )
        yield from _quotients(name, fmt, modes, a, b, g)

    return build


def _result_cube(fmt: Format, c: Columns) -> Iterator[Batch]:
    """The exponent of the result is an axis: that of g follows, so that results subnormal and near overflow are met."""
    kg = c["kr"] - c["ka"] + 2 * c["kb"]
    held = (kg >= fmt.esub) & (kg <= fmt.emax)
    columns = {name: column[held] for name, column in {**c, "kg": kg}.items()}
    yield from _cube("result exponents", (VJP_B, JVP_B))(fmt, columns)


def _invariance(fmt: Format, c: Columns) -> Iterator[Batch]:
    a, b = _scaled(c["sign"] * c["ma"], c["ka"], fmt), _scaled(c["mb"], c["kb"], fmt)
    for sign in (1.0, -1.0):
        yield Batch("invariance range", QUOTIENT, fmt, JVP, (a, b), (a, sign * b), TOLERANCE)


_MANTISSAS = {"ma": Mantissas((1.25,)), "mb": Mantissas((1.5,)), "mg": Mantissas((1.75,))}


def _special(fmt: Format, c: Columns) -> Iterator[Batch]:
    named = {1.0: 1.0, 2.0: np.inf, 3.0: np.nan, 4.0: fmt.smallest_subnormal, 5.0: fmt.largest, 0.0: 0.0}
    a, b, g = (np.array([named[abs(v)] * (np.copysign(1.0, v)) for v in c[name]]) for name in ("a", "b", "g"))
    a, b, g = _kept(~np.isfinite(a) | ~np.isfinite(b) | (b == 0) | ~np.isfinite(g), a, b, g)
    for mode in (FORWARD, VJP, JVP_A, JVP_B, JVP):
        weights = {"forward": (), "jvp": (g,) * len(mode.traced)}.get(mode.kind, (g,))
        yield Batch("special values", QUOTIENT, fmt, mode, (a, b), weights, TOLERANCE)


_A = np.array([[1.0, -2.0, 4.0], [3.0, 0.5, -1.0]])
_B = np.array([[2.0, 1.0, -4.0], [1.0, -0.5, 1.5]])
_W = np.array([[1.0, -0.5, 0.0], [2.0, 1.0, -1.0]])


def _arrays(
    name: str, a: Floats, b: Floats, layout: Layout = "contiguous", wrap: str = "", modes: Sequence[Mode] = (VJP, JVP)
) -> Family:
    def build(fmt: Format, c: Columns) -> Iterator[Batch]:
        scale = _scaled(np.ones_like(c["k"]), c["k"], fmt)[:, None, None]
        aa, bb = (scale.reshape(-1, *[1] * x.ndim) * x for x in (a, b))
        for mode in modes:
            # Cotangents differ from point to point, so that one left over from the last call is seen.
            turn = c["k"].astype(np.int64)[:, None, None]
            cotangent = (power(turn % 3 - 1) * np.where(turn % 2, -1.0, 1.0) * _W,)
            weights = (aa, -bb) if mode.kind == "jvp" else cotangent
            yield Batch(name, ARRAY_QUOTIENT, fmt, mode, (aa, bb), weights, TOLERANCE, layout=layout, wrap=wrap)

    # Elements are up to 4 times C, cotangents up to 4, and their sums of g * a / b**2 below 2**8 / C.
    exponents = Exponents(lambda f: 8 - f.emax, lambda f: f.emax - 8)
    return Family(name, {"k": exponents}, build, density=9, random_share=0.01)


FAMILIES = (
    _reciprocal_family("common scale", RECIPROCAL),
    _reciprocal_family("scaled identity", IDENTITY),
    _reciprocal_family("scaled square", SQUARED, (2, 5, 7), COMPOSED),
    Family(
        "opposite scale",
        {
            "k": Exponents(lambda f: -f.emax, lambda f: f.emax),
            "m": Mantissas(),
            "sign": SIGNS,
            "shift": Choice((0.0, -1.0, -2.0, -3.0)),
        },
        _opposite,
    ),
    Family(
        "zero numerator", {"kb": WHOLE, "kg": WHOLE, "m": Mantissas((1.0,)), "sign": SIGNS}, _zero_numerator, density=40
    ),
    Family(
        "exponents",
        {"ka": WHOLE, "kb": WHOLE, "kg": WHOLE, "negative": NEGATIVE, **_MANTISSAS},
        _cube("exponents", (FORWARD, VJP, JVP_A, JVP_B, JVP)),
        density=15,
    ),
    Family(
        "result exponents",
        {"ka": WHOLE, "kb": WHOLE, "kr": WHOLE, "negative": NEGATIVE, **_MANTISSAS},
        _result_cube,
        density=18,
    ),
    Family(
        "second order",
        {"ka": WHOLE, "kb": WHOLE, "kg": WHOLE, "negative": NEGATIVE, **_MANTISSAS},
        _cube("second order", HESSIANS),
        density=10,
    ),
    Family("invariance range", {"ka": WHOLE, "kb": WHOLE, "sign": SIGNS, **_MANTISSAS}, _invariance, density=40),
    Family(
        "special values",
        {name: Choice((1.0, 0.0, -0.0, 2.0, -2.0, 3.0, 4.0, 5.0)) for name in ("a", "b", "g")},
        _special,
    ),
    _arrays("broadcast range", np.array([[1.0], [2.0]]), np.array([[1.0, 2.0, 4.0]])),
    _arrays("matrix", _A, _B),
    _arrays("transposed views", _A, _B, layout="transposed"),
    _arrays("strided views", _A, _B, layout="strided"),
    _arrays("vmap axis 0", _A, _B, wrap="vmap 0,0"),
    _arrays("vmap axis 1", _A, _B, wrap="vmap 1,1"),
    _arrays("vmap axis 0, b unbatched", _A, _B[0], wrap="vmap 0,-"),
    _arrays("vmap axis 0, a unbatched", _A[0], _B, wrap="vmap -,0"),
    _arrays("vmap axis 1, b unbatched", _A, _B[0, :1], wrap="vmap 1,-"),
    _arrays("vmap axis 1, a unbatched", _A[0, :1], _B, wrap="vmap -,1"),
    _arrays("checkpoint", _A, _B, wrap="checkpoint"),
)
