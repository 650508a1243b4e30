"""Normalisation over a batch: in training and in evaluation, and the statistics that it keeps."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Operation, Permutation
from cases.layers import weighted

_ROUNDINGS = Tolerance(terms=8, reason="mean, differences, their squares' sum, the root, two products and a sum round")
_SHAPES = (((4, 2), (2,), (2,)), ((2, 2, 1), (1,), (1,)), ((1, 2, 2, 2), (2,), (2,)))
# What is used in evaluation; exact in every format.
_MEAN, _VARIANCE = 0.5, 1.75


def _ask(
    x: mx.array, weight: mx.array, bias: mx.array, training: bool, eps: float, affine: bool, track_running_stats: bool
) -> mx.array:
    features = x.shape[-1]
    layer = nn.BatchNorm(features, eps=eps, affine=affine, track_running_stats=track_running_stats)
    layer.train(training)
    weighted(
        layer,
        weight=weight,
        bias=bias,
        running_mean=mx.full((features,), _MEAN, x.dtype),
        running_var=mx.full((features,), _VARIANCE, x.dtype),
    )
    return layer(x)


def _body(
    m: Any, x: Any, weight: Any, bias: Any, training: bool, eps: float, affine: bool, track_running_stats: bool
) -> Any:
    axes = tuple(range(x.ndim - 1))
    if training or not track_running_stats:
        mean, variance = m.mean(x, axes), m.var(x, axes)
    else:
        mean, variance = _MEAN, _VARIANCE
    result = m.multiply(m.subtract(x, mean), m.rsqrt(m.add(variance, eps)))
    return m.add(m.multiply(weight, result), bias) if affine else result


def _statistics(x: mx.array, momentum: float, which: str) -> mx.array:
    layer = nn.BatchNorm(x.shape[-1], momentum=momentum)
    layer.running_mean, layer.running_var = (array.astype(x.dtype) for array in (layer.running_mean, layer.running_var))
    layer(x)
    return layer.running_mean if which == "mean" else layer.running_var


def _kept(m: Any, x: Any, momentum: float, which: str) -> Any:
    axes = tuple(range(x.ndim - 1))
    if which == "mean":
        return m.multiply(momentum, m.mean(x, axes))
    return m.add(1 - momentum, m.multiply(momentum, m.var(x, axes, ddof=1)))


OPERATIONS = (
    Operation(
        name="nn.BatchNorm",
        arguments=("x", "weight", "bias"),
        call=_ask,
        body=_body,
        shapes=_SHAPES,
        parameters={
            "training": (True, False),
            "eps": (1e-5, 0.25, 2.0),
            "affine": (True, False),
            "track_running_stats": (True, False),
        },
        symmetries=(Permutation(("x",), axis=0, out_axis=0),),
        tolerance=_ROUNDINGS,
        slow=True,
        text="nn.BatchNorm(x.shape[-1], eps={eps}, affine={affine}, track_running_stats={track_running_stats})"
        ".train({training}).update({{'weight': weight, 'bias': bias, "
        "'running_mean': mx.full(x.shape[-1], 0.5, x.dtype), "
        "'running_var': mx.full(x.shape[-1], 1.75, x.dtype)}}, strict=False)(x)",
    ),
    Operation(
        name="nn.BatchNorm[statistics]",
        arguments=("x",),
        call=_statistics,
        body=_kept,
        shapes=(((4, 2),), ((2, 2, 1),)),
        parameters={"momentum": (0.125, 0.5, 1.0), "which": ("var", "mean")},
        symmetries=(Permutation(("x",), axis=0),),
        tolerance=_ROUNDINGS,
        text="(lambda layer: (layer(x), layer.running_{which})[1])(nn.BatchNorm(x.shape[-1], momentum={momentum})"
        ".update({{'running_mean': mx.zeros(x.shape[-1], x.dtype), 'running_var': mx.ones(x.shape[-1], x.dtype)}}))",
    ),
)
