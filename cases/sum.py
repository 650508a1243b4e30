"""Sums and means along axes."""

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Homogeneous, Operation, Permutation, Values
from cases.fitting import axes_fit, nonempty_axes_fit

_SHAPES = (((2, 3),), ((3,),), ((1, 4),), ((2, 0),), ((2, 3, 2),))
_ALL = (*REAL_FORMATS, "complex64")
_SUM = Tolerance(terms=2, reason="a sum in the format rounds once an addition, pairwise in MLX")

OPERATIONS = (
    Operation(
        name="mx.sum",
        arguments=("x",),
        call=lambda x, axis, keepdims: mx.sum(x, axis=axis, keepdims=keepdims),
        body=lambda m, x, axis, keepdims: m.sum(x, axis, keepdims=keepdims),
        shapes=_SHAPES,
        parameters={"axis": (None, 0, -1, (0, 1)), "keepdims": (False, True)},
        symmetries=(Homogeneous({"x": 1}), Permutation(("x",), axis=-1)),
        tolerance=_SUM,
        formats=_ALL,
        also=("mx.array.sum",),
        valid=axes_fit,
        long=(((2304,),),),
    ),
    Operation(
        name="mx.mean",
        arguments=("x",),
        call=lambda x, axis, keepdims: mx.mean(x, axis=axis, keepdims=keepdims),
        body=lambda m, x, axis, keepdims: m.mean(x, axis, keepdims=keepdims),
        shapes=_SHAPES,
        parameters={"axis": (None, 0, -1, (0, 1)), "keepdims": (False, True)},
        # Numbers of which the mean is in the range of a format and the sum is not.
        values={"x": Values(singular=(57344.0, 2.0**127))},
        symmetries=(Homogeneous({"x": 1}), Permutation(("x",), axis=-1)),
        tolerance=_SUM,
        formats=_ALL,
        also=("mx.array.mean",),
        valid=nonempty_axes_fit,
        long=(((2304,),),),
    ),
)
