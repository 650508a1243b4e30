"""The question put to MLX: a batch in, numbers out, under whatever transform the batch names.

Every way of asking has the same right answer. A batch of a function of arrays is asked point by point, or, mapped, all
at once with the points as rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Batch
from audit.errors import AuditError
from audit.formats import Floats, Format
from audit.modes.arrays import DTYPES, from_mlx, to_mlx
from audit.modes.derivative import Derivative, MlxFunction, differentiated

Transform = Callable[[MlxFunction, Batch], MlxFunction]
Axes = tuple[int | None, ...]


@dataclass(frozen=True)
class Got:
    """What MLX returned for one argument of a batch.

    Args:
        argument: ``"output"``, the argument's name, or ``"a,b"`` for a Hessian entry.
        real: float64 ``[points, *shape]``, numbers of the format.
        imag: the same for the imaginary part, None for real formats.
        fault: why there is nothing to compare ("shape: ..." or "dtype: ..."), or an empty string.
    """

    argument: str
    real: Floats
    imag: Floats | None = None
    fault: str = ""


def labels(batch: Batch) -> list[str]:
    """The arguments of the arrays that a derivative returns, in order."""
    names = [batch.function.arguments[i] for i in batch.mode.traced]
    if batch.mode.kind in ("forward", "jvp"):
        return ["output"]
    if batch.mode.kind.startswith("hessian"):
        return [f"{a},{b}" for a in names for b in names]
    return names


def ask(batch: Batch, arithmetic: Any, transform: Transform | None = None) -> list[Got]:
    """Ask MLX for the derivatives of a batch.

    Elementwise functions see all points in one call; others are called once a point, unless the points are mapped.

    Args:
        batch: what is asked.
        arithmetic: the namespace handed to the function's body.
        transform: wraps the function of all arguments before it is differentiated.

    Returns:
        One `Got` per compared argument. Whatever MLX raises passes through.
    """
    return _collected(batch, _computed(batch, _asked(batch, arithmetic, transform)))


def _asked(batch: Batch, arithmetic: Any, transform: Transform | None) -> Derivative:
    """The derivative of a batch as a function of all primals and weights, transforms included."""
    function, traced, count = batch.function, batch.mode.traced, len(batch.primals)
    body: MlxFunction = function.call or partial(function.body, arithmetic)
    wrapped = _wrap(body, batch)
    if transform is not None:
        wrapped = transform(wrapped, batch)

    def derivative(*arrays: mx.array) -> list[mx.array]:
        primals, weights = arrays[:count], arrays[count:]

        def of_traced(*xs: mx.array) -> mx.array:
            given = dict(zip(traced, xs, strict=True))
            return wrapped(*(given.get(i, primal) for i, primal in enumerate(primals)))

        return differentiated(of_traced, batch.mode, weights)(*(primals[i] for i in traced))

    return derivative


def _wrap(function: MlxFunction, batch: Batch) -> MlxFunction:
    """Apply the batch's own transform to the function that is differentiated."""
    if batch.wrap == "checkpoint":
        return mx.checkpoint(function)
    if batch.wrap.startswith(("vmap ", "vmap-in ")):
        axes = mapped_axes(batch.wrap)
        return mx.vmap(function, in_axes=axes, out_axes=_out_axis(batch.wrap))
    if batch.wrap and batch.wrap != "compile" and not batch.wrap.startswith("vmap-out "):
        raise AuditError(f"Batch {batch.group!r}: there is no transform {batch.wrap!r}.")
    return function


def mapped_axes(wrap: str) -> Axes:
    """The axis of each argument that a wrap maps over, None for one that it does not."""
    axes = wrap.partition(" ")[2].partition(">")[0].split(",")
    return tuple(None if axis == "-" else int(axis) for axis in axes)


def _out_axis(wrap: str) -> int:
    _, _, out = wrap.partition(">")
    return int(out) if out else next(axis for axis in mapped_axes(wrap) if axis is not None)


def _computed(batch: Batch, derivative: Derivative) -> list[list[mx.array]]:
    """The arrays of each call: one call for all points of an elementwise function, otherwise one a point."""
    if batch.wrap.startswith(("vmap-in ", "vmap-out ")):
        return _mapped(batch, derivative)
    if batch.wrap == "compile":
        derivative = mx.compile(derivative)
    points: Sequence[int | slice] = [slice(None)] if batch.function.elementwise else range(batch.points)
    computed = [derivative(*_inputs(batch, point, batch.layout)) for point in points]
    # Nothing has run so far: MLX evaluates all points at once.
    mx.eval(computed)
    return computed


