"""Right derivatives of convolutions, windows, normalisation, attention, losses and layers, written otherwise."""
# ruff: noqa: ARG005  every piece takes the weight, the operands and the parameters, whether it reads them or not

from __future__ import annotations

from itertools import product
from typing import Any

import mlx.core as mx
import numpy as np

from cases.indices import to_mlx
from planted.otherwise import FIRST, SECOND, formula, otherwise
from planted.plant import At
from planted.right_indexing import reduced

_VJP = At()
_HALF = At(("vjp", "jvp"), ("float16", "bfloat16"))
_SOME = At(("vjp", "jvp"), groups=("plain", "special"))
_ATTENTION = "mx.fast.scaled_dot_product_attention"


def _each(value: Any, rank: int) -> tuple[int, ...]:
    return (value,) * rank if isinstance(value, int) else tuple(value)


def _convolution(x: mx.array, w: mx.array, stride: Any, padding: Any, dilation: Any, groups: int) -> mx.array:
    """A convolution as a sum over the taps of the kernel, of a product of channels each."""
    rank = x.ndim - 2
    steps, pads, gaps = (_each(value, rank) for value in (stride, padding, dilation))
    x = mx.pad(x, [(0, 0), *((p, p) for p in pads), (0, 0)])
    sizes = [
        (n - 1 - gap * (k - 1)) // step + 1
        for n, k, gap, step in zip(x.shape[1:-1], w.shape[1:-1], gaps, steps, strict=True)
    ]
    outs, ins = w.shape[0] // groups, w.shape[-1]
    found = []
    for g in range(groups):
        terms = []
        for tap in product(*(range(k) for k in w.shape[1:-1])):
            starts = [t * gap for t, gap in zip(tap, gaps, strict=True)]
            window = tuple(
                slice(s, s + (n - 1) * step + 1, step) for s, n, step in zip(starts, sizes, steps, strict=True)
            )
            seen = x[(slice(None), *window, slice(g * ins, (g + 1) * ins))]
            terms.append(seen @ w[(slice(g * outs, (g + 1) * outs), *tap)].T)
        found.append(sum(terms[1:], terms[0]))
    return mx.concatenate(found, -1)


