"""Numbers of one type as those of another. What goes through integers or truth values has the derivative zero."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import REAL_FORMATS, Operation, Values

# Powers of two that the narrowest of the formats holds as normal numbers.
_NARROW = {"x": Values(exponents=(-14, 15))}
_SHAPES = (((2, 3),), ((),), ((0,),))
_METHOD = ("mx.array.astype",)
# Truncation jumps at whole numbers, and truth at zero.
_BETWEEN = {"x": Values(low=0.0, high=1.0)}
_WHOLE: dict[str, Any] = {"int32": mx.int32, "uint8": mx.uint8, "bool": mx.bool_}

OPERATIONS = (
    *(
        Operation(
            name=f"mx.astype[{name}]",
            arguments=("x",),
            call=lambda x, dtype: mx.astype(x, dtype),
            body=lambda m, x, dtype: np.asarray(x),  # noqa: ARG005
            shapes=_SHAPES,
            parameters={"dtype": (getattr(mx, name),)},
            values=_NARROW,
            result=name,
            also=_METHOD,
        )
        for name in REAL_FORMATS
    ),
    Operation(
        name="mx.astype[complex64 of real]",
        arguments=("x",),
        call=lambda x, dtype: mx.astype(x, dtype),
        body=lambda m, x, dtype: np.asarray(x),  # noqa: ARG005
        shapes=_SHAPES,
        parameters={"dtype": (mx.complex64,)},
        formats=("complex64",),
        kinds=("real",),
        result="complex",
    ),
    Operation(
        name="mx.astype[complex64 of complex64]",
        arguments=("x",),
        call=lambda x, dtype: mx.astype(x, dtype),
        body=lambda m, x, dtype: np.asarray(x),  # noqa: ARG005
        shapes=_SHAPES,
        parameters={"dtype": (mx.complex64,)},
        formats=("complex64",),
    ),
    Operation(
        name="mx.astype[real of complex64]",
        arguments=("x",),
        call=lambda x, dtype: mx.astype(x, dtype),
        body=lambda m, x, dtype: m.real(np.asarray(x)),  # noqa: ARG005
        shapes=_SHAPES,
        parameters={"dtype": (mx.float32,)},
        formats=("complex64",),
        result="real",
        note="The imaginary part is dropped.",
    ),
    *(
        Operation(
            name=f"mx.astype[{name}]",
            arguments=("x",),
            call=lambda x, dtype: mx.astype(mx.astype(x, dtype), x.dtype),
            body=lambda m, x, dtype, truth=name == "bool": np.full(np.shape(x), int(truth), object),  # noqa: ARG005
            shapes=_SHAPES,
            parameters={"dtype": (dtype,)},
            values=_BETWEEN,
            text="mx.astype(mx.astype(x, {dtype}), x.dtype)",
            note="Between 0 and 1 every number becomes the whole number 0, and true.",
        )
        for name, dtype in _WHOLE.items()
    ),
)