def _inputs(batch: Batch, point: int | slice, layout: Any) -> list[mx.array]:
    arrays = zip((*batch.primals, *batch.weights), (*batch.argument_formats, *batch.weight_formats), strict=True)
    return [to_mlx(array[point], fmt, layout) for array, fmt in arrays]


def _mapped(batch: Batch, derivative: Derivative) -> list[list[mx.array]]:
    """The arrays of each point, from one call in which the points are the rows of mapped axes."""
    axes = mapped_axes(batch.wrap)
    inside = batch.wrap.startswith("vmap-in ")
    out = _out_axis(batch.wrap)
    kind, traced = batch.mode.kind, batch.mode.traced
    tangents: list[int | None] = [axes[i] if inside else 0 for i in traced]
    weight_axes = tangents if kind == "jvp" else [out if inside else 0, *tangents][: len(batch.weights)]
    given = []
    for array, fmt, axis in zip(
        (*batch.primals, *batch.weights),
        (*batch.argument_formats, *batch.weight_formats),
        (*axes, *weight_axes),
        strict=True,
    ):
        if axis is None and (array != array[:1]).any():
            raise AuditError(f"Batch {batch.group!r}, {batch.wrap}: an argument that is not mapped differs by point.")
        given.append(to_mlx(array[0] if axis is None else np.moveaxis(array, 0, axis), fmt, batch.layout))
    if inside:
        found = derivative(*given)
        places = [out] if kind in ("forward", "jvp") else [axes[i] for i in traced]
    else:
        found = mx.vmap(derivative, in_axes=(*axes, *weight_axes), out_axes=0)(*given)
        places = [0] * len(found)
    # The gradient of an argument that is not mapped is the sum over rows: it has no place among the points.
    rows = [
        array[None] if axis is None else mx.moveaxis(array, axis, 0) for array, axis in zip(found, places, strict=True)
    ]
    mx.eval(rows)
    return [
        [array[point if axis is not None else 0] for array, axis in zip(rows, places, strict=True)]
        for point in range(batch.points)
    ]


def _collected(batch: Batch, computed: Sequence[Sequence[mx.array]]) -> list[Got]:
    shapes = _expected_shapes(batch)
    return [
        _read(name, list(arrays), shape, batch)
        for index, (name, arrays, shape) in enumerate(
            zip(labels(batch), zip(*computed, strict=True), shapes, strict=True)
        )
        if batch.compared is None or index in batch.compared
    ]


def _expected_shapes(batch: Batch) -> list[tuple[int, ...] | None]:
    """The shape each derivative must have at one call: that of its argument, or of the output for forward and jvp.

    None where it is not known before the reference is.
    """
    first = 0 if batch.function.elementwise else 1
    primals, traced = [primal.shape[first:] for primal in batch.primals], batch.mode.traced
    if batch.mode.kind in ("forward", "jvp"):
        return [primals[0] if batch.function.elementwise else None]
    if batch.mode.kind.startswith("hessian"):
        return [primals[j] for _ in traced for j in traced]
    return [primals[i] for i in traced]


def _read(name: str, arrays: list[mx.array], shape: tuple[int, ...] | None, batch: Batch) -> Got:
    """The numbers of one derivative at all points, or what is wrong with its shape or dtype at one of them."""
    fmt: Format = batch.format_of(name)
    shape = arrays[0].shape if shape is None else shape
    whole = shape if batch.function.elementwise else (len(arrays), *shape)
    for array in arrays:
        if array.dtype != DTYPES[fmt.name]:
            return Got(name, np.full(whole, np.nan), fault=f"dtype: got {array.dtype}, {fmt.name} is due")
        if array.shape != shape:
            return Got(name, np.full(whole, np.nan), fault=f"shape: got {array.shape}, {shape} is due")
    numbers = from_mlx(arrays[0] if batch.function.elementwise else mx.stack(arrays), fmt)
    if fmt.parts == 2:
        return Got(name, np.real(numbers), np.imag(numbers))
    return Got(name, numbers)
