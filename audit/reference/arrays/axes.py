"""Axes and elements: what the functions of arrays share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit.errors import AuditError

# None is every axis.
Axes = int | tuple[int, ...] | list[int] | None
Objects = NDArray[np.object_]


def elements(x: Any) -> Objects:
    """The elements as an object array, of shape () for a single number."""
    return x if isinstance(x, np.ndarray) and x.dtype == object else np.asarray(x, object)


def plain(x: Any) -> Any:
    """The element of an array without axes, any other array as it is."""
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x


def axes_of(axis: Axes, dimensions: int) -> tuple[int, ...]:
    """The axes as ascending non-negative numbers.

    Raises:
        AuditError: an axis that the array does not have, or one named twice.
    """
    if axis is None:
        return tuple(range(dimensions))
    given = (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
    found = tuple(sorted(int(a) + dimensions if a < 0 else int(a) for a in given))
    if len(set(found)) != len(found) or any(not 0 <= a < dimensions for a in found):
        raise AuditError(f"Axis {axis} of an array with {dimensions} axes.")
    return found


def gathered(x: Any, axis: Axes) -> tuple[Objects, Callable[[Any, bool], Any]]:
    """The axes that are reduced, flat, as the last one, and what gives a result its shape.

    Returns:
        The elements ``[..., n]``, and a function of the reduced elements ``[...]`` and of `keepdims`.
    """
    x = elements(x)
    chosen = axes_of(axis, x.ndim)
    kept = tuple(a for a in range(x.ndim) if a not in chosen)
    moved = x.transpose(kept + chosen).reshape(*(x.shape[a] for a in kept), -1 if x.size else _size(x, chosen))

    def restored(result: Any, keepdims: bool) -> Any:
        if keepdims:
            return elements(result).reshape([1 if a in chosen else x.shape[a] for a in range(x.ndim)])
        return plain(result)

    return moved, restored


def _size(x: Objects, axes: tuple[int, ...]) -> int:
    return int(np.prod([x.shape[a] for a in axes], dtype=int))


def along(x: Any, axis: int | None) -> tuple[Objects, Callable[[Any], Any]]:
    """One axis as the last one, and what puts it back; no axis flattens the array first."""
    x = elements(x)
    if axis is None:
        return x.reshape(-1), lambda result: result
    (place,) = axes_of(axis, x.ndim)
    return np.moveaxis(x, place, -1), lambda result: np.moveaxis(result, -1, place)


def stacked(rows: list[Any]) -> Objects:
    """Arrays or numbers stacked along a new last axis."""
    return np.stack([elements(row) for row in rows], axis=-1)
