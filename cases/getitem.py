"""Elements taken by numbers, slices, new axes and ellipses."""

from __future__ import annotations

from typing import Any

import numpy as np

from audit.operation import REAL_FORMATS, Operation, Shapes
from cases.fitting import numpy_allows

_ALL = (*REAL_FORMATS, "complex64")
_MATRIX: tuple[Shapes, ...] = (((3, 4),), ((5,),), ((2, 1, 3),), ((0, 2),), ((1, 1),))


def _operation(name: str, shapes: tuple[Shapes, ...], *indices: Any) -> Operation:
    return Operation(
        name=f"mx.array.__getitem__[{name}]",
        arguments=("x",),
        call=lambda x, index: x[index],
        body=lambda m, x, index: np.asarray(x)[index],  # noqa: ARG005
        shapes=shapes,
        parameters={"index": indices},
        formats=_ALL,
        valid=numpy_allows(lambda x, index: x[index]),
        text="x[{index}]",
    )


OPERATIONS = (
    _operation("numbers", _MATRIX, (1, 2), 0, -1, (-1, 0), (0, 0, -1), (2, -3)),
    _operation(
        "slices",
        _MATRIX,
        (slice(1, 3), slice(None, None, 2)),
        slice(1, None),
        slice(None, -1),
        (slice(0, 2), slice(-3, -1)),
        (slice(None), slice(1, 4, 2)),
        slice(2, 2),
        slice(0, 100),
        slice(1, 2),
    ),
    _operation(
        "negative steps",
        _MATRIX,
        (slice(None, None, -1), slice(3, 0, -2)),
        slice(None, None, -1),
        slice(None, None, -2),
        slice(1, 0, -1),
        slice(0, None, -1),
        slice(2, None, -1),
        (slice(None), slice(None, None, -1)),
        (slice(-1, None, -3), slice(1, 3)),
    ),
    _operation(
        "new axes",
        _MATRIX,
        (None, slice(None), None, slice(1, 3)),
        None,
        (Ellipsis, None),
        (slice(None), None),
        (1, None),
    ),
    _operation(
        "mixed",
        (((2, 3, 4),), ((3, 4),), ((4,),), ((2, 0, 3),)),
        (Ellipsis, 1),
        (0, Ellipsis, slice(None, None, -1)),
        (slice(None), -1, slice(1, 3)),
        (None, 1, slice(None, None, 2), -2),
        Ellipsis,
        (slice(None, None, -2), Ellipsis, 0, None),
        (),
    ),
    Operation(
        name="mx.array.__getitem__[scalar]",
        arguments=("x",),
        call=lambda x, index: x[index],
        body=lambda m, x, index: np.asarray(x)[index],  # noqa: ARG005
        shapes=(((),),),
        parameters={"index": ((), None, Ellipsis, (None, None))},
        formats=_ALL,
        text="x[{index}]",
    ),
)
