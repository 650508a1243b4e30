"""Normalisation by the root of the mean square."""

import mlx.core as mx
import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Permutation
from cases.layers import weighted

_ROUNDINGS = Tolerance(terms=4, reason="the squares' sum, the root and two products round")


def _layer(x: mx.array, weight: mx.array, eps: float) -> mx.array:
    return weighted(nn.RMSNorm(x.shape[-1], eps=eps), weight=weight)(x)


def _many_rows(weight: mx.array) -> mx.array:
    rows = mx.fast.rms_norm(mx.ones((4096, 2), weight.dtype), weight, 0.0)
    return rows.astype(mx.float32).sum(0).astype(weight.dtype)


OPERATIONS = (
    Operation(
        name="mx.fast.rms_norm",
        arguments=("x", "weight"),
        call=mx.fast.rms_norm,
        body=lambda m, x, weight, eps: m.rms_norm(x, weight, eps),
        shapes=(((2, 4), (4,)), ((3,), (3,)), ((2, 1, 1), (1,))),
        parameters={"eps": (1e-5, 0.25, 2.0)},
        symmetries=(Homogeneous({"weight": 1}), Permutation(("x", "weight"), out_axis=-1)),
        tolerance=_ROUNDINGS,
        long=(((1, 512), (512,)),),
    ),
    Operation(
        name="mx.fast.rms_norm[many rows]",
        arguments=("weight",),
        call=_many_rows,
        # Every row is one over itself times the weight.
        body=lambda m, weight: m.multiply(weight, 4096),
        shapes=(((2,),),),
        tolerance=Tolerance(terms=2, reason="the rows are added in float32, where no sum of them rounds"),
        formats=("float16", "bfloat16"),
        text="mx.fast.rms_norm(mx.ones((4096, 2), weight.dtype), weight, 0.0)"
        ".astype(mx.float32).sum(0).astype(weight.dtype)",
    ),
    Operation(
        name="mx.fast.rms_norm[no weight]",
        arguments=("x",),
        call=lambda x, weight, eps: mx.fast.rms_norm(x, weight, eps),
        body=lambda m, x, weight, eps: m.rms_norm(x, weight, eps),
        shapes=(((2, 3),), ((5,),)),
        parameters={"weight": (None,), "eps": (1e-5, 0.5)},
        text="mx.fast.rms_norm(x, {weight}, {eps})",
        symmetries=(Permutation(("x",), out_axis=-1),),
        tolerance=_ROUNDINGS,
    ),
    Operation(
        name="nn.RMSNorm",
        arguments=("x", "weight"),
        call=_layer,
        body=lambda m, x, weight, eps: m.rms_norm(x, weight, eps),
        shapes=(((2, 3), (3,)),),
        parameters={"eps": (1e-5, 0.25, 2.0)},
        tolerance=_ROUNDINGS,
        text="mx.fast.rms_norm(x, weight, {eps})",
    ),
)
