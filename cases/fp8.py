"""Eight-bit floating point (4 bits of exponent, 3 of fraction), between 1 and 2, where its numbers are 1/8 apart."""

from typing import Any

import mlx.core as mx

from audit.operation import Operation, Values

_VALUES = {"x": Values(low=1.0, high=1.9375)}
_SHAPES = (((2, 3),), ((),), ((5,),), ((0,),))


def _eighths(m: Any, x: Any) -> Any:
    return m.round(m.multiply(x, 8))


OPERATIONS = (
    Operation(
        name="mx.to_fp8",
        arguments=("x",),
        call=lambda x: mx.to_fp8(x).astype(x.dtype),
        # 1 is 0x38 = 56, and one eighth more is the next number.
        body=lambda m, x: m.add(_eighths(m, x), 48),
        shapes=_SHAPES,
        values=_VALUES,
        text="mx.to_fp8(x).astype(x.dtype)",
    ),
    Operation(
        name="mx.from_fp8",
        arguments=("x",),
        call=lambda x, dtype: mx.from_fp8(mx.to_fp8(x), dtype).astype(x.dtype),
        body=lambda m, x, dtype: m.divide(_eighths(m, x), 8),  # noqa: ARG005
        shapes=_SHAPES,
        parameters={"dtype": (mx.bfloat16, mx.float32, mx.float16)},
        values=_VALUES,
        text="mx.from_fp8(mx.to_fp8(x), {dtype}).astype(x.dtype)",
    ),
)
