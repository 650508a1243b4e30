"""The same elements in another shape."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import REAL_FORMATS, Operation
from cases.fitting import numpy_allows

_ALL = (*REAL_FORMATS, "complex64")


def _flatten(x: Any, start_axis: int, end_axis: int) -> Any:
    x = np.asarray(x)
    if not x.ndim:
        return x.reshape(1)
    start, end = start_axis % x.ndim, end_axis % x.ndim
    return x.reshape(*x.shape[:start], int(np.prod(x.shape[start : end + 1])), *x.shape[end + 1 :])


def _flattens(shapes: Any, parameters: Any) -> bool:
    rank, start, end = len(shapes[0]), parameters["start_axis"], parameters["end_axis"]
    if not rank:
        return start == 0 and end == -1
    return -rank <= start < rank and -rank <= end < rank and start % rank <= end % rank


def _unflatten(x: Any, axis: int, shape: tuple[int, ...]) -> Any:
    axis = axis % x.ndim
    return x.reshape(*x.shape[:axis], *shape, *x.shape[axis + 1 :])


def _unflattens(shapes: Any, parameters: Any) -> bool:
    shape, axis, new = shapes[0], parameters["axis"], parameters["shape"]
    return -len(shape) <= axis < len(shape) and _reshapes(((shape[axis],),), {"shape": new})


def _reshapes(shapes: Any, parameters: Any) -> bool:
    """What -1 stands for is not known where there are no elements."""
    return numpy_allows(np.reshape)(shapes, parameters) and not (0 in shapes[0] and -1 in parameters["shape"])


def _at_least(rank: int, x: Any) -> Any:
    return (np.atleast_1d, np.atleast_2d, np.atleast_3d)[rank - 1](np.asarray(x))


OPERATIONS = (
    Operation(
        name="mx.reshape",
        arguments=("x",),
        call=lambda x, shape: mx.reshape(x, shape),
        body=lambda m, x, shape: np.reshape(np.asarray(x), shape),  # noqa: ARG005
        shapes=(((2, 3),), ((1,),), ((),), ((0, 2),), ((2, 1, 3),)),
        parameters={"shape": ((3, 2), (-1,), (1, 3, -1), (), (1, 1), (3, 0))},
        formats=_ALL,
        also=("mx.array.reshape",),
        valid=_reshapes,
    ),
    Operation(
        name="mx.flatten",
        arguments=("x",),
        call=lambda x, start_axis, end_axis: mx.flatten(x, start_axis, end_axis),
        body=lambda m, x, start_axis, end_axis: _flatten(x, start_axis, end_axis),  # noqa: ARG005
        shapes=(((2, 3, 2),), ((3,),), ((),), ((2, 0),)),
        parameters={"start_axis": (0, 1, -2), "end_axis": (-1, 1, 2)},
        formats=_ALL,
        also=("mx.array.flatten",),
        valid=_flattens,
    ),
    Operation(
        name="mx.unflatten",
        arguments=("x",),
        call=lambda x, axis, shape: mx.unflatten(x, axis, shape),
        body=lambda m, x, axis, shape: _unflatten(x, axis, shape),  # noqa: ARG005
        shapes=(((4, 4),), ((2, 1, 4),), ((4, 0),), ((6,),)),
        parameters={"axis": (0, 1, -1), "shape": ((2, 2), (-1, 1), (1, 4, 1), (2, 3))},
        formats=_ALL,
        valid=_unflattens,
    ),
    Operation(
        name="mx.squeeze",
        arguments=("x",),
        call=lambda x, axis: mx.squeeze(x, axis),
        body=lambda m, x, axis: np.squeeze(np.asarray(x), axis),  # noqa: ARG005
        shapes=(((1, 3, 1),), ((1,),), ((2, 3),), ((1, 0),), ((1, 2, 1, 1),)),
        parameters={"axis": (None, 0, -1, (0, 2))},
        formats=_ALL,
        also=("mx.array.squeeze",),
        valid=numpy_allows(np.squeeze),
    ),
    Operation(
        name="mx.expand_dims",
        arguments=("x",),
        call=lambda x, axis: mx.expand_dims(x, axis),
        body=lambda m, x, axis: np.expand_dims(np.asarray(x), axis),  # noqa: ARG005
        shapes=(((2, 3),), ((3,),), ((),), ((0,),)),
        parameters={"axis": (0, 1, -1, (0, 2), (-3, 3))},
        formats=_ALL,
        valid=numpy_allows(np.expand_dims),
    ),
    Operation(
        name="mx.expand_dims[two axes]",
        arguments=("x",),
        call=lambda x: mx.expand_dims(x, (0, 1)),
        body=lambda m, x: np.expand_dims(np.asarray(x), (0, 1)),  # noqa: ARG005
        shapes=(((2, 3),),),
        text="mx.expand_dims(x, (0, 1))",
    ),
    *(
        Operation(
            name=f"mx.atleast_{rank}d",
            arguments=("x",),
            call=lambda x, rank=rank: getattr(mx, f"atleast_{rank}d")(x),
            body=lambda m, x, rank=rank: _at_least(rank, x),  # noqa: ARG005
            shapes=(((3,),), ((),), ((2, 3),), ((2, 1, 2),), ((0,),)),
            formats=_ALL,
        )
        for rank in (1, 2, 3)
    ),
    Operation(
        name="mx.atleast_2d[several]",
        arguments=("a", "b"),
        call=lambda a, b: mx.concatenate([y.reshape(-1) for y in mx.atleast_2d(a, b)]),
        body=lambda m, a, b: np.concatenate([np.reshape(x, -1) for x in (a, b)]),  # noqa: ARG005
        shapes=(((3,), (2, 2)), ((), (2,))),
        formats=_ALL,
        text="mx.concatenate([y.reshape(-1) for y in mx.atleast_2d(a, b)])",
    ),
)
