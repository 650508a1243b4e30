"""Scans, functions or methods; exclusive ones begin with an infinity, which is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mlx.core as mx

from audit.operation import Shapes
from cases.fitting import axes_fit


def _cut(rank: int, axis: int, part: slice) -> tuple[slice, ...]:
    return tuple(part if place == axis % rank else slice(None) for place in range(rank))


def scanned(name: str, x: mx.array, axis: int | None, reverse: bool, inclusive: bool) -> mx.array:
    """A scan by its name. Without an axis the method is asked: it makes the array flat by a primitive of its own."""
    if axis is None:
        return getattr(x, name)(reverse=reverse, inclusive=inclusive)
    return getattr(mx, name)(x, axis=axis, reverse=reverse, inclusive=inclusive)


def without_start(scan: Any, axis: int | None, reverse: bool, inclusive: bool) -> Any:
    """An exclusive scan without the element that it begins with; an inclusive one as it is.

    Args:
        scan: the result of a scan, flat where the axis is None.
        axis: along which.
        reverse: whether it began at the end.
        inclusive: whether an element counts in its own result.
    """
    if inclusive:
        return scan
    return scan[_cut(scan.ndim, axis or 0, slice(None, -1) if reverse else slice(1, None))]


def all_but_the_last(x: Any, axis: int | None, reverse: bool, inclusive: bool) -> Any:
    """What an exclusive scan looks at: all but the element that it reaches last."""
    if inclusive:
        return x
    x = x.reshape(-1) if axis is None else x
    return x[_cut(x.ndim, axis or 0, slice(1, None) if reverse else slice(None, -1))]


def without_start_fits(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:
    """Whether the axis exists, and something is left along it."""
    if not axes_fit(shapes, parameters):
        return False
    axis = parameters["axis"]
    return parameters["inclusive"] or axis is None or shapes[0][axis] > 1
