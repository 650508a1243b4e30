"""Absolute values."""

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Homogeneous, Operation, Parity, Values

OPERATIONS = (
    Operation(
        name="mx.abs",
        arguments=("x",),
        call=mx.abs,
        body=lambda m, x: m.abs(x),
        values={"x": Values(singular=(0.0,))},
        symmetries=(Homogeneous({"x": 1}), Parity(("x",), 1)),
        tolerance=Tolerance(terms=2, reason="of a complex number, two rounded products add up along a tangent"),
        formats=(*REAL_FORMATS, "complex64"),
        result="real",
        also=("mx.array.abs", "mx.array.__abs__"),
    ),
)
