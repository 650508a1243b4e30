"""Right derivatives of what takes, moves, repeats and joins elements, written otherwise."""
# ruff: noqa: ARG005  every piece takes the weight, the operands and the parameters, whether it reads them or not

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np

from cases.indices import Indices, to_mlx, to_numpy
from planted.otherwise import FIRST, SECOND, formula, otherwise
from planted.plant import At

_NO_INTEGERS = At(("vjp", "jvp"), function=r"mx\.take(?!.*indices=-?1\b).*")
_MANY = At(("vjp", "jvp"), ("float16", "float32", "complex64"))
# The derivative of MLX's take kills the process where an array has no elements.
_WITH_ELEMENTS = replace(_MANY, empty=False)


def _rows(indices: Any, size: int, dtype: mx.Dtype) -> mx.array:
    """Indices as rows of the identity."""
    return mx.array(np.eye(size)[to_numpy(indices)].astype(np.float32)).astype(dtype)


def _placed(x: mx.array, count: int, axis: int) -> mx.array:
    """The first axes moved to where an axis was."""
    order = list(range(count, x.ndim))
    order[axis:axis] = range(count)
    return mx.transpose(x, order)


def _taken(x: mx.array, indices: Any, axis: Any) -> mx.array:
    """Elements as a product with rows of the identity."""
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis % x.ndim)
    rows = _rows(indices, x.shape[axis], x.dtype)
    found = mx.tensordot(rows, x, axes=[[rows.ndim - 1], [axis]])
    return _placed(found, rows.ndim - 1, axis)


def _taken_apart(x: mx.array, indices: Any, axis: Any) -> mx.array:
    """Each element by itself."""
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis % x.ndim)
    at = to_numpy(indices)
    parts = [mx.moveaxis(x, axis, 0)[int(k)] for k in at.reshape(-1)]
    found = mx.stack(parts, 0).reshape(*at.shape, *parts[0].shape)
    return _placed(found, at.ndim, axis)


def _along(x: mx.array, indices: Any, axis: Any) -> mx.array:
    """Elements along an axis as sums over rows of the identity."""
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis % x.ndim)
    rows = mx.moveaxis(_rows(indices, x.shape[axis], x.dtype), axis, -2)
    return mx.moveaxis((rows * mx.moveaxis(x, axis, -1)[..., None, :]).sum(-1), -1, axis)


def _masked(indices: Any, axis: Any, shape: tuple[int, ...]) -> mx.array:
    """Where nothing is put."""
    mask = np.ones(shape, np.float32)
    np.put_along_axis(mask, to_numpy(indices), 0, axis)
    return mx.array(mask)


def _part(a: mx.array, start_indices: Indices, axes: tuple[int, ...], size: tuple[int, ...]) -> tuple[slice, ...]:
    starts = [0] * a.ndim
    for axis, start in zip(axes, np.atleast_1d(to_numpy(start_indices)).tolist(), strict=True):
        starts[axis] = start
    return tuple(slice(start, start + n) for start, n in zip(starts, size, strict=True))


def _sliced_back(w: mx.array, a: mx.array, start_indices: Indices, axes: Any, slice_size: Any) -> mx.array:
    part = _part(a, start_indices, axes, slice_size)
    return mx.pad(w, [(s.start, n - s.stop) for s, n in zip(part, a.shape, strict=True)])


def _outside(w: mx.array, a: mx.array, update: mx.array, start_indices: Indices, axes: Any) -> mx.array:
    found = mx.array(w)
    found[_part(a, start_indices, axes, update.shape)] = 0
    return found


def _width(pad_width: Any, rank: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, int):
        return [(pad_width, pad_width)] * rank
    return [(pad_width[0], pad_width[-1])] * rank if isinstance(pad_width[0], int) else list(pad_width)


def _middle(w: mx.array, x: mx.array, pad_width: Any, **other: Any) -> mx.array:
    width = _width(pad_width, x.ndim)
    return w[tuple(slice(low, low + n) for n, (low, _) in zip(x.shape, width, strict=True))]


def _edged(x: mx.array, pad_width: Any, mode: str) -> mx.array:
    """A margin of copies, by indices that stay within the array."""
    for axis, (low, high) in enumerate(_width(pad_width, x.ndim)):
        x = mx.take(x, mx.clip(mx.arange(-low, x.shape[axis] + high), 0, x.shape[axis] - 1), axis)
    return x


def _parts(w: mx.array, arrays: tuple[mx.array, ...], axis: Any) -> list[mx.array]:
    """A cotangent cut into those of the arrays that were joined."""
    along = 0 if axis is None else axis
    sizes = [a.size if axis is None else a.shape[axis] for a in arrays]
    ends = np.cumsum(sizes)[:-1].tolist()
    return [p.reshape(a.shape) for p, a in zip(mx.split(w, ends, along), arrays, strict=True)]


def _joined(*arrays: mx.array, axis: Any) -> mx.array:
    """Arrays joined by a sum of padded ones."""
    given, along = ([a.reshape(-1) for a in arrays], 0) if axis is None else (list(arrays), axis % arrays[0].ndim)
    sizes = [a.shape[along] for a in given]
    total, found = sum(sizes), None
    for place, a in enumerate(given):
        before = sum(sizes[:place])
        width = [(before, total - before - a.shape[along]) if k == along else (0, 0) for k in range(a.ndim)]
        padded = mx.pad(a, width)
        found = padded if found is None else found + padded
    assert found is not None
    return found


