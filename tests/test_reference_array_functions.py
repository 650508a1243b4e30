"""Every function of arrays that a body may use: values by numpy in float64, slopes by differences of them."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest

from audit.case import Batch, Mode
from audit.errors import AuditError
from audit.formats import COMPLEX64, FLOAT32, FLOAT64, Format
from audit.reference import References, State
from audit.reference.arrays.ordering import network
from audit.reference.trace import trace
from tests.reference_examples import batch, function

Array = np.ndarray[Any, Any]
Shapes = list[tuple[int, ...]]
Row = tuple[Callable[..., Any], Callable[..., Any], Shapes]


def _lse(x: Array, axis: Any, keepdims: bool = False) -> Array:
    return np.log(np.exp(x).sum(axis, keepdims=keepdims))


def _softmax(x: Array, axis: Any) -> Array:
    return np.exp(x) / np.exp(x).sum(axis, keepdims=True)


def _attention(
    q: Array, k: Array, v: Array, scale: float, mask: Array | None = None, sink: Array | None = None
) -> Array:
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat(groups, 1), v.repeat(groups, 1)
    s = scale * q @ k.swapaxes(-1, -2)
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + mask
    e = np.exp(s)
    total = e.sum(-1, keepdims=True) + (0 if sink is None else np.exp(sink)[None, :, None, None])
    return (e / total) @ v


def _conv1(
    x: Array, w: Array, stride: int, low: int, high: int, spread: int, wide: int, groups: int, flip: bool
) -> Array:
    """A convolution of one axis, written with loops over every index."""
    n, length, _ = x.shape
    out, size, per = w.shape
    grown = np.zeros((n, (length - 1) * wide + 1 + low + high, x.shape[2]))
    for t in range(length):
        grown[:, low + t * wide] = x[:, t]
    count = (grown.shape[1] - (size - 1) * spread - 1) // stride + 1
    y = np.zeros((n, count, out))
    for b, t, o, k, c in np.ndindex(n, count, out, size, per):
        tap = size - 1 - k if flip else k
        channel = o // (out // groups) * per + c
        y[b, t, o] += grown[b, t * stride + k * spread, channel] * w[o, tap, c]
    return y


def _conv2(x: Array, w: Array, stride: tuple[int, int], pad: int) -> Array:
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    views = np.lib.stride_tricks.sliding_window_view(x, w.shape[1:3], (1, 2))[:, :: stride[0], :: stride[1]]
    return np.einsum("nijckl,oklc->nijo", views, w)


def _transposed(x: Array, w: Array, stride: int, pad: int, spread: int, extra: int) -> Array:
    """Each input adds its multiple of the window to the output, which is then cut."""
    n, length, _ = x.shape
    out, size, _ = w.shape
    y = np.zeros((n, (length - 1) * stride + (size - 1) * spread + 1 + extra, out))
    for t in range(length):
        for k in range(size):
            y[:, t * stride + k * spread] += x[:, t] @ w[:, k].T
    return y[:, pad : y.shape[1] - pad]


def _pool(x: Array, size: int, stride: int, pad: int, function: Any, fill: float) -> Array:
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)), constant_values=fill)
    views = np.lib.stride_tricks.sliding_window_view(x, (size, size), (1, 2))[:, ::stride, ::stride]
    return function(views, (-1, -2))


def _rope(x: Array, dims: int, traditional: bool, scale: float, offset: Any, freqs: Array) -> Array:
    start = np.reshape(offset, (-1, *[1] * (x.ndim - 2))) if np.ndim(offset) else offset
    angle = (np.asarray(start + np.arange(x.shape[-2])) * scale)[..., None] / freqs
    a, b = (x[..., 0:dims:2], x[..., 1:dims:2]) if traditional else (x[..., : dims // 2], x[..., dims // 2 : dims])
    z = (a + 1j * b) * np.exp(1j * angle)
    y = np.empty_like(x)
    if traditional:
        y[..., 0:dims:2], y[..., 1:dims:2] = z.real, z.imag
    else:
        y[..., : dims // 2], y[..., dims // 2 : dims] = z.real, z.imag
    y[..., dims:] = x[..., dims:]
    return y


def _hadamard(n: int) -> Array:
    h = np.ones((1, 1))
    while len(h) < n:
        h = np.block([[h, h], [h, -h]])
    return h


def _lu(x: Array) -> tuple[Array, Array]:
    """By recursion: the row with the largest first element on top, then the rest less its share."""
    if x.ndim > 2:
        low, up = zip(*map(_lu, x), strict=True)
        return np.stack(low), np.stack(up)
    x = x.copy()
    best = int(np.abs(x[:, 0]).argmax())
    x[[0, best]] = x[[best, 0]]
    share = x[1:, 0] / x[0, 0]
    if min(x.shape) == 1:
        return np.concatenate([[1.0], share])[:, None], x[:1]
    low, up = np.eye(len(x))[:, : min(x.shape)], np.zeros((min(x.shape), x.shape[1]))
    rest = x[1:, 1:] - np.outer(share, x[0, 1:])
    order = _order(rest)
    low[1:, 0] = share[order]
    low[1:, 1:], up[1:, 1:] = _lu(rest)
    up[0] = x[0]
    return low, up


def _order(x: Array) -> list[int]:
    """The order of the rows that the recursion of `_lu` gives them."""
    best = int(np.abs(x[:, 0]).argmax())
    order = list(range(len(x)))
    order[0], order[best] = order[best], order[0]
    if min(x.shape) == 1:
        return order
    x = x[order]
    rest = x[1:, 1:] - np.outer(x[1:, 0] / x[0, 0], x[0, 1:])
    return [order[0], *(order[1:][place] for place in _order(rest))]


def _spd(x: Array) -> Array:
    return x @ x.swapaxes(-1, -2) + 2 * np.eye(x.shape[-1])


def _m_spd(m: Any, x: Any) -> Any:
    return m.add(m.matmul(x, np.swapaxes(x, -1, -2)), (2 * np.eye(x.shape[-1], dtype=int)).astype(object))


M23: Shapes = [(2, 3)]
M224: Shapes = [(2, 2, 4)]
BASE12 = np.array(
    [[1] * 12, *[[-1 if j == 0 else -1 if j - 1 == i else 1 if (j - 1 - i) % 11 in (1, 3, 4, 5, 9) else -1
                  for j in range(12)] for i in range(11)]]
)  # fmt: skip

MATRIX_ORDERS: tuple[Any, ...] = (None, "fro", "nuc", 1, -1, 2, -2, inf, -inf)
# Size, axis and norm of transforms.
TRANSFORMS: tuple[Any, ...] = (
    (None, -1, "backward"), (3, 1, "ortho"), (6, 1, "forward"), (4, 0, "backward"), (1, 0, "ortho"),
)  # fmt: skip

ARRAYS: dict[str, Row] = {
    "sum": (lambda m, x: m.sum(x, -1), lambda x: x.sum(-1), M23),
    "sum tuple keepdims": (lambda m, x: m.sum(x, (0, -1), keepdims=True), lambda x: x.sum((0, 2), keepdims=True), M224),
    "sum all": (lambda m, x: m.sum(x), np.sum, M23),
    "mean": (lambda m, x: m.mean(x, 0), lambda x: x.mean(0), M23),
    "prod": (lambda m, x: m.prod(x, 1), lambda x: x.prod(1), [(2, 5)]),
    "max": (lambda m, x: m.max(x, 0, keepdims=True), lambda x: x.max(0, keepdims=True), M23),
    "min": (lambda m, x: m.min(x), np.min, M23),
    "all": (lambda m, x: m.where(m.all(m.less(0, x), -1), m.sum(x, -1), m.prod(x, -1)),
            lambda x: np.where((x > 0).all(-1), x.sum(-1), x.prod(-1)), M23),
    "any": (lambda m, x: m.where(m.any(m.less(1, x), 0), m.sum(x, 0), m.prod(x, 0)),
            lambda x: np.where((x > 1).any(0), x.sum(0), x.prod(0)), M23),
    "var": (lambda m, x: m.var(x, 1, ddof=1), lambda x: x.var(1, ddof=1), M23),
    "std": (lambda m, x: m.std(x, (0, 1), keepdims=True), lambda x: x.std(keepdims=True), M23),
    "logsumexp": (lambda m, x: m.logsumexp(x, 1, keepdims=True), lambda x: _lse(x, 1, True), M23),
    "softmax": (lambda m, x: m.softmax(x, 0), lambda x: _softmax(x, 0), M23),
    "softmax all": (lambda m, x: m.softmax(x), lambda x: _softmax(x, None), M23),
    "log_softmax": (lambda m, x: m.log_softmax(x, -1), lambda x: x - _lse(x, -1, True), M23),
    "total": (lambda m, x: m.total(x.reshape(-1).tolist()), np.sum, M23),
    "dot": (lambda m, x, y: m.dot(list(x), list(y)), np.dot, [(4,), (4,)]),
    "cumsum": (lambda m, x: m.cumsum(x, 1), lambda x: x.cumsum(1), M23),
    "cumsum flat": (lambda m, x: m.cumsum(x), lambda x: x.cumsum(), M23),
    "cumsum exclusive": (lambda m, x: m.cumsum(x, 1, inclusive=False), lambda x: x.cumsum(1) - x, M23),
    "cumsum reverse": (lambda m, x: m.cumsum(x, 0, reverse=True), lambda x: x[::-1].cumsum(0)[::-1], M23),
    "cumprod": (lambda m, x: m.cumprod(x, 1, reverse=True), lambda x: x[:, ::-1].cumprod(1)[:, ::-1], M23),
    "cumprod exclusive": (
        lambda m, x: m.cumprod(x, 1, reverse=True, inclusive=False),
        lambda x: np.stack([x[:, 1] * x[:, 2], x[:, 2], np.ones(2)], 1), M23,
    ),
    "cummax": (lambda m, x: m.cummax(x, 1), lambda x: np.maximum.accumulate(x, 1), M23),
    "cummin": (lambda m, x: m.cummin(x, 0, reverse=True), lambda x: np.minimum.accumulate(x[::-1], 0)[::-1], M23),
    "logcumsumexp": (lambda m, x: m.logcumsumexp(x, 1), lambda x: np.log(np.exp(x).cumsum(1)), M23),
    "sort": (lambda m, x: m.sort(x, 1), lambda x: np.sort(x, 1), [(2, 5)]),
    "sort flat": (lambda m, x: m.sort(x, None), lambda x: np.sort(x, None), M23),
    "sort_by": (
        lambda m, x, y: m.sort_by(x, y, 1), lambda x, y: np.take_along_axis(y, np.argsort(x, 1), 1), [(2, 4), (2, 4)],
    ),
    "topk": (lambda m, x: m.topk(x, 2, 0), lambda x: np.sort(x, 0)[-2:], [(4, 2)]),
    "median": (lambda m, x: m.median(x, 1), lambda x: np.median(x, 1), [(2, 4)]),
    "median odd": (lambda m, x: m.median(x, (0, 2), keepdims=True), lambda x: np.median(x, (0, 2), keepdims=True),
                   [(3, 2, 3)]),
    "take_largest": (
        lambda m, x, y: m.take_largest(x, y, 1),
        lambda x, y: np.take_along_axis(y, x.argmax(1)[:, None], 1)[:, 0], [(2, 4), (2, 4)],
    ),
    "matmul": (lambda m, x, y: m.matmul(x, y), np.matmul, [(2, 1, 2, 3), (3, 3, 2)]),
    "matmul vectors": (lambda m, x, y: m.matmul(x, y), np.matmul, [(3,), (3,)]),
    "matmul vector": (lambda m, x, y: m.matmul(x, y), np.matmul, [(3,), (2, 3, 2)]),
    "addmm": (lambda m, c, x, y: m.addmm(c, x, y, 0.5, -2), lambda c, x, y: -2 * c + 0.5 * x @ y,
              [(2, 2), (2, 3), (3, 2)]),
    "vecdot": (lambda m, x, y: m.vecdot(x, y, 0), lambda x, y: (x * y).sum(0), [(2, 3), (2, 3)]),
    "inner": (lambda m, x, y: m.inner(x, y), np.inner, [(2, 3), (4, 3)]),
    "outer": (lambda m, x, y: m.outer(x, y), np.outer, [(2, 2), (3,)]),
    "tensordot": (
        lambda m, x, y: m.tensordot(x, y, ((2, 0), (1, 0))), lambda x, y: np.tensordot(x, y, ((2, 0), (1, 0))),
        [(2, 2, 3), (2, 3, 2)],
    ),
    "tensordot number": (lambda m, x, y: m.tensordot(x, y, 1), lambda x, y: np.tensordot(x, y, 1), [(2, 3), (3, 2)]),
    "einsum": (lambda m, x, y: m.einsum("bij,kj->bik", x, y), lambda x, y: np.einsum("bij,kj->bik", x, y),
               [(2, 2, 3), (2, 3)]),
    "einsum diagonal": (lambda m, x: m.einsum("iij->j", x), lambda x: np.einsum("iij->j", x), [(2, 2, 3)]),
    "einsum three": (lambda m, x, y, z: m.einsum("ij,jk,k", x, y, z), lambda x, y, z: np.einsum("ij,jk,k", x, y, z),
                     [(2, 3), (3, 2), (2,)]),
    "einsum ellipsis": (lambda m, x, y: m.einsum("...j,jk", x, y), lambda x, y: np.einsum("...j,jk", x, y),
                        [(2, 2, 3), (3, 2)]),
    "kron": (lambda m, x, y: m.kron(x, y), np.kron, [(2, 2), (1, 3)]),
    "kron ranks": (lambda m, x, y: m.kron(x, y), np.kron, [(2,), (2, 3)]),
    "trace": (lambda m, x: m.trace(x, 1, 0, 2), lambda x: np.trace(x, 1, 0, 2), [(3, 2, 3)]),
    "diag": (lambda m, x: m.diag(x, -1), lambda x: np.diag(x, -1), [(3,)]),
    "diag of": (lambda m, x: m.diag(x, 1), lambda x: np.diag(x, 1), M23),
    "tril": (lambda m, x: m.tril(x, -1), lambda x: np.tril(x, -1), [(2, 3, 3)]),
    "triu": (lambda m, x: m.triu(x, 1), lambda x: np.triu(x, 1), [(3, 4)]),
    "cross": (lambda m, x, y: m.cross(x, y, 0), lambda x, y: np.cross(x, y, axis=0), [(3, 2), (3, 2)]),
    "cross plane": (
        lambda m, x, y: m.cross(x, y),
        lambda x, y: np.cross(np.concatenate([x, np.zeros((2, 1))], 1), y), [(2, 2), (2, 3)],
    ),
    "conv": (
        lambda m, x, w: m.conv(x, w, 2, ([1], [2]), 2, 1, 2),
        lambda x, w: _conv1(x, w, 2, 1, 2, 2, 1, 2, False), [(2, 5, 4), (4, 3, 2)],
    ),
    "conv dilated flipped": (
        lambda m, x, w: m.conv(x, w, 1, 1, 1, 3, flip=True), lambda x, w: _conv1(x, w, 1, 1, 1, 1, 3, 1, True),
        [(1, 3, 2), (2, 2, 2)],
    ),
    "conv plane": (lambda m, x, w: m.conv(x, w, (2, 1), 1), lambda x, w: _conv2(x, w, (2, 1), 1),
                   [(1, 4, 3, 2), (2, 3, 2, 2)]),
    "conv_transpose": (
        lambda m, x, w: m.conv_transpose(x, w, 2, 1, 1, 1), lambda x, w: _transposed(x, w, 2, 1, 1, 1),
        [(2, 3, 2), (3, 3, 2)],
    ),
    "conv_transpose dilated": (
        lambda m, x, w: m.conv_transpose(x, w, 1, 0, 2), lambda x, w: _transposed(x, w, 1, 0, 2, 0),
        [(1, 3, 2), (2, 2, 2)],
    ),
    "convolve": (lambda m, x, y: m.convolve(x, y, "same"), lambda x, y: np.convolve(x, y, "same"), [(5,), (3,)]),
    "convolve full": (lambda m, x, y: m.convolve(x, y), np.convolve, [(2,), (4,)]),
    "max_pool": (lambda m, x: m.max_pool(x, 2, 1, 1), lambda x: _pool(x, 2, 1, 1, np.max, -inf), [(1, 2, 3, 2)]),
    "avg_pool": (lambda m, x: m.avg_pool(x, 2, 2, 1), lambda x: _pool(x, 2, 2, 1, np.mean, 0.0), [(1, 4, 4, 1)]),
    "hadamard_transform": (
        lambda m, x: m.hadamard_transform(x), lambda x: x @ _hadamard(8) / np.sqrt(8), [(2, 8)],
    ),
    "hadamard_transform base": (
        lambda m, x: m.hadamard_transform(x, 0.5, BASE12), lambda x: 0.5 * x @ np.kron(BASE12, _hadamard(2)).T, [(24,)],
    ),
    "det": (lambda m, x: m.det(x), np.linalg.det, [(2, 4, 4)]),
    "slogdet": (lambda m, x: m.slogdet(x)[1], lambda x: np.linalg.slogdet(x)[1], [(3, 3)]),
    "inv": (lambda m, x: m.inv(x), np.linalg.inv, [(2, 3, 3)]),
    "solve": (lambda m, x, y: m.solve(x, y), np.linalg.solve, [(2, 3, 3), (2, 3, 2)]),
    "solve vector": (
        lambda m, x, y: m.solve(_m_spd(m, x), y), lambda x, y: np.linalg.solve(_spd(x), y), [(2, 2), (2,)],
    ),
    "solve_triangular": (
        lambda m, x, y: m.solve_triangular(x, y, upper=True), lambda x, y: np.linalg.solve(np.triu(x), y),
        [(3, 3), (3, 2)],
    ),
    "tri_inv": (lambda m, x: m.tri_inv(x), lambda x: np.linalg.inv(np.tril(x)), [(2, 3, 3)]),
    "cholesky": (lambda m, x: m.cholesky(_m_spd(m, x)), lambda x: np.linalg.cholesky(_spd(x)), [(3, 3)]),
    "cholesky upper": (lambda m, x: m.cholesky(_m_spd(m, x), upper=True), lambda x: np.linalg.cholesky(_spd(x)).T,
                       [(2, 2)]),
    "cholesky_inv": (lambda m, x: m.cholesky_inv(m.cholesky(_m_spd(m, x))), lambda x: np.linalg.inv(_spd(x)), [(3, 3)]),
    "lu": (lambda m, x: m.lu(x)[0], lambda x: _lu(x)[0], [(3, 3)]),
    "lu tall": (lambda m, x: m.matmul(*m.lu(x)), lambda x: np.matmul(*_lu(x)), [(4, 2)]),
    "lu wide": (lambda m, x: m.lu(x)[1], lambda x: _lu(x)[1], [(2, 2, 3)]),
    "qr": (lambda m, x: m.qr(x)[0], lambda x: np.linalg.qr(x)[0], [(3, 3)]),
    "qr tall": (lambda m, x: m.qr(x)[1], lambda x: np.linalg.qr(x)[1], [(3, 2)]),
    "qr wide": (lambda m, x: m.qr(x)[1], lambda x: np.linalg.qr(x)[1], M23),
    "pinv": (lambda m, x: m.pinv(x), np.linalg.pinv, M23),
    "eigvalsh": (
        lambda m, x: m.eigvalsh(m.add(x, np.swapaxes(x, -1, -2))), lambda x: np.linalg.eigvalsh(x + x.swapaxes(-1, -2)),
        [(2, 2)],
    ),
    "singular_values": (lambda m, x: m.singular_values(x), lambda x: np.linalg.svd(x, compute_uv=False), [(2, 2, 3)]),
    **{
        f"norm vector {order}": (
            lambda m, x, order=order: m.norm(x, order, -1), lambda x, order=order: np.linalg.norm(x, order, -1), M23,
        )
        for order in (None, 1, 2, 3, -1, -2, 0.5, inf, -inf)
    },
    **{
        f"norm matrix {order}": (
            lambda m, x, order=order: m.norm(x, order, (0, 2), keepdims=True),
            lambda x, order=order: np.linalg.norm(x, order, (0, 2), keepdims=True), [(2, 2, 3)],
        )
        for order in MATRIX_ORDERS
    },
    "norm flat": (lambda m, x: m.norm(x), lambda x: np.linalg.norm(x.reshape(-1)), [(2, 2, 3)]),
    "scaled_dot_product_attention": (
        lambda m, q, k, v: m.scaled_dot_product_attention(q, k, v, 0.5, "causal"),
        lambda q, k, v: _attention(q, k, v, 0.5, np.tri(2, 3, 1, dtype=bool)),
        [(1, 2, 2, 2), (1, 1, 3, 2), (1, 1, 3, 2)],
    ),
    "scaled_dot_product_attention sinks": (
        lambda m, q, k, v, s: m.scaled_dot_product_attention(q, k, v, 0.5, np.array([[0.5, -1.0]]), s),
        lambda q, k, v, s: _attention(q, k, v, 0.5, np.array([[0.5, -1.0]]), s),
        [(1, 2, 2, 2), (1, 2, 2, 2), (1, 2, 2, 2), (2,)],
    ),
    "rms_norm": (
        lambda m, x, w: m.rms_norm(x, w, 0.125), lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.125) * w,
        [(2, 3), (3,)],
    ),
    "layer_norm": (
        lambda m, x, w, b: m.layer_norm(x, w, b, 0.125),
        lambda x, w, b: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 0.125) * w + b,
        [(2, 3), (3,), (3,)],
    ),
    "rope": (
        lambda m, x: m.rope(x, 4, base=100, scale=0.5, offset=np.array([1, 3])),
        lambda x: _rope(x, 4, False, 0.5, np.array([1, 3]), 100 ** np.array([0, 0.5])), [(2, 2, 5)],
    ),
    "rope traditional freqs": (
        lambda m, x, f: m.rope(x, 4, traditional=True, offset=2, freqs=f),
        lambda x, f: _rope(x, 4, True, 1.0, 2, f), [(1, 3, 4), (2,)],
    ),
}  # fmt: skip


def numbers(shapes: Shapes, complex_: list[bool], points: int = 2) -> list[Array]:
    """Numbers of few bits and different sizes for every argument."""
    rng = np.random.default_rng(20240607)
    result = []
    for shape, paired in zip(shapes, complex_, strict=True):
        size = (2 if paired else 1) * points * int(np.prod(shape, dtype=int))
        drawn = rng.permutation(np.arange(9, 9 + size)) * rng.choice([-1, 1], size) / 32
        parts = drawn.reshape(-1, points, *shape)
        result.append(parts[0] + 1j * parts[1] if paired else parts[0])
    return result


def inner(x: Array, y: Array) -> float:
    """Sum of the products, of real and of imaginary parts."""
    return float((np.real(x) * np.real(y)).sum() + (np.imag(x) * np.imag(y)).sum())


def slope(f: Callable[..., Any], at: list[Array], towards: list[Array], w: Array) -> float:
    """Derivative of <w, f> along a direction, by central differences of fourth order."""
    h = 2.0**-11

    def value(t: float) -> float:
        return inner(w, np.asarray(f(*(x + t * v for x, v in zip(at, towards, strict=True)))))

    return (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h)


def check(body: Any, f: Any, shapes: Shapes, complex_: list[bool], result: Format | None) -> None:
    """Value, vjp and jvp of a function, at two points, along four directions each."""
    fmt = COMPLEX64 if complex_ and all(complex_) else FLOAT64
    formats = () if all(complex_) or not any(complex_) else tuple(COMPLEX64 if c else FLOAT64 for c in complex_)
    primals = numbers(shapes, complex_)
    own = function("f", " ".join(f"a{place}" for place in range(len(shapes))), body, elementwise=False)
    references = References(opinions=1)

    def ask(kind: Any, traced: tuple[int, ...], weights: tuple[Array, ...]) -> list[Array]:
        asked = Batch("t", own, fmt, Mode(kind, traced), tuple(primals), weights, formats=formats, result=result)
        found = []
        for answer in references.enclose(asked):
            parts = [answer.real] if answer.imag is None else [answer.real, answer.imag]
            assert all((part.state == State.KNOWN).all() for part in parts)
            values = [np.ldexp(part.head, part.exponent).reshape(2, *answer.shape) for part in parts]
            found.append(values[0] if len(values) == 1 else values[0] + 1j * values[1])
        return found

    everything = tuple(range(len(shapes)))
    (value,) = ask("forward", everything, ())
    due = np.stack([np.asarray(f(*(x[point] for x in primals))) for point in range(2)])
    assert value.shape == due.shape
    np.testing.assert_allclose(value, due, rtol=1e-11, atol=1e-13)
    rng = np.random.default_rng(7)
    w = (rng.integers(1, 9, due.shape) + (1j * rng.integers(1, 9, due.shape) if np.iscomplexobj(value) else 0)) / 4
    back = ask("vjp", everything, (w,))
    directions = [
        (rng.integers(-8, 9, x.shape) + (1j * rng.integers(-8, 9, x.shape) if np.iscomplexobj(x) else 0)) / 8
        for x in primals
    ]
    (along,) = ask("jvp", everything, tuple(directions))
    for point in range(2):
        at = [x[point] for x in primals]
        for argument in everything:
            direction = [v[point] * (place == argument) for place, v in enumerate(directions)]
            due_slope = slope(f, at, direction, w[point])
            got = inner(back[argument][point], directions[argument][point])
            assert got == pytest.approx(due_slope, rel=2e-6, abs=2e-6)
        got = inner(along[point], w[point])
        assert got == pytest.approx(slope(f, at, [v[point] for v in directions], w[point]), rel=2e-6, abs=2e-6)
    assert references.disagreements == []


@pytest.mark.parametrize("name", ARRAYS)
def test_a_function_of_arrays(name: str) -> None:
    body, f, shapes = ARRAYS[name]
    check(body, f, shapes, [False] * len(shapes), None)


# Body, the same in numpy, shapes, which arguments are complex, whether the result is.
COMPLEX_ARRAYS: dict[str, tuple[Any, Any, Shapes, list[bool], bool]] = {
    **{
        f"fft {n} {axis} {norm}": (
            lambda m, x, n=n, axis=axis, norm=norm: m.fft(x, n, axis, norm),
            lambda x, n=n, axis=axis, norm=norm: np.fft.fft(x, n, axis, norm), [(3, 5)], [True], True,
        )
        for n, axis, norm in TRANSFORMS
    },
    "fft real": (lambda m, x: m.fft(x), np.fft.fft, [(2, 4)], [False], True),
    "ifft": (lambda m, x: m.ifft(x, 5, 0, "ortho"), lambda x: np.fft.ifft(x, 5, 0, "ortho"), [(3, 2)], [True], True),
    "rfft": (lambda m, x: m.rfft(x, 6, -1, "forward"), lambda x: np.fft.rfft(x, 6, -1, "forward"), [(2, 5)], [False],
             True),
    "rfft odd": (lambda m, x: m.rfft(x), np.fft.rfft, [(5,)], [False], True),
    "irfft": (lambda m, x: m.irfft(x), np.fft.irfft, [(2, 4)], [True], False),
    "irfft odd": (lambda m, x: m.irfft(x, 5, 0, "ortho"), lambda x: np.fft.irfft(x, 5, 0, "ortho"), [(4, 2)], [True],
                  False),
    "fftn": (lambda m, x: m.fftn(x, (2, 4), (0, 2)), lambda x: np.fft.fftn(x, (2, 4), (0, 2)), [(2, 2, 3)], [True],
             True),
    "ifftn": (lambda m, x: m.ifftn(x), np.fft.ifftn, [(2, 3)], [True], True),
    "rfftn": (lambda m, x: m.rfftn(x, None, (1, 0)), lambda x: np.fft.rfftn(x, axes=(1, 0)), [(3, 4)], [False], True),
    "irfftn": (lambda m, x: m.irfftn(x, (2, 3), (0, 1)), lambda x: np.fft.irfftn(x, (2, 3), (0, 1)), [(2, 2)], [True],
               False),
    "fft2": (lambda m, x: m.fft2(x), np.fft.fft2, [(2, 3)], [True], True),
    "ifft2": (lambda m, x: m.ifft2(x, norm="ortho"), lambda x: np.fft.ifft2(x, norm="ortho"), [(2, 3)], [True], True),
    "rfft2": (lambda m, x: m.rfft2(x), np.fft.rfft2, [(2, 3)], [False], True),
    "irfft2": (lambda m, x: m.irfft2(x), np.fft.irfft2, [(2, 3)], [True], False),
    "sum complex": (lambda m, x: m.sum(x, 0), lambda x: x.sum(0), M23, [True], True),
    "prod complex": (lambda m, x: m.prod(x, 1), lambda x: x.prod(1), M23, [True], True),
    "cumprod complex": (lambda m, x: m.cumprod(x, 1), lambda x: x.cumprod(1), M23, [True], True),
    "matmul complex": (lambda m, x, y: m.matmul(x, y), np.matmul, [(2, 3), (3, 2)], [True, True], True),
    "matmul mixed": (lambda m, x, y: m.matmul(x, y), np.matmul, [(2, 3), (3, 2)], [False, True], True),
    "vecdot complex": (lambda m, x, y: m.vecdot(x, y), lambda x, y: (x.conj() * y).sum(-1), [(2, 3), (2, 3)],
                       [True, True], True),
    "softmax complex": (lambda m, x: m.softmax(x, 1), lambda x: _softmax(x, 1), M23, [True], True),
    "inv complex": (lambda m, x: m.inv(x), np.linalg.inv, [(2, 2)], [True], True),
    "norm complex": (lambda m, x: m.norm(x, 3, 1), lambda x: np.linalg.norm(x, 3, 1), M23, [True], False),
    "norm complex even": (lambda m, x: m.norm(x, 4, 1), lambda x: np.linalg.norm(x, 4, 1), M23, [True], False),
    "norm complex fro": (lambda m, x: m.norm(x), np.linalg.norm, M23, [True], False),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPLEX_ARRAYS)
def test_a_function_of_complex_arrays(name: str) -> None:
    body, f, shapes, complex_, complex_result = COMPLEX_ARRAYS[name]
    # The format of the result where it is not that of the arguments.
    result = None if complex_result == all(complex_) else COMPLEX64 if complex_result else FLOAT32
    check(body, f, shapes, complex_, result)


STRUCTURE = ("transpose", "reshape", "broadcast_to")


def test_the_structure_of_arrays() -> None:
    def body(m: Any, x: Any) -> Any:
        return m.broadcast_to(m.reshape(m.transpose(x, (1, 0)), (1, 6)), (2, 6))

    check(body, lambda x: np.broadcast_to(x.T.reshape(1, 6), (2, 6)), M23, [False], None)


def test_a_network_sorts_every_sequence_of_zeros_and_ones() -> None:
    # Which, for a network, is to sort every sequence (Knuth, TAOCP 3, 5.3.4, theorem Z).
    for count in range(1, 10):
        for bits in np.ndindex(*[2] * count):
            row = list(bits)
            for low, high in network(count):
                assert low < high
                row[low], row[high] = min(row[low], row[high]), max(row[low], row[high])
            assert row == sorted(bits)


def test_equal_keys_keep_the_order_of_their_values() -> None:
    f = function("f", "x y", lambda m, x, y: m.sort_by(x, y), elementwise=False)
    keys, values = [[[2.0, 1.0, 2.0, 1.0, 1.0]]], [[[1.0, 2.0, 3.0, 4.0, 5.0]]]
    asked = batch(f, "forward", (0, 1), [np.array(keys)[0], np.array(values)[0]], [])
    (answer,) = References().enclose(asked)
    assert answer.real.head.tolist() == [2.0, 4.0, 5.0, 1.0, 3.0]


def test_softmax_and_logsumexp_at_the_ends_of_float64() -> None:
    huge = FLOAT64.largest
    x = np.array([[huge, -huge, 0.0], [-huge, -huge, -huge], [huge, huge, 1.0], [800.0, -800.0, 0.0]])
    references = References(opinions=4)
    for name in ("softmax", "logsumexp", "log_softmax"):
        f = function(name, "x", lambda m, x, name=name: getattr(m, name)(x, -1), elementwise=False)
        w = np.ones(4) if name == "logsumexp" else np.ones((4, 3)) * [1.0, 2.0, 3.0]
        for kind, weights in (("forward", []), ("vjp", [w])):
            (answer,) = references.enclose(batch(f, kind, (0,), [x], weights))
            assert (answer.real.state == State.KNOWN).all()
    f = function("logsumexp", "x", lambda m, x: m.logsumexp(x, -1), elementwise=False)
    (answer,) = references.enclose(batch(f, "forward", (0,), [x], []))
    assert answer.real.to_format(FLOAT64).value.tolist() == [huge, -huge, huge, 800.0]
    assert references.disagreements == []


@pytest.mark.parametrize(
    ("body", "nodes"),
    [
        (lambda m, x: m.sum(x), 1),
        (lambda m, x: m.max(x), 4095),
        (lambda m, x: m.softmax(x), 2 * 4096 + 1),
        (lambda m, x: m.layer_norm(x.reshape(64, 64), eps=1), 3 * 4096 + 64 * 6),
        (lambda m, x: m.matmul(x.reshape(64, 64), x[:64]), 64),
        (lambda m, x: m.logsumexp(x), 4096 + 2),
    ],
)
def test_functions_of_long_arrays_record_few_operations(body: Any, nodes: int) -> None:
    recorded = trace(body, ((4096,),), (1,), 1)
    # One constant or two beside the inputs and the operations.
    assert len(recorded.builder.nodes) <= 4096 + nodes + 2


def test_one_element_and_none() -> None:
    one, none = np.array([[3.0]]), np.zeros((1, 0))
    for name, due in (("sum", 3.0), ("prod", 3.0), ("max", 3.0), ("mean", 3.0), ("var", 0.0), ("median", 3.0)):
        f = function(name, "x", lambda m, x, name=name: getattr(m, name)(x), elementwise=False)
        (answer,) = References().enclose(batch(f, "forward", (0,), [one], []))
        assert answer.real.head.tolist() == [due]
    for name, due in (("sum", 0.0), ("prod", 1.0)):
        f = function(name, "x", lambda m, x, name=name: getattr(m, name)(x), elementwise=False)
        (answer,) = References(opinions=0).enclose(batch(f, "forward", (0,), [none], []))
        assert answer.real.head.tolist() == [due]
    f = function("max", "x", lambda m, x: m.max(x), elementwise=False)
    with pytest.raises(AuditError, match="no elements"):
        References().enclose(batch(f, "forward", (0,), [none], []))


def test_bad_axes_and_scans_without_a_beginning_are_refused() -> None:
    for body, message in (
        (lambda m, x: m.prod(x, 2), "Axis 2 of an array with 2 axes"),
        (lambda m, x: m.max(x, (0, 0)), "Axis"),
        (lambda m, x: m.cummax(x, 1, inclusive=False), "begins with an infinity"),
        (lambda m, x: m.eigvalsh(x), "order 1 and 2"),
        (lambda m, x: m.no_such_function(x), "The reference has no operation m.no_such_function"),
    ):
        f = function("f", "x", body, elementwise=False)
        with pytest.raises(AuditError, match=message):
            References().enclose(batch(f, "forward", (0,), [np.ones((1, 3, 3))], []))
