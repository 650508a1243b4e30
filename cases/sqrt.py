"""Square roots and their reciprocals."""

from fractions import Fraction

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation, Values

_FORMATS = (*REAL_FORMATS, "complex64")
_POSITIVE = Values(low=0.0, singular=(0.0,))

OPERATIONS = (
    Operation(
        name="mx.sqrt",
        arguments=("x",),
        call=mx.sqrt,
        body=lambda m, x: m.sqrt(x),
        values={"x": _POSITIVE},
        formats=_FORMATS,
        also=("mx.array.sqrt",),
    ),
    Operation(
        name="mx.rsqrt",
        arguments=("x",),
        call=mx.rsqrt,
        body=lambda m, x: m.rsqrt(x),
        values={"x": _POSITIVE},
        formats=_FORMATS,
        also=("mx.array.rsqrt",),
    ),
    # The infinite slope at zero, in a branch that is not taken.
    Operation(
        name="mx.sqrt(behind mx.maximum)",
        arguments=("x",),
        call=lambda x: mx.maximum(mx.sqrt(x * x), 0.1),
        body=lambda m, x: m.maximum(m.sqrt(m.square(x)), Fraction(0.1)),
        shapes=(((2, 3),), ((),)),
        values={"x": Values(singular=(0.0,), scaled=False)},
        tolerance=Tolerance(terms=4, reason="a square and a root round in sequence"),
        orders=2,
        text="mx.maximum(mx.sqrt(x * x), 0.1)",
    ),
)
