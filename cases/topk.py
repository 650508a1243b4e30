"""The k largest elements. Their order is not promised: they are sorted before they are compared."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import Homogeneous, Operation, Permutation, Shift
from cases.fitting import axes_fit


def _has_as_many(shapes: Any, parameters: Any) -> bool:
    if not axes_fit(shapes, parameters):
        return False
    axis = parameters["axis"]
    return parameters["k"] <= (int(np.prod(shapes[0])) if axis is None else shapes[0][axis])


OPERATIONS = (
    Operation(
        name="mx.topk",
        arguments=("x",),
        call=lambda x, k, axis: mx.sort(mx.topk(x, k, axis), 0 if axis is None else axis),
        body=lambda m, x, k, axis: m.topk(np.asarray(x), k, axis),
        shapes=(((2, 3),), ((4,),), ((3, 2),), ((1, 1),), ((2, 3, 1),)),
        parameters={"k": (2, 1, 3, 4), "axis": (-1, None, 0, 1)},
        symmetries=(Homogeneous({"x": 1}), Shift("x", gain=1), Permutation(("x",), axis=-1)),
        valid=_has_as_many,
        text="mx.sort(mx.topk(x, {k}, {axis}))",
    ),
)
