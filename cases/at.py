"""Elements changed in place of `x[index] = ...`: every occurrence of a repeated index counts."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation, Shapes, Values
from cases.indices import Indices, to_mlx, to_numpy

_ALL = (*REAL_FORMATS, "complex64")
_SUM = Tolerance(terms=4, reason="sums and products in the format, an occurrence of an index at a time")
_METHODS = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
# Methods by which a repeated index would divide by a product, or compare several values with each other.
_ONCE = ("divide", "maximum", "minimum")
_ARRAYS: tuple[Shapes, ...] = (((4, 2), (5, 2)), ((4, 2), (5, 1)), ((4, 2), ()), ((5,), (5,)), ((4, 2, 1), (5, 2, 1)))


def _at(x: mx.array, value: mx.array, index: Any, method: str) -> mx.array:
    return getattr(x.at[to_mlx(index)], method)(value)


def _changed(m: Any, x: Any, value: Any, index: Any, method: str) -> Any:
    y = np.array(x, dtype=object, copy=True)
    places = np.arange(y.size).reshape(y.shape)[to_numpy(index)]
    flat = y.reshape(-1)
    values = np.broadcast_to(np.asarray(value, object), places.shape).reshape(-1)
    for place, one in zip(places.reshape(-1), values, strict=True):
        flat[place] = getattr(m, method)(flat[place], one)
    return flat.reshape(y.shape)


def _valid(shapes: Shapes, parameters: Any) -> bool:
    try:
        place = np.zeros(shapes[0])[to_numpy(parameters["index"])]
        np.broadcast_to(np.zeros(shapes[1]), place.shape)
    except (ValueError, IndexError):
        return False
    return True


def _operation(name: str, method: str, shapes: tuple[Shapes, ...], *indices: Any) -> Operation:
    # A divisor that is zero has no quotient, and the quotient of many is not asked over the whole range.
    divides = method == "divide"
    return Operation(
        name=f"mx.ArrayAt.{method}[{name}]",
        arguments=("x", "value"),
        call=lambda x, value, index: _at(x, value, index, method),
        body=lambda m, x, value, index: _changed(m, x, value, index, method),
        shapes=shapes,
        parameters={"index": indices},
        values={"value": Values(low=0.0)} if divides else {},
        tolerance=_SUM,
        formats=REAL_FORMATS if method in ("maximum", "minimum") else _ALL,
        also=("mx.array.at", "mx.ArrayAt.__getitem__"),
        valid=_valid,
        text=f"x.at[{{index}}].{method}(value)",
    )


OPERATIONS = (
    *(
        _operation(
            "array",
            method,
            _ARRAYS if method not in _ONCE else (((4, 2), (3, 2)), ((4, 2), ()), ((5,), (3,))),
            *(
                (Indices((2, 0, 3, 2, 2)), Indices((-1, 1, -4, 3, 0)))
                if method not in _ONCE
                else (Indices((2, 0, 3)), Indices((-1, 1, 0)))
            ),
        )
        for method in _METHODS
    ),
    *(
        _operation(
            "slices",
            method,
            (((3, 4), (2, 2)), ((3, 4), (2,)), ((3, 4), ()), ((4,), (2,)), ((2, 1, 3), (1, 3))),
            (slice(0, 2), slice(1, 3)),
            (slice(None, None, -2), slice(0, 4, 3)),
            slice(1, None),
            slice(0, 1),
            (1, -1),
            Ellipsis,
        )
        for method in _METHODS
    ),
    *(
        _operation(
            "arrays and slices",
            method,
            (((3, 2, 2), (3, 2)), ((3, 2, 2), ()), ((3, 2), (3,))),
            (Indices((2, 0, 1)), slice(None), 1),
            (Indices((2, 0, 1)), Indices((1, 1, 0))),
        )
        for method in ("add", "multiply", "maximum")
    ),
    *(
        Operation(
            name=f"mx.ArrayAt.{method}[of one array]",
            arguments=("x",),
            call=lambda x, index, method=method: _at(x, x[1:2], index, method),
            body=lambda m, x, index, method=method: _changed(m, x, x[1:2], index, method),
            shapes=(((3,),), ((2, 2),)),
            parameters={"index": (slice(0, 1), Indices((0,)))},
            text=f"x.at[{{index}}].{method}(x[1:2])",
            note="Where its first two elements are equal there is a tie.",
        )
        for method in ("maximum", "minimum")
    ),
    Operation(
        name="mx.ArrayAt.add[array, no elements]",
        arguments=("x", "value"),
        call=lambda x, value, index: mx.concatenate([_at(x[:, :0], value[:, :0], index, "add"), x], axis=1),
        body=lambda m, x, value, index: np.asarray(x),  # noqa: ARG005
        shapes=(((4, 1), (2, 1)),),
        parameters={"index": (Indices((2, 0)),)},
        formats=("float32",),
        orders=1,
        deadly=True,
        text="mx.concatenate([x[:, :0].at[{index}].add(value[:, :0]), x], axis=1)",
    ),
)
