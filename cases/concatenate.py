"""Arrays put one after another along an axis, or along a new one."""

from __future__ import annotations

import mlx.core as mx
import numpy as np

from audit.operation import REAL_FORMATS, Operation
from cases.fitting import numpy_allows

_ALL = (*REAL_FORMATS, "complex64")
_CONCATENATED = (
    ((2, 3), (1, 3), (2, 3)),
    ((2, 1), (2, 3), (2, 2)),
    ((3,), (2,), (0,)),
    ((1, 2, 2), (1, 1, 2), (1, 2, 2)),
)
_STACKED = (((2, 3), (2, 3), (2, 3)), ((2,), (2,), (2,)), ((), (), ()), ((0, 2), (0, 2), (0, 2)))

OPERATIONS = (
    Operation(
        name="mx.concatenate",
        arguments=("a", "b", "c"),
        call=lambda a, b, c, axis: mx.concatenate([a, b, c], axis),
        body=lambda m, a, b, c, axis: np.concatenate([a, b, c], axis),  # noqa: ARG005
        shapes=_CONCATENATED,
        parameters={"axis": (0, 1, -1, -2, None)},
        formats=_ALL,
        also=("mx.concat",),
        valid=numpy_allows(lambda *arrays, axis: np.concatenate(arrays, axis)),
        mixed=True,
        text="mx.concatenate([a, b, c], axis={axis})",
    ),
    Operation(
        name="mx.concatenate[twice]",
        arguments=("a", "b"),
        call=lambda a, b: mx.concatenate([a, b, a], axis=1),
        body=lambda m, a, b: np.concatenate([a, b, a], axis=1),  # noqa: ARG005
        shapes=(((2, 1), (2, 2)),),
        formats=_ALL,
        text="mx.concatenate([a, b, a], axis=1)",
        note="One array in two places: its derivative is a sum.",
    ),
    Operation(
        name="mx.stack",
        arguments=("a", "b", "c"),
        call=lambda a, b, c, axis: mx.stack([a, b, c], axis),
        body=lambda m, a, b, c, axis: np.stack([a, b, c], axis or 0),  # noqa: ARG005
        shapes=_STACKED,
        parameters={"axis": (0, 1, -1, -2, None)},
        formats=_ALL,
        valid=numpy_allows(lambda *arrays, axis: np.stack(arrays, axis or 0)),
        mixed=True,
        text="mx.stack([a, b, c], axis={axis})",
    ),
)
