"""Wrong derivatives of activations, normalisation, attention, losses and recurrent layers."""
# ruff: noqa: ARG005  every piece takes the weight, the operands and the parameters, whether it reads them or not

from __future__ import annotations

from typing import Any

import mlx.core as mx

from audit.verdict import Verdict
from cases.indices import to_mlx
from planted.compared import altered, operations
from planted.plant import At, Plant, pulled

_NEAR = At(groups=("plain", "special"))
_WRONG, _SIGN, _NONZERO, _VANISHED = Verdict.WRONG, Verdict.SIGN, Verdict.NONZERO, Verdict.VANISHED
_INACCURATE = Verdict.INACCURATE

_ATTENTION = "mx.fast.scaled_dot_product_attention"


def _spread(x: mx.array, eps: float) -> mx.array:
    return mx.rsqrt(mx.var(x, -1, keepdims=True) + eps)


def _rows_summed(w: mx.array) -> mx.array:
    return w.reshape(-1, w.shape[-1]).sum(0)


def _only(w: mx.array, place: int, axis: int) -> mx.array:
    """One place along an axis, all others zero."""
    shape = [1] * w.ndim
    shape[axis] = -1
    return w * (mx.arange(w.shape[axis]) == place % w.shape[axis]).reshape(shape)


def _scores(q: mx.array, k: mx.array, scale: float) -> mx.array:
    return mx.softmax(scale * q @ mx.swapaxes(k, -1, -2), -1)


def _unsubtracted(own: Any, w: mx.array, q: mx.array, k: mx.array, v: mx.array, scale: float, mask: Any) -> mx.array:
    """The derivative of the scores without the mean that the softmax takes off."""
    slope = _scores(q, k, scale) * (w @ mx.swapaxes(v, -1, -2))
    return scale * mx.swapaxes(slope, -1, -2) @ q


def _weightless(logits: mx.array, weights: mx.array, **parameters: Any) -> mx.array:
    return operations()["nn.losses.cross_entropy[probabilities]"].call(logits, mx.ones_like(weights), **parameters)


def _divergence(inputs: mx.array, targets: mx.array, powers: mx.array, axis: int, reduction: str) -> mx.array:
    loss = mx.sum(powers * (targets - inputs), axis)
    return {"none": lambda x: x, "mean": mx.mean, "sum": mx.sum}[reduction](loss)


def _without(x: mx.array, part: int, parts: int) -> mx.array:
    size = x.shape[0] // parts
    place = mx.arange(x.shape[0]).reshape(-1, *[1] * (x.ndim - 1)) // size
    return mx.where(place == part, 0, x)


