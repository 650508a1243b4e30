"""Right derivatives of reductions, scans, soft maxima and order, written otherwise."""
# ruff: noqa: ARG005  every piece takes the weight, the operands and the parameters, whether it reads them or not

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import mlx.core as mx

from planted.otherwise import FIRST, SECOND, formula, otherwise
from planted.plant import At
from planted.wrong_reductions import _axes, _count, _kept

_HALF = At(("vjp", "jvp"), ("float16", "bfloat16"))
_LONG = At(("vjp", "jvp"), ("float16",), ("long",), size="default")


def _moved(x: mx.array, axis: Any) -> mx.array:
    """Reduced axes made one, which is the last."""
    axes = _axes(x, axis)
    rest = [a for a in range(x.ndim) if a not in axes]
    moved = mx.transpose(x, [*rest, *axes])
    return moved.reshape(*(x.shape[a] for a in rest), _count(x, axis))


def _folded(fold: Callable[[mx.array, mx.array], mx.array], start: float) -> Callable[..., mx.array]:
    """A reduction by one element after another."""

    def reduction(x: mx.array, axis: Any, keepdims: bool, **other: Any) -> mx.array:
        flat = _moved(x, axis)
        first = mx.full(flat.shape[:-1], start, x.dtype)
        found = reduce(fold, [flat[..., k] for k in range(flat.shape[-1])], first)
        return _kept(found, x, axis) if keepdims else found

    return reduction


def _variance(x: mx.array, axis: Any, keepdims: bool, ddof: int) -> mx.array:
    mean = mx.mean(x, axis, keepdims=True)
    return mx.sum(mx.square(x - mean), axis, keepdims=keepdims) / (_count(x, axis) - ddof)


def _mean_square(x: mx.array, axis: Any, keepdims: bool, ddof: int) -> mx.array:
    n = _count(x, axis)
    difference = mx.mean(x * x, axis, keepdims=keepdims) - mx.square(mx.mean(x, axis, keepdims=keepdims))
    return difference * (n / (n - ddof))


def _of_ties(share: Callable[[mx.array, Any], mx.array]) -> dict[str, Any]:
    """Derivatives of the maximum, for a way to share what tied elements get."""

    def weights(x: mx.array, axis: Any) -> mx.array:
        flat = _moved(x, axis)
        tied = (flat == mx.max(flat, -1, keepdims=True)).astype(mx.float32)
        shares = share(tied, flat.shape[-1]).astype(x.dtype)
        axes = _axes(x, axis)
        rest = [a for a in range(x.ndim) if a not in axes]
        order = [*rest, *axes]
        back = [order.index(a) for a in range(x.ndim)]
        return mx.transpose(shares.reshape([x.shape[a] for a in order]), back)

    return {
        "x": lambda w, x, axis, keepdims: _kept(w, x, axis) * weights(x, axis),
        "jvp": {"x": lambda t, x, axis, keepdims: mx.sum(t * weights(x, axis), axis, keepdims=keepdims)},
    }


def _first(tied: mx.array, count: int) -> mx.array:
    return tied * (mx.cumsum(tied, -1) == 1)


def _last(tied: mx.array, count: int) -> mx.array:
    return tied * (mx.cumsum(tied, -1, reverse=True) == 1)


def _equal(tied: mx.array, count: int) -> mx.array:
    return tied / mx.sum(tied, -1, keepdims=True)


def _unequal(tied: mx.array, count: int) -> mx.array:
    part = tied * mx.arange(1, count + 1)
    return part / mx.sum(part, -1, keepdims=True)


def _shifted(x: mx.array, axis: Any, keepdims: bool) -> mx.array:
    top = mx.stop_gradient(mx.max(x, axis, keepdims=True))
    found = mx.log(mx.sum(mx.exp(x - top), axis, keepdims=True)) + top
    return found if keepdims else found.reshape(mx.max(x, axis).shape)


def _turned(x: mx.array, axis: Any, reverse: bool, inclusive: bool) -> mx.array:
    """A scan the other way round of the array turned round."""
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    return mx.flip(mx.cumsum(mx.flip(x, axis), axis, reverse=not reverse, inclusive=inclusive), axis)


