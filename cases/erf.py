"""The error function and its inverse."""

import mlx.core as mx

from audit.operation import Operation, Parity, Values

OPERATIONS = (
    Operation(
        name="mx.erf",
        arguments=("x",),
        call=mx.erf,
        body=lambda m, x: m.erf(x),
        values={"x": Values(singular=(0.0,))},
        symmetries=(Parity(("x",), -1),),
    ),
    Operation(
        name="mx.erfinv",
        arguments=("x",),
        call=mx.erfinv,
        body=lambda m, x: m.erfinv(x),
        values={"x": Values(low=-1.0, high=1.0, singular=(-1.0, 0.0, 1.0))},
        symmetries=(Parity(("x",), -1),),
    ),
)
