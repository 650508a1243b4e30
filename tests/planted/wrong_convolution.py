"""Wrong derivatives of convolutions and of windows."""
# ruff: noqa: ARG005  every piece takes the weight, the operands and the parameters, whether it reads them or not

from __future__ import annotations

from typing import Any

import mlx.core as mx
import mlx.nn as nn

from audit.verdict import Verdict
from planted.compared import altered
from planted.plant import At, Plant, pulled

_SPECIAL = At(groups=("range", "special"))
# With a stride the gradient of the input has a wrong shape in MLX.
_UNSTRIDED = At(function=r"mx.conv_transpose1d(\((?!stride).*\))?")
# Without images MLX has no gradient of the kernel.
_IMAGES = At(empty=False)
_WRONG, _SIGN, _NONZERO = Verdict.WRONG, Verdict.SIGN, Verdict.NONZERO


def _cut(changed: str) -> Any:
    """A convolution with one parameter ignored, cut to the size that is due."""

    def convolution(x: mx.array, w: mx.array, **parameters: Any) -> mx.array:
        due = mx.conv1d(x, w, **parameters).shape[1]
        given: Any = parameters | {changed: 1}
        return mx.conv1d(x, w, **given)[:, :due]

    return convolution


def _reversed(x: mx.array, w: mx.array, **parameters: Any) -> mx.array:
    return mx.conv1d(x, w[:, ::-1], **parameters)


def _other_group(x: mx.array, w: mx.array, groups: int, **parameters: Any) -> mx.array:
    return mx.conv1d(mx.roll(x, x.shape[-1] // groups, -1), w, groups=groups, **parameters)


def _turned(x: mx.array, w: mx.array, **parameters: Any) -> mx.array:
    return mx.conv2d(x, mx.swapaxes(w, 1, 2) if w.shape[1] == w.shape[2] else w, **parameters)


def _mean_pool(x: mx.array, **windows: Any) -> mx.array:
    return nn.AvgPool1d(**windows)(x)


def _without_edges(own: Any, w: mx.array, x: mx.array, kernel_size: Any, stride: Any, padding: Any) -> mx.array:
    return own(w * (mx.arange(w.shape[1]) > 0)[:, None])


WRONG_CONVOLUTION = (
    Plant("kernel not reversed", "mx.conv1d", {"x": pulled(_reversed, 0)}, named=_SIGN, at=_IMAGES),
    Plant(
        "gradient of the kernel reversed",
        "mx.conv1d",
        {"w": lambda own, w, *rest, **p: own()[:, ::-1]},
        named=_SIGN,
        at=_IMAGES,
    ),
    Plant(
        "stride ignored",
        "mx.conv1d",
        {"x": pulled(_cut("stride"), 0)},
        named=_SIGN,
        at=_IMAGES,
        only=lambda row: "stride" in row["function"],
    ),
    Plant(
        "dilation ignored",
        "mx.conv1d",
        {"w": pulled(_cut("dilation"), 1)},
        named=_SIGN,
        at=_IMAGES,
        only=lambda row: "dilation" in row["function"],
    ),
    Plant(
        "each group reads its neighbour",
        "mx.conv1d",
        {"w": pulled(_other_group, 1)},
        named=_SIGN,
        at=_IMAGES,
        only=lambda row: "groups" in row["function"],
    ),
    Plant(
        "off by the padding",
        "mx.conv1d",
        {"x": lambda own, w, x, k, padding, **p: mx.roll(own(), padding, 1)},
        named=_WRONG,
        at=_IMAGES,
        only=lambda row: "padding" in row["function"],
    ),
    Plant(
        "batch averaged",
        "mx.conv1d",
        {"w": lambda own, w, x, *rest, **p: own() / max(x.shape[0], 1)},
        named=_WRONG,
        at=_IMAGES,
    ),
    Plant("axes of the kernel exchanged", "mx.conv2d", {"x": pulled(_turned, 0)}, named=_SIGN),
    Plant(
        "axes of the image exchanged",
        "mx.conv2d",
        {"x": lambda own, w, x, *rest, **p: mx.swapaxes(own(), 1, 2)},
        named=_SIGN,
    ),
    Plant(
        "flip ignored",
        "mx.conv_general",
        {"x": altered("mx.conv_general", "x", flip=False)},
        named=_SIGN,
        at=At(function=r"mx.conv_general\((?!stride=2, kernel_dilation=2).*flip=True\)"),
        only=lambda row: "flip" in row["function"],
    ),
    Plant(
        "kernel reversed",
        "mx.conv_transpose1d",
        {"w": lambda own, w, *rest, **p: own()[:, ::-1]},
        named=_SIGN,
        at=_UNSTRIDED,
    ),
    Plant(
        "off by one",
        "mx.conv_transpose1d",
        {"x": lambda own, w, x, *rest, **p: own(mx.roll(w, 1, 1))},
        named=_SIGN,
        at=_UNSTRIDED,
    ),
    Plant(
        "correlation in place of convolution",
        "mx.convolve",
        {"a": pulled(lambda a, v, mode: mx.convolve(a, v[::-1], mode), 0)},
        named=_SIGN,
    ),
    Plant("arguments exchanged", "mx.convolve", {"v": lambda own, w, a, v, mode: own()[::-1]}, named=_SIGN),
    Plant(
        "misses 1/k",
        "nn.AvgPool1d",
        {"x": lambda own, w, x, kernel_size, **p: own() * kernel_size},
        named=_WRONG,
        at=_SPECIAL,
    ),
    Plant("off by one window", "nn.AvgPool1d", {"x": _without_edges}, named=Verdict.VANISHED, at=_SPECIAL),
    Plant("mean in place of the largest", "nn.MaxPool1d", {"x": pulled(_mean_pool, 0)}, named=_NONZERO, at=_SPECIAL),
    Plant(
        "tangents averaged over the window",
        "nn.MaxPool1d",
        jvp={"x": lambda own, t, x, **p: _mean_pool(t, **p)},
        named=_WRONG,
        at=At(("vjp", "jvp"), groups=("range", "special")),
    ),
)
