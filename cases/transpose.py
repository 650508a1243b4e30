"""Axes in another order. The orders are not their own inverses, so that a rule with the inverse order is seen."""

from __future__ import annotations

import mlx.core as mx
import numpy as np

from audit.operation import REAL_FORMATS, Operation
from cases.fitting import numpy_allows

_ALL = (*REAL_FORMATS, "complex64")
_SHAPES = (((2, 3, 4),), ((2, 3),), ((3,),), ((1, 2, 1),), ((0, 2, 3),))

OPERATIONS = (
    Operation(
        name="mx.transpose",
        arguments=("x",),
        call=lambda x, axes: mx.transpose(x) if axes is None else mx.transpose(x, axes),
        body=lambda m, x, axes: np.transpose(np.asarray(x), axes),  # noqa: ARG005
        shapes=_SHAPES,
        parameters={"axes": ((1, 2, 0), None, (2, 0, 1), (0, -1, 1), (1, 0))},
        formats=_ALL,
        also=("mx.array.transpose", "mx.array.T"),
        valid=numpy_allows(np.transpose),
    ),
    Operation(
        name="mx.permute_dims",
        arguments=("x",),
        call=lambda x, axes: mx.permute_dims(x, axes),
        body=lambda m, x, axes: np.transpose(np.asarray(x), axes),  # noqa: ARG005
        shapes=_SHAPES[:2],
        parameters={"axes": ((1, 2, 0), None, (2, 0, 1))},
        formats=_ALL,
        valid=numpy_allows(np.transpose),
    ),
    Operation(
        name="mx.swapaxes",
        arguments=("x",),
        call=lambda x, axis1, axis2: mx.swapaxes(x, axis1, axis2),
        body=lambda m, x, axis1, axis2: np.swapaxes(np.asarray(x), axis1, axis2),  # noqa: ARG005
        shapes=(((2, 3, 2),), ((2, 3),), ((0, 2),)),
        parameters={"axis1": (0, 1, -3), "axis2": (2, 1, -1)},
        formats=_ALL,
        also=("mx.array.swapaxes",),
        valid=numpy_allows(np.swapaxes),
    ),
    Operation(
        name="mx.moveaxis",
        arguments=("x",),
        call=lambda x, source, destination: mx.moveaxis(x, source, destination),
        body=lambda m, x, source, destination: np.moveaxis(np.asarray(x), source, destination),  # noqa: ARG005
        shapes=(((2, 3, 2),), ((2, 3),), ((0, 2),)),
        parameters={"source": (0, 1, -1), "destination": (2, 0, -2)},
        formats=_ALL,
        also=("mx.array.moveaxis",),
        valid=numpy_allows(np.moveaxis),
    ),
    Operation(
        name="mx.matrix_transpose",
        arguments=("x",),
        call=lambda x: mx.matrix_transpose(x),
        body=lambda m, x: np.swapaxes(x, -1, -2),  # noqa: ARG005
        shapes=(((2, 2, 3),), ((2, 3),), ((1, 3),), ((0, 2),)),
        formats=_ALL,
        also=("mx.array.mT",),
    ),
)
