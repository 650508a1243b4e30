"""Logarithms of cumulative sums of exponentials."""

import mlx.core as mx
import numpy as np

from audit.operation import Operation, Shift, Values
from cases.scans import all_but_the_last, scanned, without_start, without_start_fits
from cases.tolerances import SHIFTED_EXPONENTIALS

OPERATIONS = (
    Operation(
        name="mx.logcumsumexp",
        arguments=("x",),
        call=lambda x, axis, reverse, inclusive: without_start(
            scanned("logcumsumexp", x, axis, reverse, inclusive), axis, reverse, inclusive
        ),
        body=lambda m, x, axis, reverse, inclusive: m.logcumsumexp(
            all_but_the_last(np.asarray(x), axis, reverse, inclusive), axis, reverse=reverse
        ),
        shapes=(((2, 3),), ((4,),), ((1, 3),), ((2, 1),), ((2, 3, 2),)),
        parameters={"axis": (-1, None, 0), "reverse": (False, True), "inclusive": (True, False)},
        symmetries=(Shift("x", gain=1),),
        tolerance=SHIFTED_EXPONENTIALS,
        also=("mx.array.logcumsumexp",),
        valid=without_start_fits,
        text="mx.logcumsumexp(x, axis={axis}, reverse={reverse}, inclusive={inclusive})",
        note="An exclusive scan begins with minus infinity, which is left out.",
    ),
    Operation(
        name="mx.logcumsumexp[of complex numbers]",
        arguments=("x",),
        call=lambda x, reverse: mx.exp(mx.logcumsumexp(x, axis=-1, reverse=reverse)),
        body=lambda m, x, reverse: m.cumsum(m.exp(np.asarray(x)), -1, reverse=reverse),
        shapes=(((2, 3),), ((4,),)),
        parameters={"reverse": (False, True)},
        values={"x": Values(exponents=(-150, 5))},
        tolerance=SHIFTED_EXPONENTIALS,
        formats=("complex64",),
        text="mx.exp(mx.logcumsumexp(x, axis=-1, reverse={reverse}))",
        note="The logarithm has many values, which differ by whole turns: what is asked is the same for all of them.",
    ),
)
