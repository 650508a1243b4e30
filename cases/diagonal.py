"""Diagonals taken, made and summed, and the triangles beside them."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation
from cases.fitting import numpy_allows

_ALL = (*REAL_FORMATS, "complex64")
_SUM = Tolerance(terms=2, reason="a sum in the format rounds once an addition")
# Types at least as wide as the formats that they are asked of.
_TYPES: tuple[Any, ...] = ("float32", "float64")


def _diag(x: Any, k: int) -> Any:
    x = np.asarray(x)
    if x.ndim == 2:
        return np.diagonal(x, k)
    size = len(x) + abs(k)
    found = np.full((size, size), 0, object)
    for place, element in enumerate(x):
        found[place + max(-k, 0), place + max(k, 0)] = element
    return found


def _triangle(x: Any, k: int, *, upper: bool) -> Any:
    x = np.asarray(x)
    rows, columns = np.indices(x.shape[-2:])
    keep = columns - rows >= k if upper else columns - rows <= k
    return np.where(keep, x, 0)


def _trace(m: Any, x: Any, offset: int, axis1: int, axis2: int) -> Any:
    return m.sum(np.diagonal(np.asarray(x), offset, axis1, axis2), -1)


def _takes(shapes: Any, parameters: Any) -> bool:
    return numpy_allows(np.diagonal)(shapes, {k: v for k, v in parameters.items() if k != "dtype"})


OPERATIONS = (
    Operation(
        name="mx.diag",
        arguments=("x",),
        call=lambda x, k: mx.diag(x, k),
        body=lambda m, x, k: _diag(x, k),  # noqa: ARG005
        shapes=(((3,),), ((2, 3),), ((1,),), ((3, 2),), ((3, 3),)),
        parameters={"k": (0, 1, -1, 2)},
        formats=_ALL,
        also=("mx.array.diag",),
    ),
    Operation(
        name="mx.diag[matrix]",
        arguments=("x",),
        call=lambda x, k: mx.diag(x, k),
        body=lambda m, x, k: _diag(x, k),  # noqa: ARG005
        shapes=(((3, 3),), ((2, 4),), ((4, 2),), ((1, 1),)),
        parameters={"k": (1, 0, -1)},
        formats=_ALL,
        text="mx.diag(x, k={k})",
    ),
    Operation(
        name="mx.diagonal",
        arguments=("x",),
        call=lambda x, offset, axis1, axis2: mx.diagonal(x, offset, axis1, axis2),
        body=lambda m, x, offset, axis1, axis2: np.diagonal(np.asarray(x), offset, axis1, axis2),  # noqa: ARG005
        shapes=(((2, 3, 2),), ((3, 3),), ((2, 4),), ((1, 1),)),
        parameters={"offset": (0, 1, -1), "axis1": (0, 1, -1), "axis2": (1, 2, 0)},
        formats=_ALL,
        also=("mx.array.diagonal",),
        valid=_takes,
    ),
    Operation(
        name="mx.trace",
        arguments=("x",),
        call=lambda x, offset, axis1, axis2: mx.trace(x, offset, axis1, axis2),
        body=_trace,
        shapes=(((2, 3, 2),), ((3, 3),), ((2, 4),), ((1, 1),)),
        parameters={"offset": (0, 1, -1), "axis1": (0, 1, -1), "axis2": (1, 2, 0)},
        tolerance=_SUM,
        formats=_ALL,
        valid=_takes,
    ),
    *(
        Operation(
            name=f"mx.trace[{dtype}]",
            arguments=("x",),
            call=lambda x, dtype: mx.trace(x, dtype=dtype),
            body=lambda m, x, dtype: _trace(m, x, 0, 0, 1),  # noqa: ARG005
            shapes=(((3, 3),), ((2, 2, 2),)),
            parameters={"dtype": (getattr(mx, dtype),)},
            formats=REAL_FORMATS if dtype == "float64" else REAL_FORMATS[:3],
            tolerance=_SUM,
            result=dtype,
        )
        for dtype in _TYPES
    ),
    *(
        Operation(
            name=f"mx.{name}",
            arguments=("x",),
            call=lambda x, k, name=name: getattr(mx, name)(x, k),
            body=lambda m, x, k, upper=name == "triu": _triangle(x, k, upper=upper),  # noqa: ARG005
            shapes=(((3, 3),), ((2, 4),), ((2, 3, 2),), ((1, 1),), ((0, 2),)),
            parameters={"k": (0, 1, -1, -3)},
            formats=_ALL,
        )
        for name in ("tril", "triu")
    ),
)
