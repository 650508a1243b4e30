"""Elements taken by arrays of indices and by masks; an element that is taken twice has a sum as its derivative."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation, Shapes
from cases.fitting import numpy_allows
from cases.indices import Indices, to_mlx, to_numpy

_ALL = (*REAL_FORMATS, "complex64")
_SUM = Tolerance(terms=4, reason="the derivative of an element taken several times is a sum in the format, one by one")
_LONG = ((2, 1, 1),)


def _taken(x: Any, index: Any) -> Any:
    return np.asarray(x)[to_numpy(index)]


def _operation(name: str, shapes: tuple[Shapes, ...], *indices: Any, long: Any = None) -> Operation:
    # The long index is for the long shape alone.
    return Operation(
        name=f"mx.array.__getitem__[{name}]",
        arguments=("x",),
        call=lambda x, index: x[to_mlx(index)],
        body=lambda m, x, index: _taken(x, index),  # noqa: ARG005
        shapes=shapes,
        parameters={"index": indices if long is None else (*indices, long)},
        tolerance=_SUM,
        formats=_ALL,
        valid=lambda s, p: (s == _LONG) == (p["index"] is long) and numpy_allows(_taken)(s, p),
        long=() if long is None else (_LONG,),
        text="x[{index}]",
    )


OPERATIONS = (
    _operation(
        "array",
        (((4, 2),), ((5,),), ((4, 1, 2),)),
        Indices((2, 0, 1, 2, 2)),
        Indices(((1, 0, 3), (3, 3, -1))),
        Indices(3),
        Indices((-1, -4)),
        Indices((1,)),
        long=Indices((0,), repeat=4096),
    ),
    Operation(
        name="mx.array.__getitem__[array, no elements]",
        arguments=("x",),
        call=lambda x, index: mx.concatenate([x[:, :0][to_mlx(index)], x[:2]], axis=1),
        body=lambda m, x, index: np.asarray(x)[:2],  # noqa: ARG005
        shapes=(((4, 1),),),
        parameters={"index": (Indices((2, 0)),)},
        formats=("float32",),
        orders=1,
        deadly=True,
        text="mx.concatenate([x[:, :0][{index}], x[:2]], axis=1)",
    ),
    _operation(
        "several arrays",
        (((3, 4),), ((3, 4, 2),)),
        (Indices((2, 0, 1, 2)), Indices((1, 3, 0, 1))),
        (Indices(((0,), (2,))), Indices((3, 1, 3))),
        (Indices((-1, 0)), Indices(1)),
        (Indices((1, 1)), Indices((0, 0))),
    ),
    _operation(
        "arrays and slices",
        (((3, 2, 4),), ((3, 4),)),
        (Indices((2, 0, 2)), slice(None), Indices((1, 3, 1))),
        (slice(1, None), Indices((1, 0, 1))),
        (Indices((1, 2, 0)), slice(None, None, -1)),
        (Ellipsis, Indices((3, 0, 0, 1))),
        (None, Indices((0, 2))),
        (slice(None), 1, Indices((0, 2, 3, 3))),
        (Indices(((0, 1), (2, 0))), 1),
        (Indices((0, 2)), None, slice(1, 3)),
    ),
)
