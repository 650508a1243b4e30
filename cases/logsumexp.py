"""Logarithms of sums of exponentials, also of rows with minus infinity in some places."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import Operation, Permutation, Shift, Values
from cases.fitting import nonempty_axes_fit
from cases.indices import Indices
from cases.tolerances import SHIFTED_EXPONENTIALS

_KEPT = Indices(((True, False, True), (False, False, True)))


def _masked(x: mx.array, kept: Indices) -> mx.array:
    return mx.logsumexp(mx.where(kept.mlx, x, -mx.inf), axis=-1)


def _of_kept(m: Any, x: Any, kept: Indices) -> Any:
    return m.log(m.sum(m.where(kept.numpy, m.exp(x), 0), -1))


OPERATIONS = (
    Operation(
        name="mx.logsumexp",
        arguments=("x",),
        call=lambda x, axis, keepdims: mx.logsumexp(x, axis=axis, keepdims=keepdims),
        body=lambda m, x, axis, keepdims: m.logsumexp(np.asarray(x), axis, keepdims=keepdims),
        shapes=(((2, 3),), ((4,),), ((1, 3),), ((2, 1),), ((2, 3, 2),), ((),)),
        parameters={"axis": (-1, None, 0, (0, 1)), "keepdims": (False, True)},
        symmetries=(Shift("x", gain=1), Permutation(("x",), axis=-1)),
        tolerance=SHIFTED_EXPONENTIALS,
        also=("mx.array.logsumexp",),
        valid=nonempty_axes_fit,
        long=(((2304,),),),
    ),
    Operation(
        name="mx.logsumexp[with minus infinity]",
        arguments=("x",),
        call=_masked,
        body=_of_kept,
        shapes=(((2, 3),),),
        parameters={"kept": (_KEPT,)},
        symmetries=(Shift("x", gain=1),),
        tolerance=SHIFTED_EXPONENTIALS,
        text="mx.logsumexp(mx.where({kept}, x, -mx.inf), axis=-1)",
    ),
    Operation(
        name="mx.logsumexp[of complex numbers]",
        arguments=("x",),
        call=lambda x, axis: mx.exp(mx.logsumexp(x, axis=axis)),
        body=lambda m, x, axis: m.sum(m.exp(np.asarray(x)), axis),
        shapes=(((2, 3),), ((4,),)),
        parameters={"axis": (-1, None)},
        values={"x": Values(exponents=(-150, 5))},
        symmetries=(Permutation(("x",), axis=-1),),
        tolerance=SHIFTED_EXPONENTIALS,
        formats=("complex64",),
        text="mx.exp(mx.logsumexp(x, axis={axis}))",
        note="Its logarithm has many values, which differ by whole turns: what is asked is the same for all of them.",
    ),
)
