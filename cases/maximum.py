"""The larger and the smaller of two numbers, which meet in kinks at ties."""

import mlx.core as mx

from audit.operation import Operation, Values

_ZERO = {"a": Values(singular=(0.0,)), "b": Values(singular=(0.0,))}

OPERATIONS = (
    Operation(
        name="mx.maximum",
        arguments=("a", "b"),
        call=mx.maximum,
        body=lambda m, a, b: m.maximum(a, b),
        values=_ZERO,
        mixed=True,
        slow=True,
    ),
    Operation(
        name="mx.minimum",
        arguments=("a", "b"),
        call=mx.minimum,
        body=lambda m, a, b: m.minimum(a, b),
        values=_ZERO,
        mixed=True,
        slow=True,
    ),
    Operation(
        name="mx.maximum(a Python number)",
        arguments=("a",),
        call=lambda a, number: mx.maximum(a, number),
        body=lambda m, a, number: m.maximum(a, number),
        parameters={"number": (0.0, 1.5, -2)},
        values={"a": Values(singular=(-2.0, 0.0, 1.5))},
        text="mx.maximum(a, {number})",
    ),
    Operation(
        name="mx.minimum(a Python number)",
        arguments=("a",),
        call=lambda a, number: mx.minimum(number, a),
        body=lambda m, a, number: m.minimum(number, a),
        parameters={"number": (0.0, 1.5, -2)},
        values={"a": Values(singular=(-2.0, 0.0, 1.5))},
        text="mx.minimum({number}, a)",
    ),
)
