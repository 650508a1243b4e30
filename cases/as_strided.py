"""Windows over the memory of an array; where they overlap the derivative is a sum.

The array counts as row contiguous, however it is stored.
"""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation


def _strided(x: Any, shape: tuple[int, ...] | None, strides: tuple[int, ...] | None, offset: int) -> Any:
    x = np.asarray(x)
    shape = tuple(x.shape) if shape is None else shape
    if strides is None:
        # Of the new shape: MLX's description says the array's own, which would reach beyond it.
        strides = tuple(int(np.prod(shape[place + 1 :])) for place in range(len(shape)))
    steps = np.tensordot(np.array(strides), np.indices(shape), 1) if shape else np.zeros((), int)
    return x.reshape(-1)[steps + offset]


def _inside(shapes: Any, parameters: Any) -> bool:
    """Whether no window reaches beyond the array."""
    strides, shape = parameters["strides"], parameters["shape"]
    shape = shapes[0] if shape is None else shape
    if len(shape if strides is None else strides) != len(shape):
        return False
    try:
        _strided(np.zeros(shapes[0]), **parameters)
    except (IndexError, ValueError):
        return False
    return True


OPERATIONS = (
    Operation(
        name="mx.as_strided",
        arguments=("x",),
        call=lambda x, shape, strides, offset: mx.as_strided(x, shape, strides, offset),
        body=lambda m, x, shape, strides, offset: _strided(x, shape, strides, offset),  # noqa: ARG005
        shapes=(((6,),), ((2, 3),), ((3, 4),), ((1,),)),
        parameters={
            "shape": ((3, 2), (2, 2), None, (3,)),
            "strides": ((1, 1), (2, 1), None, (0, 2), (2,)),
            "offset": (0, 1, 2),
        },
        tolerance=Tolerance(terms=2, reason="the derivative of a repeated element is a sum in the format"),
        formats=(*REAL_FORMATS, "complex64"),
        valid=_inside,
    ),
)