def _triangle(x: mx.array, axis: Any, reverse: bool, inclusive: bool) -> mx.array:
    """A scan as a product with a triangular matrix."""
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    size = x.shape[axis]
    place = mx.arange(size)
    before, after = (place[:, None], place[None]) if not reverse else (place[None], place[:, None])
    matrix = (before <= after if inclusive else before < after).astype(x.dtype)
    return mx.moveaxis(mx.moveaxis(x, axis, -1) @ matrix, -1, axis)


def _scan(x: mx.array, axis: Any, reverse: bool, inclusive: bool) -> mx.array:
    """A cumulative product, one factor after another."""
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    moved = mx.moveaxis(x, axis, 0)
    rows = [moved[k] for k in range(moved.shape[0])]
    rows = rows[::-1] if reverse else rows
    found, product = [], mx.ones(moved.shape[1:], x.dtype)
    for row in rows:
        after = product * row
        found.append(after if inclusive else product)
        product = after
    found = found[::-1] if reverse else found
    return mx.moveaxis(mx.stack(found), 0, axis) if found else x


def _larger(x: mx.array, axis: Any, precise: bool) -> mx.array:
    """A softmax of which the largest exponential is e, not 1."""
    powers = mx.exp(x - mx.stop_gradient(mx.max(x, axis, keepdims=True)) + 1)
    return powers / mx.sum(powers, axis, keepdims=True)


def _softmax_sum(w: mx.array, x: mx.array, axis: Any, precise: bool = False) -> mx.array:
    y = mx.softmax(x.astype(mx.float32), axis)
    w = w.astype(mx.float32)
    return (y * (w - mx.sum(w * y, axis, keepdims=True))).astype(x.dtype)


def _less_the_logarithm(x: mx.array, axis: Any) -> mx.array:
    shifted = x - mx.stop_gradient(mx.max(x, axis, keepdims=True))
    return shifted - mx.log(mx.sum(mx.exp(shifted), axis, keepdims=True))


def _softmax_apart(w: mx.array, x: mx.array, axis: Any, precise: bool) -> mx.array:
    y = mx.softmax(x, axis)
    return w * y - y * mx.sum(w * y, axis, keepdims=True)


def _softmax_matrix(w: mx.array, x: mx.array, axis: Any, precise: bool) -> mx.array:
    """The whole matrix of derivatives, over the axes made one."""
    y, along = (_moved(a, axis) for a in (mx.softmax(x, axis), w))
    matrix = y[..., None] * (mx.eye(y.shape[-1]) - y[..., None, :])
    found = (matrix @ along[..., None]).squeeze(-1)
    axes = _axes(x, axis)
    order = [*(a for a in range(x.ndim) if a not in axes), *axes]
    return mx.transpose(found.reshape([x.shape[a] for a in order]), [order.index(a) for a in range(x.ndim)])


def _long_softmax(x: mx.array, precise: bool) -> mx.array:
    return mx.softmax(x.astype(mx.float32), -1)[:2].astype(x.dtype)


def _ranked(w: mx.array, x: mx.array, axis: Any) -> mx.array:
    """Cotangents by the rank of each element."""
    flat, along = (x.reshape(-1), 0) if axis is None else (x, axis)
    return mx.take_along_axis(w, mx.argsort(mx.argsort(flat, along), along), along).reshape(x.shape)


def _scattered(w: mx.array, x: mx.array, axis: Any, k: int | None = None) -> mx.array:
    flat, along = (x.reshape(-1), 0) if axis is None else (x, axis)
    order = mx.argsort(flat, along)
    if k is not None:
        order = mx.moveaxis(mx.moveaxis(order, along, 0)[-k:], 0, along)
    return mx.put_along_axis(mx.zeros_like(flat), order, w, along).reshape(x.shape)


def _sorted(t: mx.array, x: mx.array, axis: Any) -> mx.array:
    flat, tangent, along = (x.reshape(-1), t.reshape(-1), 0) if axis is None else (x, t, axis)
    return mx.take_along_axis(tangent, mx.argsort(flat, along), along)


