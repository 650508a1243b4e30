"""Which shapes go with which parameters: rules that several cases share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from audit.operation import Shapes

Valid = Callable[[Shapes, Mapping[str, Any]], bool]


def axes_fit(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:
    """Whether the first array has the axes that the parameter ``axis`` names, each once."""
    axis, rank = parameters["axis"], len(shapes[0])
    axes = () if axis is None else (axis,) if isinstance(axis, int) else axis
    return all(-rank <= a < rank for a in axes) and len({a % rank for a in axes}) == len(axes)


def nonempty_axes_fit(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:
    """Likewise, for reductions that have no value over no elements."""
    return axes_fit(shapes, parameters) and 0 not in shapes[0]


def numpy_allows(function: Callable[..., Any]) -> Valid:
    """Whether a function of NumPy, given zeros of these shapes and the parameters by name, raises nothing."""

    def valid(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:
        try:
            function(*(np.zeros(shape) for shape in shapes), **parameters)
        except (ValueError, IndexError, TypeError):
            return False
        return True

    return valid
