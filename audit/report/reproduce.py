"""A script of at most 15 lines that asks stock MLX for one derivative, and imports nothing but mlx."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit.formats import lookup
from audit.report import record
from audit.report.record import Input, Number
from audit.rows import Shape, read_shapes

LINES = 15


def script(row: Mapping[str, Any], text: str, device: str = "cpu") -> str:
    """The script for one row; it prints got and right.

    Args:
        row: a row as a mapping from column to value.
        text: the function as an expression of its arguments, e.g. ``"C / (C * t)"``.
        device: ``"cpu"`` or ``"gpu"``.

    Raises:
        AuditError: the row's shapes cannot be read.
    """
    arguments, weights = record.inputs(row)
    traced = row["traced"].split(",") if row["traced"] else []
    lines = ["import mlx.core as mx", f"mx.set_default_device(mx.{device})"]
    lines += [f"{x.name} = {_array(x, row)}" for x in arguments]
    names = _weight_names(weights, {x.name for x in arguments})
    lines += [f"{name} = {_array(x, row)}" for name, x in zip(names, weights, strict=True)]
    head = f"lambda {', '.join(traced)}:" if traced else "lambda:"
    lines.append(f"f = {_wrapped(head, text, row, traced)}")
    lines += _derivative(row, traced, names)
    shown = "got.hex()" if record.got_format(row).parts == 1 else "got.real.hex(), got.imag.hex()"
    lines.append(f'print("got  ", {shown})')
    lines.append(f'print("right", "{_right(row)}")')
    return "\n".join(lines) + "\n"


def _derivative(row: Mapping[str, Any], traced: Sequence[str], weights: Sequence[str]) -> list[str]:
    kind, primals, element = row["mode"], ", ".join(traced), f".reshape(-1)[{row['element']}].item()"
    position = traced.index(row["argument"]) if row["argument"] in traced else 0
    if kind == "forward":
        return [f"got = f({primals}){element}"]
    if kind == "vjp":
        return [f"got = mx.vjp(f, [{primals}], [{weights[0]}])[1][{position}]{element}"]
    if kind == "jvp":
        return [f"got = mx.jvp(f, [{primals}], [{', '.join(weights)}])[1][0]{element}"]
    lines = [f"g = lambda *x: ({weights[0]} * f(*x)).sum()"]
    if kind.startswith("grad"):
        order = int(kind[-1])
        lines += ["h = mx.grad(g)"] + ["h = mx.grad(lambda x, h=h: h(x).sum())"] * (order - 1)
        return [*lines, f"got = h({primals}){element}"]
    first, second = (traced.index(name) for name in row["argument"].split(","))
    lines.append(f"h = lambda *x: {_gradient('g', '*x', traced, first)}")
    if kind == "hessian-rr":
        return [*lines, f"got = {_gradient('lambda *x: h(*x).sum()', primals, traced, second)}{element}"]
    tangents = ", ".join(f"mx.{'ones' if i == second else 'zeros'}_like({name})" for i, name in enumerate(traced))
    return [*lines, f"got = mx.jvp(h, [{primals}], [{tangents}])[1][0]{element}"]


def _gradient(function: str, arguments: str, traced: Sequence[str], index: int) -> str:
    # Of one argument MLX returns the gradient itself, not a tuple of one.
    if len(traced) == 1:
        return f"mx.grad({function})({arguments})"
    return f"mx.grad({function}, {tuple(range(len(traced)))})({arguments})[{index}]"


def _wrapped(head: str, text: str, row: Mapping[str, Any], traced: Sequence[str]) -> str:
    wrap, names = row["wrap"], list(read_shapes(row["shapes"])[0])
    if not wrap:
        return f"{head} {text}"
    whole = f"lambda {', '.join(names)}: {text}"
    if wrap == "checkpoint":
        wrapped = f"mx.checkpoint({whole})"
    else:
        axes = tuple(None if axis == "-" else int(axis) for axis in wrap.removeprefix("vmap ").split(","))
        wrapped = f"mx.vmap({whole}, {axes}, {next(axis for axis in axes if axis is not None)})"
    # An argument that is not traced is mapped all the same.
    return wrapped if list(traced) == names else f"{head} {wrapped}({', '.join(names)})"


def _array(x: Input, row: Mapping[str, Any]) -> str:
    dtype = f"mx.{x.format.name}"
    layout, shape, numbers = row["layout"], x.shape, list(x.numbers)
    if shape == () and (layout == "strided" or row["wrap"].startswith("vmap")):
        shape = (1,)
    if layout == "transposed" and len(shape) > 1:
        return f"{_plain(_transposed(numbers, shape), shape[::-1], dtype)}.T"
    if layout == "strided" and shape:
        return f"mx.repeat({_plain(numbers, shape, dtype)}, 2, -1)[..., ::2]"
    return _plain(numbers, shape, dtype)


def _plain(numbers: Sequence[Number], shape: Shape, dtype: str) -> str:
    listed = ", ".join(_number(number) for number in numbers)
    if shape == ():
        return f"mx.array({listed}, {dtype})"
    flat = f"mx.array([{listed}], {dtype})"
    return flat if len(shape) == 1 else f"{flat}.reshape{shape}"


def _number(number: Number) -> str:
    parts = [f'float.fromhex("{_hex(part)}")' for part in number]
    return parts[0] if len(parts) == 1 else f"complex({', '.join(parts)})"


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


def _right(row: Mapping[str, Any]) -> str:
    right = record.right(row)
    if right is None:
        return "not known"
    fmt = record.got_format(row)
    return " ".join(fmt.hex(part.value) for part in right)


def _hex(x: float) -> str:
    return lookup("float64").hex(x)
