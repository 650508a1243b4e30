"""Exponentials over their sum, also of rows with minus infinity in some places."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from audit.operation import REAL_FORMATS, Operation, Permutation, Shapes, Shift
from cases.fitting import nonempty_axes_fit
from cases.indices import Indices
from cases.tolerances import SHIFTED_EXPONENTIALS

_SHAPES: tuple[Shapes, ...] = (((2, 3),), ((4,),), ((1, 3),), ((2, 1),), ((2, 3, 2),))
_SYMMETRIES = (Shift("x"), Permutation(("x",), axis=-1, out_axis=-1))
_KEPT = Indices(((True, False, True), (False, False, True)))


def _of_kept(m: Any, x: Any, kept: Indices) -> Any:
    powers = m.where(kept.numpy, m.exp(x), 0)
    return m.divide(powers, m.sum(powers, -1, keepdims=True))


OPERATIONS = (
    Operation(
        name="mx.softmax",
        arguments=("x",),
        call=lambda x, axis, precise: mx.softmax(x, axis=axis, precise=precise),
        body=lambda m, x, axis, precise: m.softmax(x, axis),  # noqa: ARG005
        shapes=_SHAPES,
        parameters={"axis": (-1, None, 0, (0, 1)), "precise": (False, True)},
        symmetries=_SYMMETRIES,
        tolerance=SHIFTED_EXPONENTIALS,
        formats=(*REAL_FORMATS, "complex64"),
        valid=nonempty_axes_fit,
    ),
    *(
        Operation(
            name=f"mx.softmax[start of a long row, precise={precise}]",
            arguments=("x",),
            call=lambda x, precise: mx.softmax(x, axis=-1, precise=precise)[:2],
            body=lambda m, x, precise: m.softmax(x, -1)[:2],  # noqa: ARG005
            shapes=(((4,),),),
            parameters={"precise": (precise,)},
            tolerance=SHIFTED_EXPONENTIALS,
            formats=("float16", "bfloat16"),
            orders=1,
            mapped=False,
            long=(((2304,),),),
            text="mx.softmax(x, axis=-1, precise={precise})[:2]",
        )
        for precise in (False, True)
    ),
    Operation(
        name="mx.softmax[with minus infinity]",
        arguments=("x",),
        call=lambda x, kept: mx.softmax(mx.where(kept.mlx, x, -mx.inf), axis=-1),
        body=_of_kept,
        shapes=(((2, 3),),),
        parameters={"kept": (_KEPT,)},
        symmetries=(Shift("x"),),
        tolerance=SHIFTED_EXPONENTIALS,
        text="mx.softmax(mx.where({kept}, x, -mx.inf), axis=-1)",
    ),
    Operation(
        name="nn.softmax",
        arguments=("x",),
        call=lambda x, axis: nn.softmax(x, axis=axis),
        body=lambda m, x, axis: m.softmax(x, axis),
        shapes=_SHAPES[:2],
        parameters={"axis": (-1, 0, 1)},
        symmetries=_SYMMETRIES,
        tolerance=SHIFTED_EXPONENTIALS,
        also=("nn.Softmax",),
        valid=nonempty_axes_fit,
    ),
    Operation(
        name="nn.softmin",
        arguments=("x",),
        call=lambda x, axis: nn.softmin(x, axis=axis),
        body=lambda m, x, axis: m.softmax(m.negative(np.asarray(x)), axis),
        shapes=_SHAPES[:2],
        parameters={"axis": (-1, 0, 1)},
        symmetries=_SYMMETRIES,
        tolerance=SHIFTED_EXPONENTIALS,
        also=("nn.Softmin",),
        valid=nonempty_axes_fit,
    ),
)
