"""Elements in ascending order, wholly or about one place."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Permutation, Shift
from cases.fitting import axes_fit

_SHAPES = (((2, 3),), ((4,),), ((3, 2),), ((1, 3),), ((2, 1),), ((2, 3, 1),))


def _parts(join: Any, total: Any, x: Any, kth: int, axis: int | None) -> Any:
    """What is promised of a partition: the sum of what lies below a place, the element there, the sum above.

    Args:
        join: puts a list of arrays along an axis.
        total: the sum along the axis, kept as an axis of one element.
        x: the partitioned array.
        kth: the place, negative from the end.
        axis: along which, None for the flat array.
    """
    axis = 0 if axis is None else axis % x.ndim
    place = kth % x.shape[axis]

    def part(start: int, stop: int) -> Any:
        return x[tuple(slice(start, stop) if a == axis else slice(None) for a in range(x.ndim))]

    found = [part(place, place + 1)]
    if place:
        found.append(total(part(0, place), axis))
    if place + 1 < x.shape[axis]:
        found.append(total(part(place + 1, x.shape[axis]), axis))
    return join(found, axis)


def _mlx_parts(x: mx.array, kth: int, axis: int | None) -> mx.array:
    return _parts(mx.concatenate, lambda y, a: mx.sum(y, a, keepdims=True), mx.partition(x, kth, axis), kth, axis)


def _reference_parts(m: Any, x: Any, kth: int, axis: int | None) -> Any:
    return _parts(np.concatenate, lambda y, a: m.sum(y, a, keepdims=True), m.sort(np.asarray(x), axis), kth, axis)


def _has_place(shapes: Any, parameters: Any) -> bool:
    if not axes_fit(shapes, parameters):
        return False
    axis, kth = parameters["axis"], parameters["kth"]
    size = int(np.prod(shapes[0])) if axis is None else shapes[0][axis]
    return -size <= kth < size


OPERATIONS = (
    Operation(
        name="mx.sort",
        arguments=("x",),
        call=lambda x, axis: mx.sort(x, axis),
        body=lambda m, x, axis: m.sort(np.asarray(x), axis),
        shapes=_SHAPES,
        parameters={"axis": (-1, None, 0, 1)},
        symmetries=(Homogeneous({"x": 1}), Shift("x", gain=1), Permutation(("x",), axis=-1)),
        valid=axes_fit,
    ),
    Operation(
        name="mx.partition",
        arguments=("x",),
        call=_mlx_parts,
        body=_reference_parts,
        shapes=_SHAPES,
        parameters={"axis": (-1, None, 0, 1), "kth": (1, 0, -1, 2)},
        symmetries=(Homogeneous({"x": 1}), Permutation(("x",), axis=-1)),
        tolerance=Tolerance(terms=2, reason="what lies on either side of a place is compared by its sum"),
        valid=_has_place,
        text="mx.partition(x, {kth}, axis={axis})  # the place kth, and the sums below and above it",
    ),
)
