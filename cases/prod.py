"""Products along axes: the derivative by one factor is the product of the others, however many of them are zero."""

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation, Permutation, Values
from cases.fitting import axes_fit

OPERATIONS = (
    Operation(
        name="mx.prod",
        arguments=("x",),
        call=lambda x, axis, keepdims: mx.prod(x, axis=axis, keepdims=keepdims),
        body=lambda m, x, axis, keepdims: m.prod(x, axis, keepdims=keepdims),
        shapes=(((2, 3),), ((2, 2),), ((4,),), ((1, 3),), ((2, 1),), ((2, 0),), ((2, 3, 2),), ((),)),
        parameters={"axis": (-1, None, 0, (0, 1)), "keepdims": (False, True)},
        values={"x": Values(singular=(0.0, 1.0, -1.0))},
        symmetries=(Permutation(("x",), axis=-1),),
        tolerance=Tolerance(terms=4, reason="a product in the format rounds once a factor"),
        formats=(*REAL_FORMATS, "complex64"),
        also=("mx.array.prod",),
        valid=axes_fit,
    ),
)
