"""A function of arrays mapped over an axis of some of its arguments, as ``vmap`` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from audit.case import Batch, Body

Axes = tuple[int | None, ...]


def mapped_axes(batch: Batch) -> Axes | None:
    """For each argument the axis that the batch's function is mapped over, None for an argument used whole.

    None for all of it if the function is not mapped, or is elementwise, so that mapping changes nothing.
    """
    if batch.function.elementwise or not batch.wrap.startswith("vmap "):
        return None
    return tuple(None if axis == "-" else int(axis) for axis in batch.wrap.removeprefix("vmap ").split(","))


def call(body: Body, m: Any, arguments: Sequence[Any], axes: Axes | None) -> Any:
    """Call a function's body, row by row if it is mapped; rows are stacked along the first mapped axis."""
    if axes is None:
        return body(m, *arguments)
    place, axis = next((place, axis) for place, axis in enumerate(axes) if axis is not None)
    rows = [
        body(m, *(x if a is None else np.take(x, row, a) for x, a in zip(arguments, axes, strict=True)))
        for row in range(np.shape(arguments[place])[axis])
    ]
    return np.stack([np.asarray(row, object) for row in rows], axis)
