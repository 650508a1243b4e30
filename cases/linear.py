"""Linear and bilinear layers, the identity, and layers one after another."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Values
from cases.layers import weighted

# Products of three stay within every format.
_NEAR = Values(exponents=(-4, 3))
_SUM = Tolerance(terms=4, reason="products are added one after another, and then the bias")


def _linear(x: mx.array, weight: mx.array, bias: mx.array, add: bool) -> mx.array:
    return weighted(nn.Linear(weight.shape[1], weight.shape[0], bias=add), weight=weight, bias=bias)(x)


def _linear_body(m: Any, x: Any, weight: Any, bias: Any, add: bool) -> Any:
    result = m.matmul(x, weight.T)
    return m.add(result, bias) if add else result


def _bilinear(x1: mx.array, x2: mx.array, weight: mx.array, bias: mx.array, add: bool) -> mx.array:
    outputs, second, first = weight.shape
    return weighted(nn.Bilinear(first, second, outputs, bias=add), weight=weight, bias=bias)(x1, x2)


def _bilinear_body(m: Any, x1: Any, x2: Any, weight: Any, bias: Any, add: bool) -> Any:
    result = m.einsum("...i,...j,oji->...o", x1, x2, weight)
    return m.add(result, bias) if add else result


def _sequential(x: mx.array, weight: mx.array, bias: mx.array) -> mx.array:
    layer = weighted(nn.Linear(weight.shape[1], weight.shape[0]), weight=weight, bias=bias)
    return nn.Sequential(layer, nn.ReLU(), layer, mx.square)(x)


def _sequential_body(m: Any, x: Any, weight: Any, bias: Any) -> Any:
    hidden = m.maximum(_linear_body(m, x, weight, bias, add=True), 0)
    return m.square(_linear_body(m, hidden, weight, bias, add=True))


OPERATIONS = (
    Operation(
        name="nn.Linear",
        arguments=("x", "weight", "bias"),
        call=_linear,
        body=_linear_body,
        shapes=(((2, 3), (2, 3), (2,)), ((3,), (1, 3), (1,)), ((2, 1, 2), (3, 2), (3,)), ((0, 2), (2, 2), (2,))),
        parameters={"add": (True, False)},
        tolerance=_SUM,
        long=(((1, 2304), (1, 2304), (1,)),),
        text="x @ weight.T + bias * {add}",
    ),
    Operation(
        name="nn.Bilinear",
        arguments=("x1", "x2", "weight", "bias"),
        call=_bilinear,
        body=_bilinear_body,
        values=dict.fromkeys(("x1", "x2", "weight", "bias"), _NEAR),
        shapes=(
            ((2, 2), (2, 3), (2, 3, 2), (2,)),
            ((2,), (2,), (1, 2, 2), (1,)),
            ((1, 2, 1), (1, 2, 2), (2, 2, 1), (2,)),
        ),
        parameters={"add": (True, False)},
        tolerance=_SUM,
        slow=True,
        text="mx.einsum('...i,...j,oji->...o', x1, x2, weight) + bias * {add}",
    ),
    Operation(
        name="nn.Identity",
        arguments=("x",),
        call=lambda x: nn.Identity()(x),
        body=lambda m, x: x,  # noqa: ARG005
        shapes=(((2, 3),), ((0,),)),
        symmetries=(Homogeneous({"x": 1}),),
        text="nn.Identity()(x)",
    ),
    Operation(
        name="nn.Sequential",
        arguments=("x", "weight", "bias"),
        call=_sequential,
        body=_sequential_body,
        values=dict.fromkeys(("x", "weight", "bias"), _NEAR),
        shapes=(((2, 2), (2, 2), (2,)),),
        tolerance=Tolerance(terms=8, reason="two linear layers and a square round one after another"),
        slow=True,
        text="mx.square(nn.relu(x @ weight.T + bias) @ weight.T + bias)",
    ),
)
