"""Elements replaced: where the array was overwritten its derivative is zero, and that of the value begins."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation, Shapes
from cases.indices import Indices, to_mlx, to_numpy

_ALL = (*REAL_FORMATS, "complex64")
_SUM = Tolerance(terms=2, reason="the derivative of a value that is put in several places is a sum in the format")


def _set(x: mx.array, value: mx.array, index: Any) -> mx.array:
    # An array of its own: assignment changes the Python object.
    y = x + mx.zeros_like(x)
    y[to_mlx(index)] = value
    return y


def _put(x: Any, value: Any, index: Any) -> Any:
    y = np.array(x, copy=True)
    y[to_numpy(index)] = value
    return y


def _valid(shapes: Shapes, parameters: Any) -> bool:
    try:
        _put(np.zeros(shapes[0]), np.zeros(shapes[1]), **parameters)
    except (ValueError, IndexError):
        return False
    return True


def _operation(name: str, shapes: tuple[Shapes, ...], *indices: Any, note: str = "") -> Operation:
    return Operation(
        name=f"mx.array.__setitem__[{name}]",
        arguments=("x", "value"),
        call=_set,
        body=lambda m, x, value, index: _put(x, value, index),  # noqa: ARG005
        shapes=shapes,
        parameters={"index": indices},
        tolerance=_SUM,
        formats=_ALL,
        valid=_valid,
        text="(y := x + 0, y.__setitem__({index}, value))[0]",
        note=note,
    )


OPERATIONS = (
    _operation(
        "slices",
        (((3, 4), (2, 2)), ((3, 4), (2,)), ((3, 4), ()), ((3, 4), (1, 4)), ((4,), (2,)), ((2, 1, 3), (1, 3))),
        (slice(0, 2), slice(1, 3)),
        (slice(None, None, -2), slice(0, 4, 3)),
        slice(1, None),
        slice(None, None, -1),
        slice(-2, None),
        1,
        (1, -1),
        (slice(None), 2),
        Ellipsis,
        (Ellipsis, slice(2, 0, -1)),
        slice(2, 2),
        (None, slice(0, 2), slice(None, 2)),
        slice(0, 1),
    ),
    _operation(
        "scalar",
        (((3, 4), ()), ((4,), ()), ((), ()), ((0, 2), ())),
        (slice(0, 2), slice(1, 3)),
        (),
        slice(None, None, -1),
        Indices((2, 0)),
    ),
    _operation(
        "arrays",
        (((4, 2), (3, 2)), ((4, 2), (3, 1)), ((4, 2), (2,)), ((4, 2), ()), ((4,), (3,)), ((4, 3), (3,))),
        Indices((2, 0, 3)),
        Indices((-1, 1, 0)),
        (Indices((2, 0, 3)), Indices((1, 0, 1))),
        (Indices((3, 1, 0)), slice(None, None, -1)),
        (slice(1, 4), Indices((1, 0))),
        (slice(None), Indices((1, 0))),
        Indices(2),
    ),
    _operation(
        "mask",
        (((2, 3), ()), ((3,), ())),
        Indices(((True, False, True), (False, False, True))),
        Indices((True, False)),
        Indices((False, True, True)),
    ),
    _operation(
        "repeated indices",
        (((4,), ()), ((4, 2), (2,)), ((4, 2), (1, 2))),
        Indices((2, 0, 2, 2)),
        Indices((1, 1)),
        note="The same value is put in one place several times: it is there once.",
    ),
)
