"""Convolutions and pooling windows over any number of spatial axes, channels last as in MLX."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from audit.reference.arrays.axes import Objects, elements
from audit.reference.arrays.reductions import tree

Numbers = int | Sequence[int]
Padding = int | Sequence[int] | tuple[Sequence[int], Sequence[int]]


def _each(value: Numbers, axes: int) -> tuple[int, ...]:
    return (value,) * axes if isinstance(value, int) else tuple(int(v) for v in value)


def _margins(padding: Padding, axes: int) -> list[tuple[int, int]]:
    """How much is added below and above each spatial axis; a pair of sequences is (below, above)."""
    if not isinstance(padding, int) and len(padding) == 2 and not isinstance(padding[0], (int, np.integer)):
        low, high = padding
        return list(zip(_each(low, axes), _each(high, axes), strict=True))  # type: ignore[arg-type]
    both = _each(padding, axes)  # type: ignore[arg-type]
    return [(p, p) for p in both]


def _dilated(x: Objects, steps: Sequence[int], first: int) -> Objects:
    """Zeros put between the elements of the axes from `first` on."""
    for place, step in enumerate(steps):
        axis = first + place
        if step > 1 and x.shape[axis]:
            shape = list(x.shape)
            shape[axis] = (x.shape[axis] - 1) * step + 1
            wider = np.full(shape, None, object)
            wider[(slice(None),) * axis + (slice(None, None, step),)] = x
            x = wider
    return x


def _padded(x: Objects, margins: Sequence[tuple[int, int]]) -> Objects:
    """Elements added around the spatial axes, or cut off where a margin is negative; what is added is None."""
    shape = [x.shape[0], *(n + low + high for n, (low, high) in zip(x.shape[1:-1], margins, strict=True)), x.shape[-1]]
    result = np.full(shape, None, object)
    source, target = [slice(None)], [slice(None)]
    for n, (low, high) in zip(x.shape[1:-1], margins, strict=True):
        source.append(slice(max(-low, 0), n - max(-high, 0)))
        target.append(slice(max(low, 0), n + low + high - max(high, 0)))
    result[tuple(target)] = x[tuple(source)]
    return result


def conv(
    m: Any,
    x: Any,
    weight: Any,
    stride: Numbers = 1,
    padding: Padding = 0,
    kernel_dilation: Numbers = 1,
    input_dilation: Numbers = 1,
    groups: int = 1,
    flip: bool = False,
) -> Any:
    """Correlation of ``[N, *spatial, C]`` with ``[O, *window, C / groups]``, as ``mx.conv_general``.

    Args:
        m: the arithmetic.
        x, weight: the arrays.
        stride: distance of the windows.
        padding: zeros around the input: a number, one per axis, or a pair (below, above) of those.
        kernel_dilation, input_dilation: distances of neighbours, 1 for none.
        groups: channels are correlated within so many groups only.
        flip: turn the weight round: a convolution in the sense of mathematics.
    """
    x, weight = elements(x), elements(weight)
    axes = x.ndim - 2
    if flip:
        weight = np.flip(weight, tuple(range(1, axes + 1)))
    x = _padded(_dilated(x, _each(input_dilation, axes), 1), _margins(padding, axes))
    dilation = _each(kernel_dilation, axes)
    window = [(k - 1) * d + 1 for k, d in zip(weight.shape[1:-1], dilation, strict=True)]
    counts, starts = _windows(x.shape[1:-1], window, _each(stride, axes))
    outputs, inputs = weight.shape[0], weight.shape[-1]
    result = np.full((x.shape[0], *counts, outputs), 0, object)
    for place, start in starts:
        cut = tuple(slice(s, s + w, d) for s, w, d in zip(start, window, dilation, strict=True))
        seen = x[(slice(None), *cut)]
        for n, o in product(range(x.shape[0]), range(outputs)):
            group = o // (outputs // groups)
            channels = seen[n, ..., group * inputs : (group + 1) * inputs].reshape(-1)
            kept = [k for k, element in enumerate(channels) if element is not None]
            result[(n, *place, o)] = m.dot(channels[kept].tolist(), weight[o].reshape(-1)[kept].tolist())
    return result


def conv_transpose(
    m: Any,
    x: Any,
    weight: Any,
    stride: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    output_padding: Numbers = 0,
    groups: int = 1,
) -> Any:
    """Transposed convolution of ``[N, *spatial, C]`` with ``[O, *window, C / groups]``, as ``mx.conv_transpose2d``."""
    axes = elements(x).ndim - 2
    window = elements(weight).shape[1:-1]
    spread, cut, extra = _each(dilation, axes), _each(padding, axes), _each(output_padding, axes)
    low = [d * (k - 1) - p for d, k, p in zip(spread, window, cut, strict=True)]
    high = [a + e for a, e in zip(low, extra, strict=True)]
    return conv(m, x, weight, 1, (low, high), spread, stride, groups, flip=True)


def convolve(m: Any, x: Any, y: Any, mode: str = "full") -> Any:
    """Convolution of two vectors, as ``numpy.convolve``."""
    x, y = elements(x), elements(y)
    if len(x) < len(y):
        x, y = y, x
    full = [
        m.dot(x[ks].tolist(), y[[k - i for i in ks]].tolist())
        for k in range(len(x) + len(y) - 1)
        for ks in [[i for i in range(len(x)) if 0 <= k - i < len(y)]]
    ]
    cut = {"full": 0, "same": (len(y) - 1) // 2, "valid": len(y) - 1}[mode]
    length = {"full": len(full), "same": len(x), "valid": len(x) - len(y) + 1}[mode]
    return np.array(full, object)[cut : cut + length]


def _windows(
    sizes: Sequence[int], window: Sequence[int], stride: Sequence[int]
) -> tuple[list[int], Iterator[tuple[tuple[int, ...], tuple[int, ...]]]]:
    """How many windows fit along each axis, and the number and start of each."""
    counts = [max((n - w) // s + 1, 0) for n, w, s in zip(sizes, window, stride, strict=True)]
    places = product(*(range(count) for count in counts))
    return counts, ((place, tuple(p * s for p, s in zip(place, stride, strict=True))) for place in places)


def _pool(x: Any, window: Numbers, stride: Numbers | None, padding: Padding, combine: Callable[[Objects], Any]) -> Any:
    x = elements(x)
    axes = x.ndim - 2
    size = _each(window, axes)
    x = _padded(x, _margins(padding, axes))
    counts, starts = _windows(x.shape[1:-1], size, size if stride is None else _each(stride, axes))
    result = np.full((x.shape[0], *counts, x.shape[-1]), 0, object)
    for place, start in starts:
        seen = x[(slice(None), *(slice(s, s + k) for s, k in zip(start, size, strict=True)))]
        for n, c in product(range(x.shape[0]), range(x.shape[-1])):
            cells = seen[n, ..., c].reshape(-1)
            result[(n, *place, c)] = combine(cells[[cell is not None for cell in cells]])
    return result


def max_pool(m: Any, x: Any, window: Numbers, stride: Numbers | None = None, padding: Padding = 0) -> Any:
    """Largest element of each window of ``[N, *spatial, C]``; what is padded is never the largest."""
    return _pool(x, window, stride, padding, lambda cells: tree(m.maximum, cells)[()])


def avg_pool(m: Any, x: Any, window: Numbers, stride: Numbers | None = None, padding: Padding = 0) -> Any:
    """Mean of each window of ``[N, *spatial, C]``; what is padded counts as zero."""
    count = int(np.prod(_each(window, elements(x).ndim - 2), dtype=int))
    return _pool(x, window, stride, padding, lambda cells: m.divide(m.total(cells.tolist()), count))


CONVOLUTIONS = {
    "conv": conv, "conv_transpose": conv_transpose, "convolve": convolve, "max_pool": max_pool, "avg_pool": avg_pool,
}  # fmt: skip
