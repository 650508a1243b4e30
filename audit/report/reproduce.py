"""A script of at most 15 lines that asks stock MLX for one derivative, and imports nothing but mlx."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from audit.formats import lookup
from audit.report import record
from audit.report.record import Input, Number
from audit.rows import Shape

LINES = 15
# Numbers of more digits are written in hexadecimal.
DIGITS = 12

# Verdicts on what an array is, not on what it holds.
FORMAL = ("shape", "dtype")
# Verdicts on what was raised.
RAISED = ("raises", "unimplemented")

_MODULES = {"nn": "mlx.nn", "optim": "mlx.optimizers"}


def script(row: Mapping[str, Any], text: str, device: str = "cpu") -> str:
    """The script for one row; it prints what was got, the right value, and its bounds.

    Args:
        row: a row as a mapping from column to value.
        text: the function as an expression of its arguments, e.g. ``"C / (C * t)"``.
        device: ``"cpu"`` or ``"gpu"``.

    Raises:
        AuditError: the row's shapes cannot be read.
    """
    arguments, weights = record.inputs(row)
    names = [*(x.name for x in arguments), *_weight_names(weights, {x.name for x in arguments})]
    # A value is a function of all arguments.
    traced = row["traced"].split(",") if row["traced"] else [x.name for x in arguments]
    asked = _Asked(row, text, [x.name for x in arguments], traced, names[len(arguments) :])
    arrays = [
        f"{name} = {_array(x, row, axis)}"
        for name, x, axis in zip(names, (*arguments, *weights), asked.axes(), strict=True)
    ]
    head = [
        "import mlx.core as mx",
        *(f"import {_MODULES[m]} as {m}" for m in _MODULES if re.search(rf"\b{m}\.", text)),
    ]
    head.append(f"mx.set_default_device(mx.{device})")
    tail = [*asked.lines(), *_told(row)]
    while len(head) + len(arrays) + len(tail) > LINES and len(arrays) > 1:
        # Two short assignments go into one line.
        arrays = sorted(arrays, key=len)
        arrays = [f"{arrays[0]}; {arrays[1]}", *arrays[2:]]
    return "\n".join([*head, *arrays, *tail]) + "\n"


class _Asked:
    """How the derivative of one row is asked for, as text."""

    def __init__(
        self, row: Mapping[str, Any], text: str, names: Sequence[str], traced: Sequence[str], weights: Sequence[str]
    ) -> None:
        self._row, self._text = row, text
        self._names, self._traced, self._weights = names, traced, weights
        self._kind, self._wrap = row["mode"], row["wrap"]
        self._inside, self._outside = self._wrap.startswith("vmap-in "), self._wrap.startswith("vmap-out ")

    def axes(self) -> list[int | None]:
        """Along which axis each array is stacked, with another row behind it; None where it is not."""
        count = len(self._weights)
        if not (self._inside or self._outside):
            return [None] * (len(self._names) + count)
        own = self._mapped()
        tangents: list[int | None] = [own[self._names.index(name)] if self._inside else 0 for name in self._traced]
        if self._kind == "jvp":
            return [*own, *tangents]
        return [*own, *[self._out() if self._inside else 0, *tangents][:count]]

    def lines(self) -> list[str]:
        """The lines that compute what is got."""
        # Where the shape or dtype is wrong no number is looked at.
        element = "" if self._row["verdict"] in FORMAL else f".reshape(-1)[{self._row['element']}].item()"
        everything = ", ".join([*self._names, *self._weights])
        if self._wrap == "compile":
            return [
                f"d = mx.compile(lambda {everything}: {self._derivative(f'({self._function()})')})",
                f"got = d({everything})[{self._position()}]{element}",
            ]
        if self._outside:
            axes = tuple(self.axes())
            mapped = f"mx.vmap(lambda {everything}: {self._derivative(f'({self._function()})')}, {axes}, 0)"
            return [f"d = {mapped}", f"got = d({everything})[{self._position()}][0]{element}"]
        lines = [f"f = {self._function()}"]
        if self._inside:
            place = self._out() if self._kind in ("forward", "jvp") else self._mapped()[self._name_index()]
            row = f"mx.take({self._derivative('f')}[{self._position()}], 0, {place})"
            return [*lines, f"got = {row}{element}"]
        if self._kind == "forward":
            return [*lines, f"got = f({', '.join(self._traced)}){element}"]
        if self._row["verdict"] in RAISED:
            # MLX is lazy: another derivative than this one may be what cannot be had.
            return [*lines, f"mx.eval(d := {self._derivative('f')})", f"got = d[{self._position()}]{element}"]
        return [*lines, f"got = {self._derivative('f')}[{self._position()}]{element}"]

    def _name_index(self) -> int:
        return self._names.index(self._row["argument"].split(",")[0])

    def _position(self) -> int:
        argument = self._row["argument"]
        if self._kind.startswith("hessian"):
            first, second = (self._traced.index(name) for name in argument.split(","))
            return first * len(self._traced) + second
        return self._traced.index(argument) if argument in self._traced else 0

    def _function(self) -> str:
        """The function of the traced arguments, its own transform included."""
        head = f"lambda {', '.join(self._traced)}:"
        if self._wrap in ("", "compile") or self._outside:
            return f"{head} {self._text}"
        whole = f"lambda {', '.join(self._names)}: {self._text}"
        if self._wrap == "checkpoint":
            wrapped = f"mx.checkpoint({whole})"
        else:
            wrapped = f"mx.vmap({whole}, {self._mapped()}, {self._out()})"
        # An argument that is not traced is mapped all the same.
        whole_call = f"{head} {wrapped}({', '.join(self._names)})"
        return wrapped if list(self._traced) == list(self._names) else whole_call

    def _mapped(self) -> tuple[int | None, ...]:
        axes = self._wrap.partition(" ")[2].partition(">")[0].split(",")
        return tuple(None if axis == "-" else int(axis) for axis in axes)

    def _out(self) -> int:
        out = self._wrap.partition(">")[2]
        return int(out) if out else next(axis for axis in self._mapped() if axis is not None)

    def _derivative(self, f: str) -> str:
        """An expression that gives a list of arrays."""
        kind, xs = self._kind, f"[{', '.join(self._traced)}]"
        if kind == "forward":
            return f"[{f}({', '.join(self._traced)})]"
        if kind == "jvp":
            return f"mx.jvp({f}, {xs}, [{', '.join(self._weights)}])[1]"
        w, v = self._weights[0], f"[{', '.join(self._weights[1:])}]"
        if kind == "vjp":
            return f"mx.vjp({f}, {xs}, [{w}])[1]"
        pulled = f"lambda *x: mx.vjp({f}, list(x), [{w}])[1]"
        if kind == "second-rr":
            return f"mx.vjp({pulled}, {xs}, {v})[1]"
        if kind == "second-fr":
            return f"mx.jvp({pulled}, {xs}, {v})[1]"
        if kind == "second-rf":
            return f"mx.vjp(lambda *x: mx.jvp({f}, list(x), {v})[1], {xs}, [{w}])[1]"
        if kind == "third":
            return f"mx.vjp(lambda *x: mx.vjp({pulled}, list(x), {v})[1], {xs}, {v})[1]"
        return self._repeated(f)

    def _repeated(self, f: str) -> str:
        """Gradients of sums: every entry of a Hessian, or one argument again and again."""
        weighted = f"lambda *x: ({self._weights[0]} * {f}(*x)).sum()"
        primals = ", ".join(self._traced)
        if self._kind.startswith("grad"):
            for _ in range(int(self._kind[-1]) - 1):
                weighted = f"lambda *x: mx.grad({weighted})(*x).sum()"
            return f"[mx.grad({weighted})({primals})]"
        first, second = (self._traced.index(name) for name in self._row["argument"].split(","))
        inner = f"lambda *x: mx.grad({weighted}, {first})(*x)"
        padding = ", ".join(["None"] * self._position())
        lead = f"{padding}, " if padding else ""
        if self._kind == "hessian-rr":
            return f"[{lead}mx.grad(lambda *x: ({inner})(*x).sum(), {second})({primals})]"
        tangents = [f"mx.{'ones' if i == second else 'zeros'}_like({name})" for i, name in enumerate(self._traced)]
        return f"[{lead}mx.jvp({inner}, [{primals}], [{', '.join(tangents)}])[1][0]]"


def _array(x: Input, row: Mapping[str, Any], axis: int | None) -> str:
    dtype = f"mx.{x.format.name}"
    layout, shape, numbers = row["layout"], x.shape, list(x.numbers)
    if shape == () and (layout == "strided" or row["wrap"].startswith("vmap ")):
        shape = (1,)
    if axis is not None:
        # Rows that differ, since a row that is read for another must show.
        return f"mx.stack([r := {_plain(numbers, shape, dtype)}, 2 * r], {axis})"
    if layout == "transposed" and len(shape) > 1:
        return f"{_plain(_transposed(numbers, shape), shape[::-1], dtype)}.T"
    if layout == "strided" and shape:
        # Whoever reads a number that does not belong to the view shows it.
        return f"mx.stack([r := {_plain(numbers, shape, dtype)}, mx.nan * r], -1).flatten(-2)[..., ::2]"
    if layout == "reversed" and shape:
        rows = [numbers[i : i + shape[-1]][::-1] for i in range(0, len(numbers), shape[-1] or 1)]
        return f"{_plain([number for row in rows for number in row], shape, dtype)}[..., ::-1]"
    if layout == "broadcast" and shape and numbers and numbers == numbers[: len(numbers) // shape[0]] * shape[0]:
        return f"mx.broadcast_to({_plain(numbers[: len(numbers) // shape[0]], (1, *shape[1:]), dtype)}, {shape})"
    return _plain(numbers, shape, dtype)


def _plain(numbers: Sequence[Number], shape: Shape, dtype: str) -> str:
    if shape == ():
        return f"mx.array({_number(numbers[0])}, {dtype})"
    first = numbers[0] if numbers else ()
    if len(numbers) > 1 and all(repr(number) == repr(first) for number in numbers):
        return f"mx.full({shape}, {_number(first)}, {dtype})"
    flat = f"mx.array([{', '.join(_number(number) for number in numbers)}], {dtype})"
    return flat if len(shape) == 1 else f"{flat}.reshape{shape}"


def _number(number: Number) -> str:
    parts = [_literal(part) for part in number]
    return parts[0] if len(parts) == 1 else f"complex({', '.join(parts)})"


def _literal(x: float) -> str:
    """Python for exactly this number: a power of two, few digits, or hexadecimal."""
    if not math.isfinite(x):
        return f'float("{x}")'
    mantissa, exponent = math.frexp(x)
    if abs(mantissa) == 0.5 and abs(exponent - 1) > 6 and exponent > -1021:
        return f"{'-' if x < 0 else ''}2.0**{exponent - 1}"
    text = repr(x)
    return text if len(text) <= DIGITS else f'float.fromhex("{lookup("float64").hex(x)}")'


def _transposed(numbers: Sequence[Number], shape: Shape) -> list[Number]:
    """Elements in C order of the array with its axes reversed."""
    if len(shape) < 2:
        return list(numbers)
    step = len(numbers) // shape[0]
    rows = [_transposed(numbers[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]
    return [row[i] for i in range(step) for row in rows]


def _weight_names(weights: Sequence[Input], taken: set[str]) -> list[str]:
    names, number = [], 0
    while len(names) < len(weights):
        name = "w" if number == 0 else f"w{number}"
        number += 1
        if name not in taken:
            names.append(name)
    return names


def _told(row: Mapping[str, Any]) -> list[str]:
    """The lines that print what was got and what is right."""
    if row["verdict"] in FORMAL:
        # The message ends: "got (3,), () is due".
        due = row["message"].removesuffix(" is due").rpartition(", " if row["verdict"] == "dtype" else "), ")[2]
        shown = "got.shape" if row["verdict"] == "shape" else 'str(got.dtype).rpartition(".")[2]'
        return [f'print("got  ", {shown})', f'print("right", "{due}")']
    shown = "got.hex()" if record.got_format(row).parts == 1 else "got.real.hex(), got.imag.hex()"
    return [f'print("got  ", {shown})', f'print("right", "{_right(row)}")', *_bounds(row)]


def _right(row: Mapping[str, Any]) -> str:
    right = record.right(row)
    if right is None:
        return "not known"
    fmt = record.got_format(row)
    return " ".join(fmt.hex(part.value) for part in right)


def _bounds(row: Mapping[str, Any]) -> list[str]:
    """A line with the enclosure of the right value."""
    right = record.right(row)
    if right is None or any(math.isnan(part.value) for part in right):
        return []
    return [f'print("proof", "{" + i ".join(part.decimal() for part in right)}")']
