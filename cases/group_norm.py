"""Normalisation over groups of channels, and over each channel of each instance."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Operation
from cases.layers import weighted

_ROUNDINGS = Tolerance(terms=8, reason="mean, differences, their squares' sum, the root, two products and a sum round")


def _group(
    x: mx.array, weight: mx.array, bias: mx.array, num_groups: int, eps: float, affine: bool, pytorch_compatible: bool
) -> mx.array:
    layer = nn.GroupNorm(num_groups, x.shape[-1], eps=eps, affine=affine, pytorch_compatible=pytorch_compatible)
    return weighted(layer, weight=weight, bias=bias)(x)


def _group_body(
    m: Any,
    x: Any,
    weight: Any,
    bias: Any,
    num_groups: int,
    eps: float,
    affine: bool,
    pytorch_compatible: bool,
) -> Any:
    batch, *rest, dims = x.shape
    # A group is a run of channels in PyTorch, and every so many-th channel in MLX.
    split = (num_groups, dims // num_groups) if pytorch_compatible else (dims // num_groups, num_groups)
    rows = x.reshape(batch, -1, *split)
    axes = (1, 3) if pytorch_compatible else (1, 2)
    centred = m.subtract(rows, m.mean(rows, axes, keepdims=True))
    variance = m.mean(m.square(centred), axes, keepdims=True)
    result = m.multiply(centred, m.rsqrt(m.add(variance, eps))).reshape(batch, *rest, dims)
    return m.add(m.multiply(weight, result), bias) if affine else result


def _instance(x: mx.array, weight: mx.array, bias: mx.array, eps: float, affine: bool) -> mx.array:
    return weighted(nn.InstanceNorm(x.shape[-1], eps=eps, affine=affine), weight=weight, bias=bias)(x)


def _instance_body(m: Any, x: Any, weight: Any, bias: Any, eps: float, affine: bool) -> Any:
    axes = tuple(range(1, x.ndim - 1))
    centred = m.subtract(x, m.mean(x, axes, keepdims=True))
    variance = m.mean(m.square(centred), axes, keepdims=True)
    result = m.multiply(centred, m.rsqrt(m.add(variance, eps)))
    return m.add(m.multiply(weight, result), bias) if affine else result


OPERATIONS = (
    Operation(
        name="nn.GroupNorm",
        arguments=("x", "weight", "bias"),
        call=_group,
        body=_group_body,
        shapes=(((2, 2, 4), (4,), (4,)), ((1, 3, 2), (2,), (2,)), ((1, 2, 2, 4), (4,), (4,)), ((2, 4), (4,), (4,))),
        parameters={
            "num_groups": (2, 1, 4),
            "eps": (1e-5, 0.25, 2.0),
            "affine": (True, False),
            "pytorch_compatible": (False, True),
        },
        tolerance=_ROUNDINGS,
        valid=lambda shapes, parameters: shapes[0][-1] % parameters["num_groups"] == 0,
        slow=True,
        text="nn.GroupNorm({num_groups}, x.shape[-1], {eps}, {affine}, {pytorch_compatible})"
        ".update({{'weight': weight, 'bias': bias}}, strict=False)(x)",
    ),
    Operation(
        name="nn.InstanceNorm",
        arguments=("x", "weight", "bias"),
        call=_instance,
        body=_instance_body,
        shapes=(((2, 3, 2), (2,), (2,)), ((1, 2, 2, 2), (2,), (2,)), ((1, 5, 1), (1,), (1,))),
        parameters={"eps": (1e-5, 0.25, 2.0), "affine": (False, True)},
        tolerance=_ROUNDINGS,
        slow=True,
        text="nn.InstanceNorm(x.shape[-1], {eps}, {affine})"
        ".update({{'weight': weight, 'bias': bias}}, strict=False)(x)",
    ),
)
