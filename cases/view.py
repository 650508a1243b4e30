"""The same bits as another type. Where a view goes through integers, its derivative is zero."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import REAL_FORMATS, Operation, Values

_INTEGERS: dict[str, Any] = {"float16": mx.int16, "bfloat16": mx.int16, "float32": mx.int32, "float64": mx.int64}


def _positive(x: mx.array, dtype: mx.Dtype) -> mx.array:
    """1 where the bits are a positive integer, as those of a positive number are."""
    return (mx.view(x, dtype) > 0).astype(x.dtype)


OPERATIONS = (
    *(
        Operation(
            name=f"mx.view[{name}]",
            arguments=("x",),
            call=lambda x, dtype: mx.view(x, dtype),
            body=lambda m, x, dtype: np.asarray(x),  # noqa: ARG005
            shapes=(((2, 3),), ((),), ((0,),)),
            parameters={"dtype": (getattr(mx, name),)},
            formats=(name,),
            also=("mx.array.view",),
        )
        for name in (*REAL_FORMATS, "complex64")
    ),
    *(
        Operation(
            name=f"mx.view[integers of {name}]",
            arguments=("x",),
            call=lambda x, dtype: _positive(x, dtype),
            body=lambda m, x, dtype: np.full(np.shape(x), 1, object),  # noqa: ARG005
            shapes=(((2, 3),), ((),)),
            parameters={"dtype": (dtype,)},
            formats=(name,),
            values={"x": Values(low=0.0)},
            text="(mx.view(x, {dtype}) > 0).astype(x.dtype)",
        )
        for name, dtype in _INTEGERS.items()
    ),
)
