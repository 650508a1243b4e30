"""Medians along axes: of an even number of elements the mean of the two in the middle."""

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Permutation, Shift
from cases.fitting import nonempty_axes_fit

OPERATIONS = (
    Operation(
        name="mx.median",
        arguments=("x",),
        call=lambda x, axis, keepdims: mx.median(x, axis=axis, keepdims=keepdims),
        body=lambda m, x, axis, keepdims: m.median(x, axis, keepdims=keepdims),
        shapes=(((2, 3),), ((5,),), ((1, 4),), ((2, 1),), ((2, 3, 2),)),
        parameters={"axis": (-1, None, 0, (0, 1)), "keepdims": (False, True)},
        symmetries=(Homogeneous({"x": 1}), Shift("x", gain=1), Permutation(("x",), axis=-1)),
        tolerance=Tolerance(terms=1, reason="the mean of two numbers rounds once"),
        valid=nonempty_axes_fit,
    ),
)
