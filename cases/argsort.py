"""Places of elements in their order; their derivative is zero wherever they do not jump."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import Homogeneous, Operation, Shapes, Shift
from cases.fitting import axes_fit, nonempty_axes_fit

_SHAPES: tuple[Shapes, ...] = (((2, 3),), ((4,),), ((3, 2),), ((1, 3),), ((2, 1),), ((2, 3, 1),))
_SYMMETRIES = (Homogeneous({"x": 0}), Shift("x"))


def _places(shape: tuple[int, ...], axis: int) -> Any:
    """For each element its place along the axis."""
    return np.indices(shape)[axis].astype(object)


def _sorted_places(m: Any, x: Any, axis: int | None) -> Any:
    x = np.asarray(x)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    return m.sort_by(x, _places(x.shape, axis), axis)


def _kth(x: Any, kth: int, axis: int | None) -> Any:
    """Of a partition only one place is promised."""
    axis = 0 if axis is None else axis % x.ndim
    place = kth % x.shape[axis]
    return x[tuple(slice(place, place + 1) if a == axis else slice(None) for a in range(x.ndim))]


def _largest_place(m: Any, x: Any, axis: int | None, keepdims: bool) -> Any:
    x = np.asarray(x)
    flat, along = (x.reshape(-1), 0) if axis is None else (x, axis)
    found = np.asarray(m.take_largest(flat, _places(flat.shape, along), along), object)
    if not keepdims:
        return found
    return found.reshape((1,) * x.ndim) if axis is None else np.expand_dims(found, axis)


def _has_place(shapes: Shapes, parameters: Any) -> bool:
    if not axes_fit(shapes, parameters):
        return False
    axis, kth = parameters["axis"], parameters["kth"]
    size = int(np.prod(shapes[0])) if axis is None else shapes[0][axis]
    return -size <= kth < size


OPERATIONS = (
    Operation(
        name="mx.argsort",
        arguments=("x",),
        call=lambda x, axis: mx.argsort(x, axis).astype(x.dtype),
        body=_sorted_places,
        shapes=_SHAPES,
        parameters={"axis": (-1, None, 0, 1)},
        symmetries=_SYMMETRIES,
        valid=axes_fit,
        text="mx.argsort(x, {axis}).astype(x.dtype)",
    ),
    Operation(
        name="mx.argpartition",
        arguments=("x",),
        call=lambda x, kth, axis: _kth(mx.argpartition(x, kth, axis), kth, axis).astype(x.dtype),
        body=lambda m, x, kth, axis: _kth(_sorted_places(m, x, axis), kth, axis),
        shapes=_SHAPES,
        parameters={"kth": (1, 0, -1, 2), "axis": (-1, None, 0, 1)},
        symmetries=_SYMMETRIES,
        valid=_has_place,
        text="mx.argpartition(x, {kth}, {axis}).astype(x.dtype)  # the place kth",
    ),
    *(
        Operation(
            name=f"mx.{name}",
            arguments=("x",),
            call=lambda x, axis, keepdims, name=name: getattr(mx, name)(x, axis=axis, keepdims=keepdims).astype(
                x.dtype
            ),
            body=lambda m, x, axis, keepdims, sign=sign: _largest_place(
                m, np.asarray(x) if sign > 0 else m.negative(np.asarray(x)), axis, keepdims
            ),
            shapes=_SHAPES,
            parameters={"axis": (-1, None, 0), "keepdims": (False, True)},
            symmetries=_SYMMETRIES,
            also=(f"mx.array.{name}",),
            valid=nonempty_axes_fit,
            text=f"mx.{name}(x, axis={{axis}}, keepdims={{keepdims}}).astype(x.dtype)",
        )
        for name, sign in (("argmax", 1), ("argmin", -1))
    ),
)
