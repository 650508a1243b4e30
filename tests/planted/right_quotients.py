"""Right derivatives of a / b, written in other ways than MLX's."""
# ruff: noqa: ARG005  every piece takes the weight and both operands, whether it reads them or not

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import mlx.core as mx

from audit.case import Implementation
from audit.patches import forms
from audit.patches.implementations import IMPLEMENTATIONS
from planted.points import FIRST_ORDER, SECOND_ORDER
from planted.rounding import (
    away_from_zero,
    downward,
    other_neighbour,
    other_subnormal,
    rounded,
    toward_zero,
    upward,
)
from planted.rule import RIGHT, Piece, Rule, wide
from planted.subject import Subject, subject

Change = Callable[[Piece], Piece]

_FORMATS = ("float16", "bfloat16", "float32")
_EVERYTHING = tuple(dict.fromkeys((*FIRST_ORDER, *SECOND_ORDER)))
# Without derivatives above the first, which the bits of a rounding do not have.
_ONCE = tuple(name for name in FIRST_ORDER if name not in ("series", "common scale"))
_MAPPED = ("vmap axis 0", "vmap axis 1", "vmap axis 0, b unbatched", "vmap axis 1, a unbatched", "checkpoint")

# -w a / b^2 in float64, whose range holds every intermediate value of a narrower format.
_ORDERS: dict[str, Piece] = {
    "-(w*a)/(b*b)": lambda w, a, b: -(w * a) / (b * b),
    "-(w/b)*(a/b)": lambda w, a, b: -(w / b) * (a / b),
    "-((w/b)*a)/b": lambda w, a, b: -((w / b) * a) / b,
    "-((a/b)*w)/b": lambda w, a, b: -((a / b) * w) / b,
    "-w*(a/(b*b))": lambda w, a, b: -w * (a / (b * b)),
    "-(w/(b*b))*a": lambda w, a, b: -(w / (b * b)) * a,
    "w*a*(-1/(b*b))": lambda w, a, b: w * a * (-1 / (b * b)),
    "-w*(1/b)*(a*(1/b))": lambda w, a, b: -w * (1 / b) * (a * (1 / b)),
    "-w*a*square(1/b)": lambda w, a, b: -w * a * mx.square(1 / b),
    "(-w/b)/(b/a), and zero where a is": lambda w, a, b: mx.where(a == 0, w * 0, (-w / b) / (b / (a + (a == 0)))),
    "(0-w*a)/b/b": lambda w, a, b: (0 - w * a) / b / b,
    "w/(-b)*(a/b)": lambda w, a, b: w / (-b) * (a / b),
    "(w/2)*a/(b*b)*(-2)": lambda w, a, b: (w / 2) * a / (b * b) * (-2),
}
_NUMERATOR: dict[str, Piece] = {
    "w*(1/b)": lambda w, a, b: w * (1 / b),
    "(w*b)/(b*b)": lambda w, a, b: (w * b) / (b * b),
    "1/(b/w), and zero where w is": lambda w, a, b: mx.where(w == 0, w * 0, 1 / (b / (w + (w == 0)))),
}
_COMPLEX: dict[str, Piece] = {
    "vjp a": lambda w, a, b: w * b / mx.square(mx.abs(b)),
    "jvp a": lambda w, a, b: w * mx.conjugate(b) / mx.square(mx.abs(b)),
    "jvp b": lambda w, a, b: -(w / b) * (a / b),
}


def _subject(
    name: str, pieces: dict[str, Piece], change: Change, families: tuple[str, ...], formats: tuple[str, ...] = _FORMATS
) -> Subject:
    """A rule of some pieces, all of them changed at the end."""
    pieces = {part: change(piece) for part, piece in {**RIGHT["divide"], **pieces}.items()}
    # Two tangents need a common denominator: each term alone may be beyond the format where they cancel.
    joint = change(wide(lambda ta, tb, a, b: (ta * b - a * tb) / (b * b)))

    def jvp(tangents: tuple[mx.array | None, ...], primals: tuple[mx.array, ...]) -> mx.array:
        ta, tb = tangents
        if ta is not None and tb is not None:
            return joint(ta, tb, *primals).astype(ta.dtype)
        tangent, part = (ta, "jvp a") if tb is None else (tb, "jvp b")
        return pieces[part](tangent, *primals).astype(primals[0].dtype)

    return subject(Rule(name, "divide", {**pieces, "jvp": jvp}, formats=formats, families=families))


