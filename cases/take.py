"""Elements taken along an axis, or from the flat array."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation
from cases.fitting import numpy_allows
from cases.indices import Indices, to_mlx, to_numpy

_ALL = (*REAL_FORMATS, "complex64")
_SUM = Tolerance(terms=4, reason="the derivative of an element taken several times is a sum in the format, one by one")
_LONG = ((2, 1),)
_MANY = Indices((0,), repeat=4096)


def _taken(x: Any, indices: Any, axis: int | None) -> Any:
    return np.take(np.asarray(x), to_numpy(indices), axis)


def _along(x: Any, indices: Any, axis: int | None) -> Any:
    return np.take_along_axis(np.asarray(x), to_numpy(indices), axis)


def _fits_along(shapes: Any, parameters: Any) -> bool:
    """An axis of the array that the indices have too, all others of the same size or of one."""
    axis, indices, shape = parameters["axis"], to_numpy(parameters["indices"]), shapes[0]
    if axis is None:
        return indices.ndim == 1 and numpy_allows(_along)(shapes, parameters)
    return indices.ndim == len(shape) and numpy_allows(_along)(shapes, parameters)


OPERATIONS = (
    Operation(
        name="mx.take",
        arguments=("x",),
        call=lambda x, indices, axis: mx.take(x, to_mlx(indices), axis),
        body=lambda m, x, indices, axis: _taken(x, indices, axis),  # noqa: ARG005
        shapes=(((3, 4),), ((5,),), ((2, 1, 3),)),
        parameters={
            "axis": (1, None, 0, -1),
            "indices": (Indices((2, 0, 1, 2)), 1, -1, Indices(((0, 2), (2, -1))), Indices((1,)), _MANY),
        },
        tolerance=_SUM,
        formats=_ALL,
        # The long array of indices is for the long shape alone.
        valid=lambda s, p: (s == _LONG) == (p["indices"] is _MANY) and numpy_allows(_taken)(s, p),
        long=(_LONG,),
    ),
    Operation(
        name="mx.take_along_axis",
        arguments=("x",),
        call=lambda x, indices, axis: mx.take_along_axis(x, to_mlx(indices), axis),
        body=lambda m, x, indices, axis: _along(x, indices, axis),  # noqa: ARG005
        shapes=(((3, 2),), ((4,),), ((2, 1, 2),), ((3, 1),)),
        parameters={
            "axis": (0, 1, -1, None),
            "indices": (
                Indices(((2, 0), (1, 1), (2, 2), (0, 2))),
                Indices(((1, 0, 0), (1, 1, 0), (0, 0, -1))),
                Indices(((2, -1),)),
                Indices((2, 0, 1, 1, -1)),
                Indices((((1, 0),), ((1, 1),))),
            ),
        },
        tolerance=_SUM,
        formats=_ALL,
        valid=_fits_along,
    ),
)
