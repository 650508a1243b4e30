"""Elements repeated to a larger shape; the derivative of a repeated element is a sum."""

from __future__ import annotations

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation
from cases.fitting import numpy_allows

_ALL = (*REAL_FORMATS, "complex64")
_SUM = Tolerance(terms=2, reason="the derivative of a repeated element is a sum in the format, pairwise in MLX")

OPERATIONS = (
    Operation(
        name="mx.broadcast_to",
        arguments=("x",),
        call=lambda x, shape: mx.broadcast_to(x, shape),
        body=lambda m, x, shape: np.broadcast_to(np.asarray(x), shape),  # noqa: ARG005
        shapes=(((2, 1),), ((3,),), ((),), ((1, 1),), ((0,),), ((1,),)),
        parameters={"shape": ((2, 3), (2, 2, 1), (2, 3, 3), (3,), (0,), (1024,))},
        tolerance=_SUM,
        formats=_ALL,
        # The long row is for the last shape alone.
        valid=lambda s, p: (p["shape"] == (1024,)) == (s == ((1,),)) and numpy_allows(np.broadcast_to)(s, p),
        long=(((1,),),),
    ),
    *(
        Operation(
            name=f"mx.broadcast_arrays[{output}]",
            arguments=("a", "b"),
            call=lambda a, b, output=output: mx.broadcast_arrays(a, b)[output],
            body=lambda m, a, b, output=output: np.broadcast_arrays(np.asarray(a), np.asarray(b))[output],  # noqa: ARG005
            shapes=(((2, 1), (3,)), ((), (2,)), ((1, 2), (2, 1)), ((2, 2), (2, 2)), ((1,), (0,))),
            tolerance=_SUM,
            formats=_ALL,
            text=f"mx.broadcast_arrays(a, b)[{output}]",
        )
        for output in (0, 1)
    ),
)
