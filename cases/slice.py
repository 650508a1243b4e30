"""Parts taken and replaced at places that are arrays themselves."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import REAL_FORMATS, Operation, Shapes
from cases.indices import Indices, to_mlx, to_numpy

_ALL = (*REAL_FORMATS, "complex64")


def _starts(start_indices: Any, axes: tuple[int, ...], rank: int) -> list[int]:
    starts = [0] * rank
    for axis, start in zip(axes, np.atleast_1d(to_numpy(start_indices)).tolist(), strict=True):
        starts[axis] = start
    return starts


def _part(shape: tuple[int, ...], start_indices: Any, axes: tuple[int, ...], size: tuple[int, ...]) -> Any:
    starts = _starts(start_indices, axes, len(shape))
    return tuple(slice(start, start + n) for start, n in zip(starts, size, strict=True))


def _sliced(x: Any, start_indices: Any, axes: tuple[int, ...], slice_size: tuple[int, ...]) -> Any:
    return np.asarray(x)[_part(np.shape(x), start_indices, axes, slice_size)]


def _updated(x: Any, update: Any, start_indices: Any, axes: tuple[int, ...]) -> Any:
    y = np.array(x, copy=True)
    y[_part(y.shape, start_indices, axes, np.shape(update))] = update
    return y


def _inside(shape: tuple[int, ...], start_indices: Any, axes: tuple[int, ...], size: tuple[int, ...]) -> bool:
    """Whether the part lies within the array: MLX does not promise more."""
    if len(size) != len(shape) or len(np.atleast_1d(to_numpy(start_indices))) != len(axes):
        return False
    if any(not -len(shape) <= axis < len(shape) for axis in axes) or len({a % len(shape) for a in axes}) != len(axes):
        return False
    return all(
        start + n <= whole
        for start, n, whole in zip(_starts(start_indices, axes, len(shape)), size, shape, strict=True)
    )


def _slices(shapes: Shapes, parameters: Any) -> bool:
    return _inside(shapes[0], parameters["start_indices"], parameters["axes"], parameters["slice_size"])


def _updates(shapes: Shapes, parameters: Any) -> bool:
    return _inside(shapes[0], parameters["start_indices"], parameters["axes"], shapes[1])


OPERATIONS = (
    Operation(
        name="mx.slice",
        arguments=("a",),
        call=lambda a, start_indices, axes, slice_size: mx.slice(a, to_mlx(start_indices), axes, slice_size),
        body=lambda m, a, start_indices, axes, slice_size: _sliced(a, start_indices, axes, slice_size),  # noqa: ARG005
        shapes=(((3, 4),), ((5,),), ((1, 1),), ((2, 3, 2),)),
        parameters={
            "start_indices": (Indices((1, 2)), Indices((0, 1)), Indices((1,)), Indices((0,))),
            "axes": ((0, 1), (1, 0), (0,), (-1,)),
            "slice_size": ((2, 1), (1, 2), (3, 2), (2,), (1, 1), (1, 3, 2), (0, 1)),
        },
        formats=_ALL,
        valid=_slices,
    ),
    Operation(
        name="mx.slice_update",
        arguments=("a", "update"),
        call=lambda a, update, start_indices, axes: mx.slice_update(a, update, to_mlx(start_indices), axes),
        body=lambda m, a, update, start_indices, axes: _updated(a, update, start_indices, axes),  # noqa: ARG005
        shapes=(
            ((3, 4), (2, 1)),
            ((3, 4), (1, 2)),
            ((5,), (2,)),
            ((1, 1), (1, 1)),
            ((2, 3, 2), (1, 2, 2)),
            ((2, 2), (0, 2)),
        ),
        parameters={
            "start_indices": (Indices((1, 2)), Indices((0, 1)), Indices((1,)), Indices((0,))),
            "axes": ((0, 1), (1, 0), (0,), (-1,)),
        },
        formats=_ALL,
        valid=_updates,
    ),
)