def _numbered(k: int) -> Any:
    """The cotangent of one of several stacked arrays."""
    return lambda w, *arrays, axis: mx.take(w, k, axis or 0)


def _turned(x: mx.array, axis: Any) -> mx.array:
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    for a in axes:
        x = mx.take(x, mx.arange(x.shape[a] - 1, -1, -1), a) if x.shape[a] else x
    return x


def _back(w: mx.array, x: mx.array, shift: Any, axis: Any) -> mx.array:
    return mx.roll(w, tuple(-s for s in shift) if isinstance(shift, tuple) else -shift, axis)


def _repeats_summed(w: mx.array, x: mx.array, repeats: int, axis: Any) -> mx.array:
    shape = (x.size,) if axis is None else x.shape
    axis = 0 if axis is None else axis % x.ndim
    return w.reshape(*shape[: axis + 1], repeats, *shape[axis + 1 :]).sum(axis + 1).reshape(x.shape)


def _tiles_summed(w: mx.array, x: mx.array, reps: Any) -> mx.array:
    reps = (reps,) if isinstance(reps, int) else reps
    rank = max(len(reps), x.ndim)
    reps, shape = (1,) * (rank - len(reps)) + reps, (1,) * (rank - x.ndim) + x.shape
    both = [n for pair in zip(reps, shape, strict=True) for n in pair]
    return w.reshape(both).sum(tuple(range(0, 2 * rank, 2))).reshape(x.shape)


def _inverse(axes: Any, rank: int) -> list[int]:
    axes = list(range(rank))[::-1] if axes is None else [a % rank for a in axes]
    return np.argsort(axes).tolist()


def reduced(w: mx.array, shape: tuple[int, ...]) -> mx.array:
    """A cotangent summed over the axes along which an array was repeated."""
    w = w.sum(tuple(range(w.ndim - len(shape))))
    return w.sum(tuple(a for a, n in enumerate(shape) if n == 1), keepdims=True).reshape(shape)


def _chosen(x: mx.array, y: mx.array, condition: Any) -> mx.array:
    """Both branches times masks, of finite numbers."""
    first = mx.array(condition).astype(x.dtype)
    return first * x + (1 - first) * y


RIGHT_INDEXING = (
    otherwise("product with rows of the identity", "mx.take", _taken, _NO_INTEGERS, wide=True),
    otherwise("each by itself", "mx.take", _taken_apart, At(("vjp", "jvp"), ("float16",), groups=("range", "special"))),
    otherwise("sums over rows of the identity", "mx.take_along_axis", _along, FIRST, wide=True),
    formula(
        "masked",
        "mx.put_along_axis",
        a=lambda w, a, values, indices, axis: w * _masked(indices, axis, a.shape),
        values=lambda w, a, values, indices, axis: reduced(mx.take_along_axis(w, to_mlx(indices), axis), values.shape),
    ),
    formula("padded with zeros", "mx.slice", a=_sliced_back),
    formula(
        "zeros put under the update",
        "mx.slice_update",
        a=_outside,
        update=lambda w, a, update, start_indices, axes: w[_part(a, start_indices, axes, update.shape)],
    ),
    formula("the middle", "mx.pad", _MANY, x=_middle),
    otherwise("by indices that stay within", "mx.pad[edge]", _edged, SECOND),
    otherwise("a sum of padded arrays", "mx.concatenate", _joined, FIRST),
    formula(
        "split",
        "mx.concatenate",
        _MANY,
        a=lambda w, *x, axis: _parts(w, x, axis)[0],
        b=lambda w, *x, axis: _parts(w, x, axis)[1],
        c=lambda w, *x, axis: _parts(w, x, axis)[2],
    ),
    formula("both places", "mx.concatenate[twice]", a=lambda w, a, b: w[:, : a.shape[1]] + w[:, -a.shape[1] :]),
    formula(
        "taken by number",
        "mx.stack",
        a=_numbered(0),
        b=_numbered(1),
        c=_numbered(2),
    ),
    otherwise("by indices", "mx.flip", _turned, _WITH_ELEMENTS),
    formula("shifted back", "mx.roll", FIRST, {"x": lambda t, x, shift, axis: mx.roll(t, shift, axis)}, x=_back),
    formula("copies summed", "mx.repeat", x=_repeats_summed),
    formula("tiles summed", "mx.tile", x=_tiles_summed),
    formula(
        "axes in the order that sorts them",
        "mx.transpose",
        _MANY,
        x=lambda w, x, axes: mx.transpose(w, _inverse(axes, x.ndim)),
    ),
    formula(
        "source and destination exchanged",
        "mx.moveaxis",
        x=lambda w, x, source, destination: mx.moveaxis(w, destination, source),
    ),
    formula("summed over repeated axes", "mx.broadcast_to", x=lambda w, x, shape: reduced(w, x.shape)),
    otherwise("products with ones", "mx.broadcast_to", lambda x, shape: x * mx.ones(shape, x.dtype), SECOND),
    otherwise("both branches masked", "mx.where", _chosen, At(("vjp", "jvp"), ("float32", "float64"))),
)
