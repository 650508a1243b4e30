"""The logistic function."""

import mlx.core as mx

from audit.operation import Operation, Values

OPERATIONS = (
    Operation(
        name="mx.sigmoid",
        arguments=("x",),
        call=mx.sigmoid,
        body=lambda m, x: m.sigmoid(x),
        # Besides zero, where exp(-x) leaves float16, float32 and bfloat16, and float64.
        values={"x": Values(singular=(0.0, 12.0, -12.0, 96.0, -96.0, 768.0, -768.0))},
        also=("nn.sigmoid", "nn.Sigmoid"),
    ),
)
