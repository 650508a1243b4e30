"""Values put at indices along an axis."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation, Shapes
from cases.indices import Indices, to_mlx, to_numpy


def _put(x: Any, values: Any, indices: Any, axis: int | None) -> Any:
    y = np.array(x, copy=True)
    np.put_along_axis(y, to_numpy(indices), np.asarray(values), axis)
    return y


def _valid(shapes: Shapes, parameters: Any) -> bool:
    """Arrays that NumPy takes too; without an axis the array counts as flat."""
    indices, axis = to_numpy(parameters["indices"]), parameters["axis"]
    if indices.ndim != (1 if axis is None else len(shapes[0])):
        return False
    try:
        _put(np.zeros(shapes[0]), np.zeros(shapes[1]), **parameters)
    except (ValueError, IndexError):
        return False
    return True


OPERATIONS = (
    Operation(
        name="mx.put_along_axis",
        arguments=("a", "values"),
        call=lambda a, values, indices, axis: mx.put_along_axis(a, to_mlx(indices), values, axis),
        body=lambda m, a, values, indices, axis: _put(a, values, indices, axis),  # noqa: ARG005
        shapes=(
            ((3, 2), (2, 2)),
            ((3, 2), (3, 1)),
            ((3, 2), ()),
            ((4,), (3,)),
            ((2, 2), (3,)),
            ((2, 1, 2), (1, 1, 2)),
            ((3, 2), (1, 2)),
        ),
        parameters={
            "axis": (0, 1, -1, None),
            "indices": (
                Indices(((2, 0), (1, 2))),
                Indices(((1,), (0,), (2,))),
                Indices((2, 0, 1)),
                Indices((-1, 0, 1)),
                Indices((((1, 0),),)),
            ),
        },
        tolerance=Tolerance(terms=2, reason="the derivative of a value that is put in several places is a sum"),
        formats=(*REAL_FORMATS, "complex64"),
        valid=_valid,
    ),
)
