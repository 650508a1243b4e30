"""Elements and whole arrays repeated; the derivative of a repeated element is a sum."""

from __future__ import annotations

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation
from cases.fitting import axes_fit

_ALL = (*REAL_FORMATS, "complex64")
_SUM = Tolerance(terms=2, reason="the derivative of a repeated element is a sum in the format")

OPERATIONS = (
    Operation(
        name="mx.repeat",
        arguments=("x",),
        call=lambda x, repeats, axis: mx.repeat(x, repeats, axis=axis),
        body=lambda m, x, repeats, axis: np.repeat(np.asarray(x), repeats, axis),  # noqa: ARG005
        shapes=(((2, 3),), ((3,),), ((),), ((1, 2),), ((0, 2),)),
        parameters={"repeats": (2, 3, 1, 0, 1024), "axis": (None, 0, 1, -1)},
        tolerance=_SUM,
        formats=_ALL,
        # The long row is for the largest number alone.
        valid=lambda s, p: axes_fit(s, p) and (p["repeats"] == 1024) == (s == ((1,),)),
        long=(((1,),),),
    ),
    Operation(
        name="mx.tile",
        arguments=("x",),
        call=lambda x, reps: mx.tile(x, reps),
        body=lambda m, x, reps: np.tile(np.asarray(x), reps),  # noqa: ARG005
        shapes=(((2, 3),), ((3,),), ((),), ((0, 2),)),
        parameters={"reps": ((2, 3), 2, (2, 1, 2), (3, 1), (1,), (2, 0))},
        tolerance=_SUM,
        formats=_ALL,
    ),
)
