"""Elements shifted round, and axes turned back to front."""

from __future__ import annotations

import mlx.core as mx
import numpy as np

from audit.operation import REAL_FORMATS, Operation
from cases.fitting import axes_fit, numpy_allows

_ALL = (*REAL_FORMATS, "complex64")

OPERATIONS = (
    Operation(
        name="mx.roll",
        arguments=("x",),
        call=lambda x, shift, axis: mx.roll(x, shift, axis),
        body=lambda m, x, shift, axis: np.roll(np.asarray(x), shift, axis),  # noqa: ARG005
        shapes=(((3, 4),), ((5,),), ((1, 3),), ((0, 2),), ((2, 3, 2),)),
        parameters={"shift": (1, -2, 5, (1, 2)), "axis": (None, 0, -1, (1, 0))},
        formats=_ALL,
        # Several shifts without axes are one shift by their sum in NumPy; MLX has no such meaning.
        valid=lambda s, p: not (p["axis"] is None and isinstance(p["shift"], tuple)) and numpy_allows(np.roll)(s, p),
    ),
    Operation(
        name="mx.flip",
        arguments=("x",),
        call=lambda x, axis: mx.flip(x, axis),
        body=lambda m, x, axis: np.flip(np.asarray(x), axis),  # noqa: ARG005
        shapes=(((2, 3),), ((3,),), ((1, 2),), ((0, 2),), ((2, 1, 3),), ((),)),
        parameters={"axis": (None, 0, -1, (0, 1), (0, 2))},
        formats=_ALL,
        valid=axes_fit,
    ),
)
