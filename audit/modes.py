"""How MLX is asked for a derivative. Together with `patches`, the only place where the engine imports mlx.

MLX's convention for complex numbers: a cotangent is the gradient with respect to the pair of reals, so that
``Re sum conj(w) * jvp(v) == Re sum conj(vjp(w)) * v`` (tested with z, conj(z) and z**2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from audit.case import Batch, Layout
from audit.formats import Bits, Floats, Format

DTYPES = {
    "float16": mx.float16,
    "bfloat16": mx.bfloat16,
    "float32": mx.float32,
    "float64": mx.float64,
    "complex64": mx.complex64,
}
_UNSIGNED = {16: (np.uint16, mx.uint16), 32: (np.uint32, mx.uint32), 64: (np.uint64, mx.uint64)}

MlxFunction = Callable[..., mx.array]


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


def to_mlx(x: NDArray[Any], fmt: Format, layout: Layout = "contiguous") -> mx.array:
    """An MLX array of exactly these numbers, laid out in memory as asked.

    Args:
        x: float64 (complex128 for complex formats) array of numbers of the format.
        layout: ``transposed`` stores the transposed array and returns its transposed view; ``strided`` stores an
            array of twice the length along the last axis and returns every second element.
    """
    if layout == "transposed" and x.ndim > 1:
        return to_mlx(x.T, fmt).T
    if layout == "strided" and x.ndim > 0:
        wide = np.repeat(x, 2, axis=-1)
        wide[..., 1::2] = 0
        return to_mlx(wide, fmt)[..., ::2]
    if fmt.parts == 2:
        return mx.array(x.astype(np.complex64))
    narrow, unsigned = _UNSIGNED[fmt.bits]
    bits = mx.array(fmt.to_bits(x).astype(narrow).reshape(-1), dtype=unsigned)
    return bits.view(DTYPES[fmt.name]).reshape(x.shape)


def from_mlx(x: mx.array, fmt: Format) -> NDArray[Any]:
    """The numbers of an MLX array, exactly, as float64 (complex128 for complex formats)."""
    if fmt.parts == 2:
        return np.array(x).astype(np.complex128)
    _, unsigned = _UNSIGNED[fmt.bits]
    bits: Bits = np.array(x.reshape(-1).view(unsigned)).astype(np.uint64)
    return fmt.from_bits(bits).reshape(x.shape)


def differentiated(function: MlxFunction, batch: Batch, weights: Sequence[mx.array]) -> Callable[..., list[mx.array]]:
    """The derivative a batch asks for, as a function of the traced arguments that returns a list of arrays."""
    kind, count = batch.mode.kind, len(batch.mode.traced)

    def weighted(*xs: mx.array) -> mx.array:
        return (weights[0] * function(*xs)).sum()

    def gradient(*xs: mx.array) -> list[mx.array]:
        return _gradients(weighted, xs)

    def repeated(order: int) -> Callable[[mx.array], mx.array]:
        inner: Callable[[mx.array], mx.array] = weighted
        for _ in range(order):
            inner = _summed_gradient(inner)
        return inner

    def forward(*xs: mx.array) -> list[mx.array]:
        return [function(*xs)]

    def vjp(*xs: mx.array) -> list[mx.array]:
        return mx.vjp(function, list(xs), [weights[0]])[1]

    def jvp(*xs: mx.array) -> list[mx.array]:
        return mx.jvp(function, list(xs), list(weights))[1]

    def entry(i: int) -> Callable[..., mx.array]:
        return lambda *xs: gradient(*xs)[i].sum()

    def reverse_over_reverse(*xs: mx.array) -> list[mx.array]:
        entries: list[mx.array] = []
        for i in range(count):
            entries.extend(_gradients(entry(i), xs))
        return entries

    def forward_over_reverse(*xs: mx.array) -> list[mx.array]:
        columns = []
        for j in range(count):
            tangents = [mx.ones_like(x) if k == j else mx.zeros_like(x) for k, x in enumerate(xs)]
            columns.append(mx.jvp(gradient, list(xs), tangents)[1])
        return [columns[j][i] for i in range(count) for j in range(count)]

    return {
        "forward": forward,
        "vjp": vjp,
        "jvp": jvp,
        "grad1": lambda x: [repeated(1)(x)],
        "grad2": lambda x: [repeated(2)(x)],
        "grad3": lambda x: [repeated(3)(x)],
        "hessian-rr": reverse_over_reverse,
        "hessian-fr": forward_over_reverse,
    }[kind]


def _gradients(scalar: Callable[..., mx.array], xs: Sequence[mx.array]) -> list[mx.array]:
    found = mx.grad(scalar, argnums=tuple(range(len(xs))))(*xs)
    # Of one argument MLX returns the gradient itself.
    return list(found) if isinstance(found, (list, tuple)) else [found]


def _summed_gradient(inner: Callable[[mx.array], mx.array]) -> Callable[[mx.array], mx.array]:
    return mx.grad(lambda x: inner(x).sum())


def labels(batch: Batch) -> list[str]:
    """The arguments of the arrays that `differentiated` returns, in order."""
    names = [batch.function.arguments[i] for i in batch.mode.traced]
    if batch.mode.kind in ("forward", "jvp"):
        return ["output"]
    if batch.mode.kind.startswith("hessian"):
        return [f"{a},{b}" for a in names for b in names]
    return names


def ask(
    batch: Batch, arithmetic: Any, transform: Callable[[MlxFunction, Batch], MlxFunction] | None = None
) -> list[Got]:
    """Ask MLX for the derivatives of a batch.

    Elementwise functions see all points in one call; others are called once a point.

    Args:
        batch: what is asked.
        arithmetic: the namespace handed to the function's body.
        transform: wraps the function of all arguments before it is differentiated.

    Returns:
        One `Got` per compared argument. Whatever MLX raises passes through.
    """
    points: Sequence[int | slice] = [slice(None)] if batch.function.elementwise else range(batch.points)
    computed = [_derivatives(batch, arithmetic, transform, point) for point in points]
    # Nothing has run so far: MLX evaluates all points at once.
    mx.eval(computed)
    shapes = _expected_shapes(batch)
    return [
        _read(name, list(arrays), shape, batch)
        for index, (name, arrays, shape) in enumerate(
            zip(labels(batch), zip(*computed, strict=True), shapes, strict=True)
        )
        if batch.compared is None or index in batch.compared
    ]


def _derivatives(
    batch: Batch,
    arithmetic: Any,
    transform: Callable[[MlxFunction, Batch], MlxFunction] | None,
    point: int | slice,
) -> list[mx.array]:
    fmt, traced = batch.format, batch.mode.traced
    primals = [to_mlx(p[point], fmt, batch.layout) for p in batch.primals]
    weights = [to_mlx(w[point], fmt, batch.layout) for w in batch.weights]
    wrapped = _wrap(partial(batch.function.body, arithmetic), batch)
    if transform is not None:
        wrapped = transform(wrapped, batch)

    def function(*xs: mx.array) -> mx.array:
        given = dict(zip(traced, xs, strict=True))
        return wrapped(*(given.get(i, primal) for i, primal in enumerate(primals)))

    return differentiated(function, batch, weights)(*(primals[i] for i in traced))


def _wrap(function: MlxFunction, batch: Batch) -> MlxFunction:
    """Apply the batch's own transform: checkpoint, or vmap over the axes named in it (``"vmap 0,-"``)."""
    if not batch.wrap:
        return function
    if batch.wrap == "checkpoint":
        return mx.checkpoint(function)
    axes = [None if axis == "-" else int(axis) for axis in batch.wrap.removeprefix("vmap ").split(",")]
    out = next(axis for axis in axes if axis is not None)
    return mx.vmap(function, in_axes=tuple(axes), out_axes=out)


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
    fmt = batch.format
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
