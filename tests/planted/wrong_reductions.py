"""Wrong derivatives of reductions, scans, soft maxima and order."""
# ruff: noqa: ARG005  every piece takes the weight, the operands and the parameters, whether it reads them or not

from __future__ import annotations

from typing import Any

import mlx.core as mx

from audit.verdict import Verdict
from planted.plant import At, Plant, Stale, pulled

_BOTH = At(("vjp", "jvp"))
_LONG = At(("vjp", "jvp"), ("float16",), ("long",), size="default")


def _axes(x: mx.array, axis: Any) -> tuple[int, ...]:
    """The axes of a reduction as a tuple."""
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(a % x.ndim for a in ((axis,) if isinstance(axis, int) else axis))


def _kept(w: mx.array, x: mx.array, axis: Any) -> mx.array:
    """A cotangent of a reduction with the reduced axes kept."""
    axes = _axes(x, axis)
    return w.reshape([1 if a in axes else n for a, n in enumerate(x.shape)])


def _count(x: mx.array, axis: Any) -> int:
    count = 1
    for a in _axes(x, axis):
        count *= x.shape[a]
    return count


def _norm(a: mx.array, axis: Any) -> mx.array:
    return mx.sqrt(mx.sum(a * a, axis, keepdims=True))


def _one_by_one(x: mx.array) -> mx.array:
    """The sum of a flat array in its own format, an element after another."""
    return mx.cumsum(x.reshape(-1))[-1]


def _last_maximum(x: mx.array, axis: Any) -> mx.array:
    return x == mx.max(x, axis=axis, keepdims=True)


