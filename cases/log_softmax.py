"""Elements less the logarithm of the sum of the exponentials."""

import mlx.nn as nn

from audit.operation import Operation, Permutation, Shift
from cases.fitting import nonempty_axes_fit
from cases.tolerances import SHIFTED_EXPONENTIALS

OPERATIONS = (
    Operation(
        name="nn.log_softmax",
        arguments=("x",),
        call=lambda x, axis: nn.log_softmax(x, axis=axis),
        body=lambda m, x, axis: m.log_softmax(x, axis),
        shapes=(((2, 3),), ((4,),), ((1, 3),), ((1,),), ((2, 3, 2),)),
        parameters={"axis": (-1, 0, 1)},
        symmetries=(Shift("x"), Permutation(("x",), axis=-1, out_axis=-1)),
        tolerance=SHIFTED_EXPONENTIALS,
        also=("nn.LogSoftmax",),
        valid=nonempty_axes_fit,
        long=(((512,),),),
    ),
    Operation(
        name="nn.log_softmax[rows of one element]",
        arguments=("x",),
        call=lambda x, axis: nn.log_softmax(x, axis=axis),
        body=lambda m, x, axis: m.log_softmax(x, axis),
        shapes=(((1, 1),),),
        parameters={"axis": (-1,)},
        formats=("float32",),
        orders=1,
        deadly=True,
        text="nn.log_softmax(x, axis={axis})",
    ),
)