def _ordered(argument: str, name: str, order: Piece) -> Subject:
    # A branch for zero hides the slope there from second derivatives.
    families = FIRST_ORDER if "zero" in name else _EVERYTHING
    return _subject(f"by {argument}: {name}", _both(argument, wide(order)), lambda piece: piece, families)


def _changed(name: str, change: Change, formats: tuple[str, ...] = _FORMATS) -> Subject:
    return _subject(name, {}, change, _ONCE, formats)


def _both(argument: str, piece: Piece) -> dict[str, Piece]:
    return {f"vjp {argument}": piece, f"jvp {argument}": piece}


def _zeros(sign: float) -> Change:
    def change(piece: Piece) -> Piece:
        def signed(w: mx.array, *primals: mx.array) -> mx.array:
            value = piece(w, *primals).astype(w.dtype)
            return mx.where(value == 0, mx.array(sign, w.dtype) * 0, value)

        return signed

    return change


class _InFloat64:
    """`mlx.core` with division computed in float64; its derivatives are MLX's own, in float64."""

    def __init__(self, quotient: Callable[[mx.array, mx.array], mx.array]) -> None:
        self._quotient = quotient

    def divide(self, a: mx.array, b: mx.array) -> mx.array:
        """The quotient, rounded to the format of a."""
        return self._quotient(a.astype(mx.float64), b.astype(mx.float64)).astype(a.dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(mx, name)


def _in_float64() -> _InFloat64:
    return _InFloat64(mx.divide)


def _implementation(name: str, quotient: Callable[[mx.array, mx.array], mx.array], transform: Any = None) -> Subject:
    made = Implementation(
        name, "planted", lambda: _InFloat64(quotient), active=lambda: mx.stream(mx.Device(mx.cpu)), transform=transform
    )
    families = ("opposite scale", "matrix") if transform else _EVERYTHING
    return Subject(name, "divide", made, ("float16", "float32") if transform else _FORMATS, families)


def _kept(name: str, formats: tuple[str, ...], families: tuple[str, ...]) -> Subject:
    """An implementation that the audit ships."""
    return Subject(name, "divide", IMPLEMENTATIONS[name], formats, families)


RIGHT_QUOTIENTS = (
    *(_ordered("b", name, order) for name, order in _ORDERS.items()),
    *(_ordered("a", name, order) for name, order in _NUMERATOR.items()),
    _changed("rounded toward zero", partial(rounded, away=toward_zero)),
    _changed("rounded away from zero", partial(rounded, away=away_from_zero)),
    _changed("rounded upward", partial(rounded, away=upward)),
    _changed("rounded downward", partial(rounded, away=downward)),
    _changed("rounded to the other neighbour", partial(rounded, away=other_neighbour)),
    *(
        _changed(
            f"the other neighbour where subnormal in {name}", partial(rounded, away=other_subnormal(name)), (name,)
        )
        for name in _FORMATS
    ),
    _changed("every zero negative", _zeros(-1.0)),
    _changed("every zero positive", _zeros(1.0)),
    _implementation("quotient of float64 numbers", mx.divide),
    _implementation("product with a float64 reciprocal", lambda a, b: a * mx.reciprocal(b)),
    _implementation("minus the quotient of minus a", lambda a, b: -mx.divide(-a, b)),
    _implementation("quotient of both times 3", lambda a, b: mx.divide(3 * a, 3 * b)),
    _implementation("quotient of float64 numbers, compiled", mx.divide, forms.compiled),
    _implementation("quotient of float64 numbers, mapped", mx.divide, forms.vmapped),
    _kept("python", ("float16", "bfloat16", "float32", "float64"), _EVERYTHING),
    _kept("python:vmapped", ("float32", "float64"), ("opposite scale", "matrix")),
    subject(Rule("rule kept under vmap and checkpoint", "divide", formats=_FORMATS, families=_MAPPED)),
    subject(Rule("complex, over the squared modulus", "divide", _COMPLEX, formats=("complex64",))),
)
