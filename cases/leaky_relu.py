"""Rectifiers that let a part of what is negative through."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn

from audit.operation import Homogeneous, Operation, Values

_KINK = {"x": Values(singular=(0.0,))}
_SMALL = (((2, 3),), ((5,),))


def _prelu_layer(x: mx.array, num_parameters: int, init: float) -> mx.array:
    layer = nn.PReLU(num_parameters=num_parameters, init=init)
    layer.set_dtype(x.dtype)
    return layer(x)


def _leaky(m: Any, x: Any, negative_slope: Any = 0.01) -> Any:
    return m.maximum(m.multiply(negative_slope, x), x)


def _prelu(m: Any, x: Any, alpha: Any) -> Any:
    return m.add(m.maximum(x, 0), m.multiply(alpha, m.minimum(x, 0)))


OPERATIONS = (
    Operation(
        name="nn.leaky_relu",
        arguments=("x",),
        call=nn.leaky_relu,
        body=_leaky,
        values=_KINK,
        symmetries=(Homogeneous({"x": 1}),),
        also=("nn.LeakyReLU",),
    ),
    Operation(
        name="nn.leaky_relu[slope]",
        arguments=("x",),
        call=lambda x, negative_slope: nn.LeakyReLU(negative_slope)(x),
        body=_leaky,
        shapes=_SMALL,
        parameters={"negative_slope": (0.25, 0.0)},
        values=_KINK,
        symmetries=(Homogeneous({"x": 1}),),
        formats=("float16", "float32"),
        also=("nn.LeakyReLU",),
        text="nn.LeakyReLU(negative_slope={negative_slope})(x)",
    ),
    Operation(
        name="nn.prelu",
        arguments=("x", "alpha"),
        call=nn.prelu,
        body=_prelu,
        values=_KINK | {"alpha": Values(singular=(0.0, 1.0))},
        symmetries=(Homogeneous({"x": 1}),),
    ),
    Operation(
        name="nn.PReLU",
        arguments=("x",),
        call=_prelu_layer,
        body=lambda m, x, num_parameters, init: _prelu(m, x, init),  # noqa: ARG005
        shapes=(((2, 3),), ((3,),), ((4, 1),), ((0, 3),), ((3, 2),)),
        parameters={"num_parameters": (1, 3, 2), "init": (0.25, 0.5, 2.0)},
        values=_KINK,
        symmetries=(Homogeneous({"x": 1}),),
        valid=lambda shapes, parameters: parameters["num_parameters"] in (1, shapes[0][-1]),
        text="nn.PReLU(num_parameters={num_parameters}, init={init})(x)",
    ),
)