RIGHT_REDUCTIONS = (
    otherwise("an element after another", "mx.sum", _folded(lambda a, b: a + b, 0.0), SECOND),
    otherwise(
        "from the end",
        "mx.sum",
        lambda x, axis, keepdims: (
            _folded(lambda a, b: a + b, 0.0)(mx.flip(x), axis, keepdims)
            if axis is None
            else mx.sum(x, axis, keepdims=keepdims)
        ),
    ),
    otherwise("in float64", "mx.sum", lambda x, axis, keepdims: mx.sum(x, axis, keepdims=keepdims), _LONG, wide=True),
    formula(
        "cotangents repeated",
        "mx.sum",
        _HALF,
        x=lambda w, x, axis, keepdims: mx.broadcast_to(_kept(w, x, axis), x.shape),
    ),
    formula(
        "added up in float32",
        "mx.sum",
        _LONG,
        {"x": lambda t, x, axis, keepdims: mx.sum(t.astype(mx.float32), axis, keepdims=keepdims).astype(t.dtype)},
    ),
    otherwise(
        "a sum over n",
        "mx.mean",
        lambda x, axis, keepdims: mx.sum(x, axis, keepdims=keepdims) / _count(x, axis),
        SECOND,
        wide=True,
    ),
    formula(
        "cotangents over n",
        "mx.mean",
        x=lambda w, x, axis, keepdims: mx.broadcast_to(_kept(w, x, axis) / _count(x, axis), x.shape),
    ),
    otherwise(
        "a factor after another",
        "mx.prod",
        _folded(lambda a, b: a * b, 1.0),
        At(("vjp", "jvp", "second-rr"), ("float16", "float32")),
        wide=True,
    ),
    *(
        formula(f"{name} of tied elements", "mx.max", **_of_ties(share))
        for name, share in (("first", _first), ("last", _last), ("equal parts", _equal), ("unequal parts", _unequal))
    ),
    otherwise("centred", "mx.var", _variance, SECOND, wide=True),
    otherwise("mean square less squared mean", "mx.var", _mean_square, FIRST, wide=True),
    otherwise("shifted by a constant", "mx.logsumexp", _shifted, SECOND),
    formula(
        "by the softmax",
        "mx.logsumexp",
        # Of thousands of numbers in half precision its weights are not accurate enough.
        At(("vjp", "jvp"), ("float16", "float32"), size="quick"),
        {"x": lambda t, x, axis, keepdims: mx.sum(t * mx.softmax(x, axis), axis, keepdims=keepdims)},
        x=lambda w, x, axis, keepdims: _kept(w, x, axis) * mx.softmax(x, axis),
    ),
    otherwise("turned round twice", "mx.cumsum", _turned, SECOND),
    otherwise("triangular matrix", "mx.cumsum", _triangle, FIRST, wide=True),
    otherwise(
        "in float32",
        "mx.cumsum",
        lambda x, axis, **flags: mx.cumsum(x.astype(mx.float32), 0 if axis is None else axis, **flags).astype(x.dtype),
        _LONG,
    ),
    otherwise("a factor after another", "mx.cumprod", _scan, At(empty=False), wide=True),
    formula("the sum taken off", "mx.softmax", SECOND, {"x": _softmax_sum}, x=_softmax_sum),
    formula("two products", "mx.softmax", FIRST, {"x": _softmax_apart}, x=_softmax_apart),
    formula("the whole matrix", "mx.softmax", FIRST, {"x": _softmax_matrix}, x=_softmax_matrix),
    otherwise("exponentials a little larger", "mx.softmax", _larger, SECOND, wide=True),
    formula("summed in float32", "mx.softmax", _HALF, {"x": _softmax_sum}, x=_softmax_sum),
    otherwise(
        "long rows in float32",
        "mx.softmax[start of a long row, precise=True]",
        _long_softmax,
        At(("vjp", "jvp"), ("bfloat16",), size="default"),
    ),
    formula(
        "with the softmax",
        "nn.log_softmax",
        FIRST,
        {"x": lambda t, x, axis: t - mx.sum(t * mx.softmax(x, axis), axis, keepdims=True)},
        x=lambda w, x, axis: w - mx.softmax(x, axis) * mx.sum(w, axis, keepdims=True),
    ),
    otherwise(
        "logarithm of the softmax's parts",
        "nn.log_softmax",
        _less_the_logarithm,
        SECOND,
    ),
    formula("by rank", "mx.sort", x=_ranked),
    formula("scattered", "mx.sort", FIRST, {"x": _sorted}, x=_scattered),
    formula("scattered, those that are left out zero", "mx.topk", x=lambda w, x, k, axis: _scattered(w, x, axis, k)),
)
