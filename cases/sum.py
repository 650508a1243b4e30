"""Sums and means along axes."""

from typing import Any

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Homogeneous, Operation, Permutation

_SHAPES = (((2, 3),), ((3,),), ((1, 4),), ((2, 0),), ((2, 3, 2),))
_SUM = Tolerance(terms=2, reason="a sum in the format rounds once an addition, pairwise in MLX")


def _fits(shapes: Any, parameters: Any) -> bool:
    axis, rank = parameters["axis"], len(shapes[0])
    axes = () if axis is None else (axis,) if isinstance(axis, int) else axis
    return all(-rank <= a < rank for a in axes) and len({a % rank for a in axes}) == len(axes)


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
        formats=(*REAL_FORMATS, "complex64"),
        also=("mx.array.sum",),
        valid=_fits,
        long=(((4096,),),),
    ),
)
