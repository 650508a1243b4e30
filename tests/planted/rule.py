"""A rule: derivatives of one operation of MLX with some of their parts replaced.

Parts are named by mode and argument: ``"vjp b"``, ``"jvp a"``. What a rule does not replace is computed in float64 and
rounded once, which is right over the whole range of every narrower format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Implementation
from audit.patches.laurent import aligned, as_array, as_tuple, on
from audit.verdict import Verdict

Piece = Callable[..., Any]

NARROW = ("float16", "float32")


@dataclass(frozen=True)
class Rule:
    """A derivative rule of one operation.

    Args:
        name: what it does, in words; also the id of its test.
        operation: the operation of ``mx`` whose derivatives are replaced.
        pieces: by part, called as ``piece(weight, *primals)``; the results of the given tangents are added. ``"vjp"``
            and ``"jvp"`` replace the whole: ``vjp(cotangent, primals)`` gives a tuple, ``jvp(tangents, primals)`` one
            array, with None for the arguments that are not traced.
        named: the verdict that must be among those of its mismatches; None for a right rule.
        broken: the parts that are wrong; by default those that are replaced. A joint jvp is the part ``"jvp a,b"``,
            all derivatives above the first the part ``"second"``.
        formats: where it is compared.
        families: names of the groups where it is compared; None means all of the first order.
        broadcast: whether operands are broadcast before the rule sees them.
        vmap: what a mapped call does with operands whose mapped axis is the first; by default it is mapped itself.
        forward: the value; MLX's own by default.
    """

    name: str
    operation: str
    pieces: Mapping[str, Piece] = field(default_factory=dict)
    named: Verdict | None = None
    broken: frozenset[str] | None = None
    formats: tuple[str, ...] = NARROW
    families: tuple[str, ...] | None = None
    broadcast: bool = True
    vmap: Callable[..., list[mx.array]] | None = None
    forward: Piece | None = None

    @property
    def touched(self) -> frozenset[str]:
        """The parts in which a mismatch may be this rule's doing."""
        touched = set(self.wrong)
        if touched & {"jvp a", "jvp b"}:
            touched.add("jvp a,b")
        return frozenset(touched | {"second"}) if touched else frozenset()

    @property
    def wrong(self) -> frozenset[str]:
        """The parts in which it must be caught."""
        if self.broken is not None:
            return self.broken
        return frozenset(self.pieces) if self.named else frozenset()

    def implementation(self) -> Implementation:
        """The rule in place of MLX's own. Float64 is computed on the CPU only."""
        return Implementation(self.name, "planted", lambda: Replaced(self), active=lambda: on(mx.Device(mx.cpu)))


class Replaced:
    """`mlx.core` with one operation replaced. It is made anew for every batch, and what a rule remembers with it."""

    def __init__(self, rule: Rule) -> None:
        own = {part: copy(piece) for part, piece in rule.pieces.items()}
        self._pieces = {**RIGHT[rule.operation], **own}
        self._rule = rule
        setattr(self, rule.operation, self._call)

    def __getattr__(self, name: str) -> Any:
        return getattr(mx, name)

    def _call(self, *operands: mx.array) -> mx.array:
        rule, pieces, names = self._rule, self._pieces, arguments(self._rule.operation)
        dtype = operands[0].dtype
        if rule.broadcast and len(operands) > 1:
            operands = tuple(mx.broadcast_arrays(*operands))

        @mx.custom_function
        def function(*at: mx.array) -> mx.array:
            return (rule.forward or getattr(mx, rule.operation))(*at)

        @function.vjp
        def _(primals: Any, cotangent: mx.array, _: mx.array) -> Any:
            at = as_tuple(primals)
            if "vjp" in pieces:
                return pieces["vjp"](cotangent, at)
            return tuple(pieces[f"vjp {name}"](cotangent, *at).astype(dtype) for name in names)

        @function.jvp
        def _(primals: Any, tangents: Any) -> mx.array:
            at, along = as_tuple(primals), as_tuple(tangents)
            if "jvp" in pieces:
                return pieces["jvp"](along, at)
            given = [(n, t) for n, t in zip(names, along, strict=True) if t is not None]
            parts = [pieces[f"jvp {name}"](tangent, *at) for name, tangent in given]
            return (parts[0] if len(parts) == 1 else parts[0] + parts[1]).astype(dtype)

        # Without a vmap of its own a custom_function is mapped as the operations inside it, and its rule is lost.
        @function.vmap
        def _(inputs: Any, axes: Any) -> tuple[mx.array, int]:
            moved = aligned(inputs, axes, None)
            return self._call(*(moved if rule.vmap is None else rule.vmap(*moved))), 0

        return as_array(function(*operands))


def arguments(operation: str) -> tuple[str, ...]:
    """Names of the arguments of an operation."""
    return ("a", "b") if operation == "divide" else ("x",)


def wide(piece: Piece) -> Piece:
    """A piece that sees float64 in place of a narrower real format, and gives float64."""

    def widened(*arrays: mx.array) -> Any:
        return piece(*(x.astype(mx.float64) if mx.issubdtype(x.dtype, mx.floating) else x for x in arrays))

    return widened


def host(piece: Piece) -> Piece:
    """A piece computed by NumPy in float64. MLX's exp, sin, cos and erf have single precision in float64."""

    def hosted(*arrays: mx.array) -> mx.array:
        with np.errstate(all="ignore"):
            value = piece(*(np.array(x.astype(mx.float64)) for x in arrays))
        return mx.array(value, dtype=mx.float64)

    return hosted


def conj(x: mx.array) -> mx.array:
    """The conjugate of a complex array; a real one as it is."""
    return mx.conjugate(x) if mx.issubdtype(x.dtype, mx.complexfloating) else x


def chain(slope: Callable[[Any], Any]) -> Piece:
    """The chain rule of one argument, by NumPy in float64."""
    return host(lambda w, x: w * slope(x))


def both(piece: Piece) -> dict[str, Piece]:
    """One piece for the vjp and the jvp of an operation of one argument."""
    return {"vjp x": piece, "jvp x": piece}


SLOPES: dict[str, Callable[[Any], Any]] = {
    "square": lambda x: 2 * x,
    "reciprocal": lambda x: -1 / (x * x),
    "sqrt": lambda x: 0.5 / np.sqrt(x),
    "rsqrt": lambda x: -0.5 / (x * np.sqrt(x)),
    "exp": np.exp,
    "expm1": np.exp,
    "log": lambda x: 1 / x,
    "log1p": lambda x: 1 / (1 + x),
    "sin": np.cos,
    "cos": lambda x: -np.sin(x),
    "tanh": lambda x: 1 / np.cosh(x) ** 2,
    "sigmoid": lambda x: 0.25 / np.cosh(x / 2) ** 2,
    "erf": lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x),
    "abs": np.sign,
}

RIGHT: dict[str, Mapping[str, Piece]] = {
    "divide": {
        "vjp a": wide(lambda g, _, b: g / conj(b)),
        "vjp b": wide(lambda g, a, b: -(g * conj(a)) / (conj(b) * conj(b))),
        "jvp a": wide(lambda t, _, b: t / b),
        "jvp b": wide(lambda t, a, b: -(t * a) / (b * b)),
    },
    **{operation: both(chain(slope)) for operation, slope in SLOPES.items()},
}