WRONG_REDUCTIONS = (
    Plant(
        "mean in place of the sum",
        "mx.sum",
        {"x": lambda own, w, x, axis, **p: own() / max(_count(x, axis), 1)},
        named=Verdict.WRONG,
    ),
    Plant(
        "axis ignored: the first cotangent everywhere",
        "mx.sum",
        {
            "x": lambda own, w, x, **p: (
                mx.broadcast_to(w.reshape(-1)[:1].reshape([1] * x.ndim), x.shape) if w.size else own()
            )
        },
        named=Verdict.SIGN,
        only=lambda row: "axis=0" in row["function"] or "axis=-1" in row["function"],
    ),
    Plant(
        "scaled by 2^100 on the way",
        "mx.sum",
        {"x": lambda own, w, x, **p: own(w * 2.0**100) / 2.0**100},
        named=Verdict.OVERFLOWED,
        only=lambda row: row["group"] == "range",
    ),
    Plant(
        "tangents added one by one in half precision",
        "mx.sum",
        jvp={"x": lambda own, t, x, **p: _one_by_one(t)},
        named=Verdict.INACCURATE,
        at=_LONG,
    ),
    Plant(
        "tangents of every second element",
        "mx.sum",
        jvp={"x": lambda own, t, x, **p: own(t * (mx.arange(x.size).reshape(x.shape) % 2))},
        named=Verdict.WRONG,
        at=_BOTH,
    ),
    Plant(
        "misses 1/n",
        "mx.mean",
        {"x": lambda own, w, x, axis, **p: own() * _count(x, axis)},
        named=Verdict.WRONG,
    ),
    Plant(
        "divides by the size of the array, not of the axis",
        "mx.mean",
        {"x": lambda own, w, x, axis, **p: own() * _count(x, axis) / x.size},
        named=Verdict.WRONG,
        only=lambda row: "axis=0" in row["function"] or "axis=-1" in row["function"],
    ),
    Plant(
        "conjugate where none is due",
        "mx.mean",
        {"x": lambda own, w, x, **p: mx.conjugate(own())},
        named=Verdict.SIGN,
        at=At(formats=("complex64",)),
    ),
    Plant(
        "divides by the factor: NaN at zero",
        "mx.prod",
        {"x": lambda own, w, x, axis, keepdims: _kept(w * mx.prod(x, axis, keepdims=keepdims), x, axis) / x},
        named=Verdict.NAN,
        at=At(groups=("special",)),
    ),
    Plant(
        "the whole product, the factor not left out",
        "mx.prod",
        {
            "x": lambda own, w, x, axis, **p: mx.broadcast_to(
                _kept(w, x, axis) * mx.prod(x, axis, keepdims=True), x.shape
            )
        },
        named=Verdict.WRONG,
        at=At(groups=("plain", "special")),
    ),
    Plant(
        "1 for each of tied maxima",
        "mx.max",
        {"x": lambda own, w, x, axis, keepdims: mx.where(_last_maximum(x, axis), _kept(w, x, axis), 0)},
        named=Verdict.WRONG,
        only=lambda row: row["group"] != "plain",
    ),
    Plant(
        "tangents of tied maxima added",
        "mx.max",
        jvp={
            "x": lambda own, t, x, axis, keepdims: mx.sum(
                mx.where(_last_maximum(x, axis), t, 0), axis, keepdims=keepdims
            )
        },
        named=Verdict.WRONG,
        at=_BOTH,
        only=lambda row: row["group"] != "plain",
    ),
    Plant(
        "the smallest in place of the largest",
        "mx.max",
        {"x": lambda own, w, x, axis, keepdims: mx.where(x == mx.min(x, axis, keepdims=True), _kept(w, x, axis), 0)},
        named=Verdict.NONZERO,
    ),
    Plant(
        "norm squared in the denominator",
        "mx.linalg.norm",
        {"a": lambda own, w, a, ord, axis, keepdims: own() / _norm(a, axis) if ord in (None, 2) else own()},  # noqa: A006
        named=Verdict.WRONG,
        at=At(groups=("plain",)),
        only=lambda row: "ord" not in row["function"] or "ord=2" in row["function"],
    ),
    Plant("misses the factor 2", "mx.var", {"x": lambda own, w, x, **p: own() / 2}, named=Verdict.WRONG),
    Plant(
        "mean not taken off",
        "mx.var",
        {"x": lambda own, w, x, axis, ddof, **p: 2 * _kept(w, x, axis) * x / (_count(x, axis) - ddof)},
        named=Verdict.WRONG,
        at=At(groups=("plain", "special")),
    ),
    Plant(
        "divides by n whatever ddof",
        "mx.var",
        {"x": lambda own, w, x, axis, ddof, **p: own() * (_count(x, axis) - ddof) / _count(x, axis)},
        named=Verdict.INACCURATE,
        only=lambda row: "ddof" in row["function"],
    ),
    Plant(
        "exponentials not shifted",
        "mx.logsumexp",
        {"x": lambda own, w, x, axis, keepdims: _kept(w, x, axis) * mx.exp(x) / mx.sum(mx.exp(x), axis, keepdims=True)},
        named=Verdict.NAN,
        only=lambda row: row["group"] != "plain",
    ),
    Plant(
        "exponential of a difference that has rounded",
        "mx.logsumexp",
        {"x": lambda own, w, x, axis, keepdims: _kept(w, x, axis) * mx.exp(x - mx.logsumexp(x, axis, keepdims=True))},
        named=Verdict.INACCURATE,
        only=lambda row: row["group"] == "special",
    ),
    Plant(
        "saved exponential of the result: zero times infinity",
        "mx.logsumexp",
        {
            "x": lambda own, w, x, axis, keepdims: (
                _kept(w, x, axis) * mx.exp(x) * mx.exp(-mx.logsumexp(x, axis, keepdims=True))
            )
        },
        named=Verdict.NAN,
        only=lambda row: row["group"] != "plain",
    ),
    Plant(
        "summed forward",
        "mx.cumsum",
        {
            "x": lambda own, w, x, axis, reverse, inclusive: mx.cumsum(
                w, -1 if axis is None else axis, reverse=reverse, inclusive=inclusive
            ).reshape(x.shape)
        },
        named=Verdict.WRONG,
    ),
    Plant(
        "reverse ignored",
        "mx.cumsum",
        {
            "x": lambda own, w, x, axis, reverse, inclusive: mx.cumsum(
                w, -1 if axis is None else axis, reverse=True, inclusive=inclusive
            ).reshape(x.shape)
        },
        named=Verdict.WRONG,
        only=lambda row: "reverse=True" in row["function"],
    ),
    Plant(
        "own element counted where it must not be",
        "mx.cumsum",
        {
            "x": lambda own, w, x, axis, reverse, inclusive: mx.cumsum(
                w, -1 if axis is None else axis, reverse=not reverse
            ).reshape(x.shape)
        },
        named=Verdict.WRONG,
        only=lambda row: "inclusive=False" in row["function"],
    ),
    Plant(
        "tangents shifted by one",
        "mx.cumsum",
        jvp={"x": lambda own, t, x, axis, **p: own(mx.roll(t, 1, -1))},
        named=Verdict.WRONG,
        at=_BOTH,
    ),
    Plant(
        "divides by the factor: NaN at zero",
        "mx.cumprod",
        {"x": lambda own, w, x, axis, reverse, inclusive: mx.cumsum(w * mx.cumprod(x, -1), -1, reverse=True) / x},
        named=Verdict.NAN,
        at=At(groups=("special",), function="mx.cumprod"),
    ),
    Plant(
        "misses the sum",
        "mx.softmax",
        {"x": lambda own, w, x, axis, precise: w * mx.softmax(x, axis)},
        named=Verdict.WRONG,
    ),
    Plant(
        "sums over all axes",
        "mx.softmax",
        {"x": lambda own, w, x, axis, precise: mx.softmax(x, axis) * (w - mx.sum(w * mx.softmax(x, axis)))},
        named=Verdict.WRONG,
    ),
    Plant(
        "sum of cotangents not weighted",
        "mx.softmax",
        {"x": lambda own, w, x, axis, precise: mx.softmax(x, axis) * (w - mx.sum(w, axis, keepdims=True))},
        named=Verdict.WRONG,
    ),
    Plant(
        "last axis whatever axis",
        "mx.softmax",
        {
            "x": lambda own, w, x, axis, precise: (
                mx.softmax(x, -1) * (w - mx.sum(w * mx.softmax(x, -1), -1, keepdims=True))
            )
        },
        named=Verdict.WRONG,
        only=lambda row: "axis" in row["function"],
    ),
    Plant(
        "wrong only along axes of one element",
        "mx.softmax",
        {"x": lambda own, w, x, axis, precise: w if axis == -1 and x.shape[-1] == 1 else own()},
        named=Verdict.NONZERO,
    ),
    Plant(
        "tangents averaged, not weighted",
        "mx.softmax",
        jvp={"x": lambda own, t, x, axis, precise: mx.softmax(x, axis) * (t - mx.mean(t, axis, keepdims=True))},
        named=Verdict.WRONG,
        at=_BOTH,
    ),
    Plant(
        "tangent of the call before",
        "mx.softmax",
        jvp={"x": Stale(lambda own, t, x, **p: own(t))},
        named=Verdict.WRONG,
        at=_BOTH,
    ),
    Plant(
        "misses the sum",
        "nn.log_softmax",
        {"x": lambda own, w, x, axis: w - mx.softmax(x, axis) * w},
        named=Verdict.WRONG,
    ),
    Plant(
        "mean in place of the sum",
        "nn.log_softmax",
        {"x": lambda own, w, x, axis: w - mx.softmax(x, axis) * mx.mean(w, axis, keepdims=True)},
        named=Verdict.WRONG,
    ),
    Plant(
        "permutation in place of its inverse",
        "mx.sort",
        {
            "x": lambda own, w, x, axis: mx.take_along_axis(
                w, mx.argsort(x.reshape(w.shape), -1 if axis is None else axis), -1 if axis is None else axis
            ).reshape(x.shape)
        },
        named=Verdict.WRONG,
    ),
    Plant(
        "cotangents left in order",
        "mx.sort",
        {"x": lambda own, w, x, axis: w.reshape(x.shape)},
        named=Verdict.WRONG,
    ),
    Plant(
        "tangents in descending order",
        "mx.sort",
        jvp={"x": lambda own, t, x, axis: mx.flip(own(), -1 if axis is None else axis)},
        named=Verdict.WRONG,
        at=_BOTH,
    ),
    Plant(
        "the smallest elements",
        "mx.topk",
        {"x": pulled(lambda x, k, axis: mx.sort(-mx.topk(-x, k, axis), 0 if axis is None else axis))},
        named=Verdict.NONZERO,
    ),
)