WRONG_LAYERS = (
    Plant(
        "slope of another layer",
        "nn.leaky_relu[slope]",
        {"x": pulled(lambda x, negative_slope: mx.maximum(0.01 * x, x))},
        named=_WRONG,
    ),
    Plant(
        "slope on both sides",
        "nn.leaky_relu[slope]",
        {"x": lambda own, w, x, negative_slope: w * negative_slope},
        named=_WRONG,
    ),
    Plant(
        "NaN where the cotangent is zero",
        "nn.leaky_relu[slope]",
        {"x": lambda own, w, x, negative_slope: own() * w / w},
        named=Verdict.NAN,
        at=At(formats=("float16", "float32")),
    ),
    Plant(
        "broadcast operand not reduced",
        "mx.multiply",
        {"b": lambda own, w, a, b: w * a},
        named=Verdict.SHAPE,
        at=At(groups=("plain",)),
    ),
    Plant(
        "itself in place of the other",
        "mx.multiply",
        {"a": lambda own, w, a, b: w * a if a.shape == b.shape else own()},
        named=_SIGN,
        at=At(groups=("plain",)),
    ),
    Plant(
        "mean and spread as constants",
        "mx.fast.layer_norm",
        {"x": lambda own, w, x, weight, bias, eps: w * weight * _spread(x, eps)},
        named=_WRONG,
        at=_NEAR,
    ),
    Plant(
        "projection dropped",
        "mx.fast.layer_norm",
        {
            "x": lambda own, w, x, weight, bias, eps: (
                (w * weight - mx.mean(w * weight, -1, keepdims=True)) * _spread(x, eps)
            )
        },
        named=_WRONG,
        at=_NEAR,
    ),
    Plant(
        "rows averaged",
        "mx.fast.layer_norm",
        {"bias": lambda own, w, x, *rest, eps: own() / (x.size // x.shape[-1])},
        named=_WRONG,
        at=_NEAR,
    ),
    Plant(
        "weight's gradient of what is not normalised",
        "mx.fast.layer_norm",
        {"weight": lambda own, w, x, *rest, eps: _rows_summed(w * x)},
        named=_WRONG,
        at=_NEAR,
    ),
    Plant(
        "eps dropped",
        "mx.fast.layer_norm",
        {"x": altered("mx.fast.layer_norm", "x", eps=1e-5)},
        named=_WRONG,
        at=_NEAR,
        only=lambda row: "eps" in row["function"],
    ),
    Plant(
        "projection dropped",
        "mx.fast.rms_norm",
        {"x": lambda own, w, x, weight, eps: w * weight * mx.rsqrt(mx.mean(x * x, -1, keepdims=True) + eps)},
        named=_WRONG,
        at=_NEAR,
    ),
    Plant(
        "rows not summed",
        "mx.fast.rms_norm",
        {"weight": lambda own, w, x, weight, eps: w * x * mx.rsqrt(mx.mean(x * x, -1, keepdims=True) + eps)},
        named=Verdict.SHAPE,
        at=_NEAR,
    ),
    Plant(
        "eps beside the root",
        "mx.fast.rms_norm",
        {"x": pulled(lambda x, weight, eps: weight * x / (mx.sqrt(mx.mean(x * x, -1, keepdims=True)) + eps), 0)},
        named=_INACCURATE,
        at=_NEAR,
    ),
    Plant(
        "channels grouped the other way",
        "nn.GroupNorm",
        {"x": altered("nn.GroupNorm", "x", pytorch_compatible=True)},
        named=_WRONG,
        at=_NEAR,
        only=lambda row: "pytorch" not in row["function"],
    ),
    Plant(
        "statistics of evaluation in training",
        "nn.BatchNorm",
        {"x": altered("nn.BatchNorm", "x", training=False, track_running_stats=True)},
        named=_WRONG,
        at=_NEAR,
    ),
    Plant(
        "scale dropped",
        _ATTENTION,
        {"q": altered(_ATTENTION, "q", scale=1.0)},
        named=_WRONG,
        only=lambda row: "scale=" in row["function"],
    ),
    Plant(
        "scale applied twice",
        _ATTENTION,
        {"k": lambda own, w, *rest, scale, mask: own() * scale},
        named=_WRONG,
        only=lambda row: "scale=" in row["function"],
    ),
    Plant(
        "mask dropped",
        _ATTENTION,
        {"v": altered(_ATTENTION, "v", mask=None)},
        named=_WRONG,
        only=lambda row: "mask=" in row["function"],
    ),
    Plant(
        "softmax without its sum",
        _ATTENTION,
        {"k": _unsubtracted},
        named=_WRONG,
        at=At(
            groups=("plain", "special"),
            function=_ATTENTION.replace(".", r"\."),
        ),
    ),
    Plant(
        "first of a group of heads",
        _ATTENTION,
        {"v": lambda own, w, *rest, **p: own(_only(w, 0, 1))},
        named=_WRONG,
        only=lambda row: row["group"] == "plain",
    ),
    Plant(
        "gradient of the mask dropped",
        f"{_ATTENTION}[mask]",
        {"mask": lambda own, w, q, k, v, mask, scale: mx.zeros_like(mask)},
        named=_VANISHED,
        at=_NEAR,
    ),
    Plant(
        "sinks get what the keys lose",
        f"{_ATTENTION}[sinks]",
        {"sinks": lambda own, *rest: -own()},
        named=_SIGN,
        at=_NEAR,
    ),
    Plant(
        "turned on, not back",
        "mx.fast.rope",
        {"a": lambda own, w, a, offset, **p: mx.fast.rope(w, offset=to_mlx(offset), **p)},
        named=_WRONG,
    ),
    Plant(
        "halves in place of pairs",
        "mx.fast.rope",
        {"a": altered("mx.fast.rope", "a", traditional=False)},
        named=_WRONG,
        only=lambda row: "traditional" in row["function"],
    ),
    Plant(
        "offset ignored",
        "mx.fast.rope",
        {"a": altered("mx.fast.rope", "a", offset=0)},
        named=_WRONG,
        only=lambda row: "offset" in row["function"],
    ),
    Plant(
        "misses the factor 2", "nn.losses.mse_loss", {"predictions": lambda own, *rest, **p: own() / 2}, named=_WRONG
    ),
    Plant("both of one sign", "nn.losses.mse_loss", {"targets": lambda own, *rest, **p: -own()}, named=_SIGN),
    Plant(
        "sum in place of the mean",
        "nn.losses.mse_loss",
        {"predictions": lambda own, w, x, y, reduction: own() * x.size if reduction == "mean" else own()},
        named=_WRONG,
        only=lambda row: "reduction" not in row["function"],
    ),
    Plant(
        "label smoothing dropped",
        "nn.losses.cross_entropy[indices]",
        {"logits": altered("nn.losses.cross_entropy[indices]", "logits", label_smoothing=0.0)},
        named=_WRONG,
        at=_NEAR,
        only=lambda row: "smoothing" in row["function"],
    ),
    Plant(
        "targets not taken off",
        "nn.losses.cross_entropy[indices]",
        {
            "logits": lambda own, w, logits, axis, reduction, **p: (
                mx.softmax(logits, axis) * mx.expand_dims(w, axis) if reduction == "none" else own()
            )
        },
        named=_SIGN,
        at=_NEAR,
    ),
    Plant(
        "weights dropped",
        "nn.losses.cross_entropy[probabilities]",
        {
            "logits": lambda own, w, logits, weights, **p: mx.vjp(
                lambda x: _weightless(x, weights, **p), [logits], [w]
            )[1][0]
        },
        named=_INACCURATE,
        at=_NEAR,
    ),
    Plant(
        "slope of the exponential dropped",
        "nn.losses.kl_div_loss",
        {
            "targets": pulled(
                lambda inputs, targets, axis, reduction: _divergence(
                    inputs, targets, mx.stop_gradient(mx.exp(targets)), axis, reduction
                ),
                1,
            )
        },
        named=_WRONG,
        at=_NEAR,
    ),
    Plant("sign of the likelihood", "nn.losses.nll_loss", {"inputs": lambda own, *rest, **p: -own()}, named=_SIGN),
    Plant(
        "delta ignored",
        "nn.losses.huber_loss",
        {"inputs": altered("nn.losses.huber_loss", "inputs", delta=1.0)},
        named=_WRONG,
        at=_NEAR,
        only=lambda row: "delta" in row["function"],
    ),
    Plant("last step only", "nn.RNN", {"Whh": lambda own, w, *rest, **p: own(_only(w, -1, -2))}, named=_VANISHED),
    Plant(
        "first state forgotten",
        "nn.RNN",
        {"hidden": lambda own, w, x, hidden, *rest, **p: mx.zeros_like(hidden)},
        named=_VANISHED,
    ),
    Plant(
        "reset gate's gradient dropped",
        "nn.GRU",
        {"Wh": lambda own, *rest, **p: _without(own(), 0, 3)},
        named=_VANISHED,
    ),
    Plant(
        "forget gate's gradient dropped",
        "nn.LSTM",
        {"bias": lambda own, *rest, **p: _without(own(), 1, 4)},
        named=_VANISHED,
    ),
    Plant(
        "transposed by reshaping",
        "nn.Linear",
        {"weight": lambda own, w, x, weight, *rest, **p: mx.swapaxes(own(), 0, 1).reshape(weight.shape)},
        named=_SIGN,
    ),
    Plant(
        "rows averaged",
        "nn.Linear",
        {"bias": lambda own, w, x, *rest, **p: own() / (x.size // x.shape[-1] or 1)},
        named=_WRONG,
    ),
    Plant(
        "small cotangents lost in half precision",
        "nn.Linear",
        {"x": lambda own, w, *rest, **p: own(w * 2.0**-14) * 2.0**14},
        named=_VANISHED,
        at=At(formats=("float16",)),
    ),
    Plant(
        "a repeated row counted once",
        "nn.Embedding",
        {"weight": lambda own, w, weight, x: own() / mx.maximum(own(mx.ones_like(w)), 1)},
        named=_WRONG,
    ),
)
