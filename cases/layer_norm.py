"""Normalisation by mean and variance."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Operation, Permutation
from cases.layers import weighted

_ROUNDINGS = Tolerance(terms=8, reason="mean, differences, their squares' sum, the root, two products and a sum round")


def _layer(x: mx.array, weight: mx.array, bias: mx.array, eps: float, affine: bool, add: bool) -> mx.array:
    return weighted(nn.LayerNorm(x.shape[-1], eps=eps, affine=affine, bias=add), weight=weight, bias=bias)(x)


def _normalised(m: Any, x: Any, weight: Any, bias: Any, eps: float, affine: bool, add: bool) -> Any:
    return m.layer_norm(x, weight if affine else None, bias if affine and add else None, eps)


def _many_rows(bias: mx.array) -> mx.array:
    ones = mx.ones((4096, 2), bias.dtype)
    return mx.fast.layer_norm(ones, ones[0], bias, 1.0).astype(mx.float32).sum(0).astype(bias.dtype)


OPERATIONS = (
    Operation(
        name="mx.fast.layer_norm",
        arguments=("x", "weight", "bias"),
        call=mx.fast.layer_norm,
        body=lambda m, x, weight, bias, eps: m.layer_norm(x, weight, bias, eps),
        shapes=(((2, 4), (4,), (4,)), ((3,), (3,), (3,)), ((2, 1, 1), (1,), (1,))),
        parameters={"eps": (1e-5, 0.25, 2.0)},
        symmetries=(Permutation(("x", "weight", "bias"), out_axis=-1),),
        tolerance=_ROUNDINGS,
        long=(((1, 512), (512,), (512,)),),
    ),
    Operation(
        name="mx.fast.layer_norm[no bias]",
        arguments=("x", "weight"),
        call=lambda x, weight, bias, eps: mx.fast.layer_norm(x, weight, bias, eps),
        body=lambda m, x, weight, bias, eps: m.layer_norm(x, weight, bias, eps),
        shapes=(((2, 3), (3,)), ((5,), (5,))),
        parameters={"bias": (None,), "eps": (0.125, 1e-5)},
        tolerance=_ROUNDINGS,
        text="mx.fast.layer_norm(x, weight, {bias}, {eps})",
    ),
    Operation(
        name="mx.fast.layer_norm[plain]",
        arguments=("x",),
        call=lambda x, weight, bias, eps: mx.fast.layer_norm(x, weight, bias, eps),
        body=lambda m, x, weight, bias, eps: m.layer_norm(x, weight, bias, eps),
        shapes=(((2, 3),), ((5,),)),
        parameters={"weight": (None,), "bias": (None,), "eps": (0.125, 1e-5)},
        tolerance=_ROUNDINGS,
        text="mx.fast.layer_norm(x, {weight}, {bias}, {eps})",
    ),
    Operation(
        name="mx.fast.layer_norm[many rows]",
        arguments=("bias",),
        call=_many_rows,
        body=lambda m, bias: m.multiply(bias, 4096),
        shapes=(((2,),),),
        tolerance=Tolerance(terms=2, reason="the rows are added in float32, where no sum of them rounds"),
        formats=("float16", "bfloat16"),
        text="mx.fast.layer_norm(mx.ones((4096, 2), bias.dtype), mx.ones(2, bias.dtype), bias, 1.0)"
        ".astype(mx.float32).sum(0).astype(bias.dtype)",
    ),
    Operation(
        name="nn.LayerNorm",
        arguments=("x", "weight", "bias"),
        call=_layer,
        body=_normalised,
        shapes=(((2, 3), (3,), (3,)),),
        parameters={"eps": (1e-5, 0.25, 2.0), "affine": (True, False), "add": (True, False)},
        tolerance=_ROUNDINGS,
        text="mx.fast.layer_norm(x, weight if {affine} else None, bias if {affine} and {add} else None, {eps})",
    ),
)
