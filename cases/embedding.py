"""Embeddings: rows of a matrix by number, and the matrix as a linear layer."""

import mlx.core as mx
import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation
from cases.indices import Indices
from cases.layers import weighted

_SUM = Tolerance(terms=2, reason="cotangents of equal rows, or products, are added")
_MANY = 4096


def _layer(weight: mx.array) -> nn.Embedding:
    return weighted(nn.Embedding(*weight.shape), weight=weight)


def _many(weight: mx.array) -> mx.array:
    rows = _layer(weight)(mx.zeros(_MANY, mx.int32))
    return rows.astype(mx.float32).sum(0).astype(weight.dtype)


OPERATIONS = (
    Operation(
        name="nn.Embedding",
        arguments=("weight",),
        call=lambda weight, x: _layer(weight)(x.mlx),
        body=lambda m, weight, x: weight[x.numpy],  # noqa: ARG005
        shapes=(((4, 3),), ((4, 1),)),
        parameters={"x": (Indices((0, 2, 2)), Indices(((3, 1), (1, 1))), Indices((3, 0, 3, 3, 1)))},
        symmetries=(Homogeneous({"weight": 1}),),
        tolerance=_SUM,
        text="weight[{x}]",
    ),
    Operation(
        name="nn.Embedding[one row many times]",
        arguments=("weight",),
        call=_many,
        body=lambda m, weight: m.multiply(weight[0], _MANY),
        shapes=(((3, 2),),),
        tolerance=Tolerance(terms=2, reason="the rows are added in float32, where no sum of them rounds"),
        formats=("float16", "bfloat16"),
        text="weight[mx.zeros(4096, mx.int32)].astype(mx.float32).sum(0).astype(weight.dtype)",
    ),
    Operation(
        name="nn.Embedding.as_linear",
        arguments=("x", "weight"),
        call=lambda x, weight: _layer(weight).as_linear(x),
        body=lambda m, x, weight: m.matmul(x, weight.T),
        shapes=(((2, 3), (4, 3)), ((3,), (2, 3)), ((2, 1, 2), (3, 2))),
        symmetries=(Homogeneous({"x": 1, "weight": 1}),),
        tolerance=_SUM,
        long=(((1, 2304), (1, 2304)),),
        text="x @ weight.T",
    ),
)