def _convolve(a: mx.array, v: mx.array, mode: str) -> mx.array:
    """The full convolution as a sum of shifted arrays, cut to what is asked for."""
    whole = mx.zeros((a.size + v.size - 1,), a.dtype)
    for k in range(v.size):
        whole = whole + mx.pad(a * v[k], (k, v.size - 1 - k))
    long, short = max(a.size, v.size), min(a.size, v.size)
    size, start = {"full": (whole.size, 0), "same": (long, (short - 1) // 2), "valid": (long - short + 1, short - 1)}[
        mode
    ]
    return whole[start : start + size]


def _windows(x: mx.array, kernel_size: int, stride: int | None, padding: Any, fill: float) -> list[mx.array]:
    """For each place in a window what stands there, window after window."""
    pad, step = _each(padding, 1)[0], stride or kernel_size
    x = mx.pad(x, [(0, 0), (pad, pad), (0, 0)], constant_values=fill)
    count = (x.shape[1] - kernel_size) // step + 1
    return [x[:, k : k + (count - 1) * step + 1 : step] for k in range(kernel_size)]


def _mean_pool(x: mx.array, **windows: Any) -> mx.array:
    parts = _windows(x, **windows, fill=0.0)
    return sum(parts[1:], parts[0]) / len(parts)


def _max_pool(x: mx.array, **windows: Any) -> mx.array:
    found, *rest = _windows(x, **windows, fill=-float("inf"))
    for part in rest:
        found = mx.where(part > found, part, found)
    return found


def _normalised(x: mx.array, axes: Any, eps: float) -> mx.array:
    centred = x - mx.mean(x, axes, keepdims=True)
    return centred / mx.sqrt(mx.mean(mx.square(centred), axes, keepdims=True) + eps)


def _grouped(
    x: mx.array, weight: mx.array, bias: mx.array, num_groups: int, eps: float, affine: bool, pytorch_compatible: bool
) -> mx.array:
    """Group after group."""
    dims = x.shape[-1]
    size = dims // num_groups
    found: list[Any] = [None] * dims
    for g in range(num_groups):
        channels = list(range(g * size, (g + 1) * size)) if pytorch_compatible else list(range(g, dims, num_groups))
        part = _normalised(mx.stack([x[..., c] for c in channels], -1), tuple(range(1, x.ndim)), eps)
        for k, c in enumerate(channels):
            found[c] = part[..., k]
    result = mx.stack(found, -1)
    return weight * result + bias if affine else result


def _layer_norm_x(w: mx.array, x: mx.array, weight: mx.array, bias: mx.array, eps: float) -> mx.array:
    """The two means taken off by hand, in float64."""
    w, x, weight = (a.astype(mx.float64) for a in (w, x, weight))
    root = 1 / mx.sqrt(mx.var(x, -1, keepdims=True) + eps)
    y, g = (x - mx.mean(x, -1, keepdims=True)) * root, w * weight
    return root * (g - mx.mean(g, -1, keepdims=True) - y * mx.mean(g * y, -1, keepdims=True))


def _layer_norm_weight(w: mx.array, x: mx.array, weight: mx.array, bias: mx.array, eps: float) -> mx.array:
    return reduced(w.astype(mx.float64) * _normalised(x.astype(mx.float64), -1, eps), weight.shape)


def _attention(q: mx.array, k: mx.array, v: mx.array, scale: float, mask: Any = None, sinks: Any = None) -> mx.array:
    """Scores, exponentials over their sum, and a mean of values."""
    heads = q.shape[1] // k.shape[1]
    k, v = (mx.repeat(x, heads, 1) for x in (k, v))
    scores = scale * (q @ mx.swapaxes(k, -1, -2))
    if isinstance(mask, str):
        rows, columns = scores.shape[-2:]
        mask = mx.array(np.tril(np.ones((rows, columns), bool), columns - rows))
    mask = to_mlx(mask)
    if mask is not None:
        scores = mx.where(mask, scores, -mx.inf) if mask.dtype == mx.bool_ else scores + mask
    if sinks is not None:
        extra = mx.broadcast_to(sinks[None, :, None, None], (*scores.shape[:-1], 1))
        scores = mx.concatenate([scores, extra], -1)
    powers = mx.exp(scores - mx.stop_gradient(mx.max(scores, -1, keepdims=True)))
    shares = powers / mx.sum(powers, -1, keepdims=True)
    return shares[..., : k.shape[-2]] @ v


def _turned_back(
    w: mx.array, a: mx.array, dims: int, traditional: bool, base: float, scale: float, offset: Any
) -> mx.array:
    return mx.fast.rope(
        w,
        dims,
        traditional=traditional,
        base=base,
        scale=-scale,
        offset=to_mlx(offset),
    )


def _spread(w: mx.array, reduction: str, size: int) -> mx.array:
    return w / size if reduction == "mean" else w


def _log_probabilities(
    logits: mx.array, axis: int = -1, label_smoothing: float = 0.0, reduction: str = "none"
) -> mx.array:
    """The loss by whole rows of targets."""
    count = logits.shape[axis]
    rest = [n for a, n in enumerate(logits.shape) if a != axis % logits.ndim]
    classes = (count - 1 - 2 * np.arange(int(np.prod(rest, dtype=int)))).reshape(rest) % count
    targets = np.moveaxis(np.eye(count)[classes], -1, axis) * (1 - label_smoothing) + label_smoothing / count
    shifted = logits - mx.stop_gradient(mx.max(logits, axis, keepdims=True))
    rows = shifted - mx.log(mx.sum(mx.exp(shifted), axis, keepdims=True))
    loss = -mx.sum(rows * mx.array(targets.astype(np.float32)).astype(logits.dtype), axis)
    return {"none": lambda x: x, "mean": mx.mean, "sum": mx.sum}[reduction](loss)


def _divergence(inputs: mx.array, targets: mx.array, axis: int, reduction: str) -> mx.array:
    powers = mx.exp(targets)
    loss = mx.sum(powers * targets, axis) - mx.sum(powers * inputs, axis)
    return {"none": lambda x: x, "mean": mx.mean, "sum": mx.sum}[reduction](loss)


def _steps(
    x: mx.array,
    hidden: mx.array,
    wx: mx.array,
    wh: mx.array,
    bias: mx.array,
    nonlinearity: str,
    add: bool,
    started: bool,
) -> mx.array:
    """A recurrent layer, input and state joined to one vector at each step."""
    state = (
        mx.broadcast_to(hidden, (*x.shape[:-2], wh.shape[1]))
        if started
        else mx.zeros((*x.shape[:-2], wh.shape[1]), x.dtype)
    )
    both, found = mx.concatenate([wx, wh], -1), []
    for t in range(x.shape[-2]):
        driven = mx.concatenate([x[..., t, :], state], -1) @ both.T
        driven = driven + bias if add else driven
        state = {"tanh": mx.tanh, "sigmoid": mx.sigmoid, "relu": lambda y: mx.maximum(y, 0)}[nonlinearity](driven)
        found.append(state)
    return mx.stack(found, -2)


def _sums(x: mx.array, weight: mx.array, bias: mx.array, add: bool) -> mx.array:
    found = (x[..., None, :] * weight).sum(-1)
    return found + bias if add else found


_NORM = {
    "x": _layer_norm_x,
    "weight": _layer_norm_weight,
    "bias": lambda w, x, weight, bias, eps: reduced(w.astype(mx.float64), bias.shape),
}

RIGHT_LAYERS = (
    otherwise("tap after tap", "mx.conv1d", _convolution, At(empty=False)),
    otherwise(
        "tap after tap in float64",
        "mx.conv1d",
        _convolution,
        At(("vjp", "jvp"), ("float16", "float32"), empty=False),
        wide=True,
    ),
    otherwise("tap after tap", "mx.conv2d", _convolution, FIRST),
    otherwise("shifted arrays added", "mx.convolve", _convolve, FIRST),
    otherwise("places of windows added", "nn.AvgPool1d", _mean_pool, At(("vjp", "jvp"), groups=("range", "special"))),
    otherwise(
        "largest of places of windows", "nn.MaxPool1d", _max_pool, At(("vjp", "jvp"), groups=("range", "special"))
    ),
    otherwise(
        "pieces",
        "nn.leaky_relu[slope]",
        lambda x, negative_slope: mx.where(x > 0, x, negative_slope * x),
        At(("vjp", "jvp"), ("float16", "float32")),
    ),
    formula(
        "summed where repeated",
        "mx.multiply",
        At(groups=("plain",)),
        a=lambda w, a, b: reduced(w * b, a.shape),
        b=lambda w, a, b: reduced(w * a, b.shape),
    ),
    formula("two means taken off", "mx.fast.layer_norm", _VJP, **_NORM),
    otherwise(
        "centred, over the root",
        "mx.fast.layer_norm",
        lambda x, weight, bias, eps: weight * _normalised(x, -1, eps) + bias,
        At(("vjp", "jvp"), ("float16", "float32")),
        wide=True,
    ),
    otherwise(
        "over the root",
        "mx.fast.rms_norm",
        lambda x, weight, eps: weight * (x / mx.sqrt(mx.mean(x * x, -1, keepdims=True) + eps)),
        FIRST,
        wide=True,
    ),
    otherwise("group after group", "nn.GroupNorm", _grouped, FIRST, wide=True),
    otherwise("scores, exponentials, a mean", _ATTENTION, _attention, _SOME),
    otherwise("scores, exponentials, a mean in float64", _ATTENTION, _attention, FIRST, wide=True),
    otherwise(
        "scores and a mask", f"{_ATTENTION}[mask]", lambda q, k, v, mask, scale: _attention(q, k, v, scale, mask), _SOME
    ),
    otherwise(
        "scores and a sink", f"{_ATTENTION}[sinks]", lambda q, k, v, sinks: _attention(q, k, v, 0.5, None, sinks), _SOME
    ),
    formula("turned back", "mx.fast.rope", _VJP, a=_turned_back),
    formula(
        "twice the difference",
        "nn.losses.mse_loss",
        _VJP,
        predictions=lambda w, x, y, reduction: 2 * (x - y) * _spread(w, reduction, x.size),
        targets=lambda w, x, y, reduction: 2 * (y - x) * _spread(w, reduction, x.size),
    ),
    otherwise(
        "a product of differences",
        "nn.losses.mse_loss",
        lambda x, y, reduction: {"none": lambda z: z, "mean": mx.mean, "sum": mx.sum}[reduction]((x - y) * (x - y)),
        SECOND,
    ),
    otherwise("whole rows of targets", "nn.losses.cross_entropy[indices]", _log_probabilities, _SOME),
    otherwise("two sums", "nn.losses.kl_div_loss", _divergence, _SOME),
    formula(
        "clipped difference",
        "nn.losses.huber_loss",
        _VJP,
        inputs=lambda w, x, y, delta, reduction: mx.clip(x - y, -delta, delta) * _spread(w, reduction, x.size),
        targets=lambda w, x, y, delta, reduction: mx.clip(y - x, -delta, delta) * _spread(w, reduction, x.size),
    ),
    otherwise("input and state joined", "nn.RNN", _steps, FIRST),
    otherwise("products and sums in float64", "nn.Linear", _sums, _HALF, wide=True),
    otherwise("products and sums", "nn.Linear", _sums, SECOND),
)
