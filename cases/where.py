"""One of two numbers by a condition, which no derivative reaches."""

from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import REAL_FORMATS, Operation, Values

_FORMATS = (*REAL_FORMATS, "complex64")
_ZERO = Values(singular=(0.0,))
_CHECKED = ((True, False, True), (False, True, True))
_SHAPES = (((2, 3), (2, 3)), ((2, 1), (3,)), ((), (3,)), ((2, 3), ()), ((1,), (1,)))


def _body(m: Any, x: Any, y: Any, condition: Any) -> Any:  # noqa: ARG001
    chosen = np.asarray(condition)
    x, y = np.asarray(x, object), np.asarray(y, object)
    shape = np.broadcast_shapes(chosen.shape, x.shape, y.shape)
    found = np.where(*(np.broadcast_to(one, shape) for one in (chosen, x, y)))
    return found if shape else found[()]


def _fits(shapes: Any, parameters: Any) -> bool:
    try:
        np.broadcast_shapes(*shapes, np.shape(parameters["condition"]))
    except ValueError:
        return False
    return True


def _traced(x: mx.array, y: mx.array, comparison: str) -> mx.array:
    return mx.where(x > y if comparison == ">" else x <= y, x * x, 2 * y)


def _traced_body(m: Any, x: Any, y: Any, comparison: str) -> Any:
    larger = m.less(y, x)
    square, twice = m.square(x), m.multiply(2, y)
    return m.where(larger, square, twice) if comparison == ">" else m.where(larger, twice, square)


OPERATIONS = (
    Operation(
        name="mx.where",
        arguments=("x", "y"),
        call=lambda x, y, condition: mx.where(mx.array(condition), x, y),
        body=_body,
        shapes=_SHAPES,
        parameters={"condition": (_CHECKED, ((True,), (False,)), (False, True, False), True)},
        values={"x": _ZERO, "y": _ZERO},
        formats=_FORMATS,
        valid=_fits,
        mixed=True,
        text="mx.where(mx.array({condition}), x, y)",
    ),
    Operation(
        name="mx.where(with a condition on x and y)",
        arguments=("x", "y"),
        call=_traced,
        body=_traced_body,
        parameters={"comparison": (">", "<=")},
        # Squares of larger numbers leave the range.
        values={"x": Values(singular=(0.0,), scaled=False), "y": Values(singular=(0.0,), scaled=False)},
        slow=True,
        text="mx.where(x > y, x * x, 2 * y)",
    ),
    # Zeros stand where the mask leaves the root out, with its infinite slope.
    Operation(
        name="mx.where(beside an infinite slope)",
        arguments=("x",),
        call=lambda x, condition: mx.where(mx.array(condition), mx.sqrt(x), 2 * x),
        body=lambda m, x, condition: _body(m, m.sqrt(x), m.multiply(2, x), condition),
        shapes=(((2, 3),),),
        parameters={"condition": (((False, True, True), (True, True, False)),)},
        values={"x": Values(low=0.0, singular=(0.0,))},
        orders=2,
        text="mx.where(mx.array({condition}), mx.sqrt(x), 2 * x)",
    ),
)
