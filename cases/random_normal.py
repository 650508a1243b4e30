"""Normal numbers: the noise is read from the operation with mean zero and deviation one, the same key and format."""

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.modes.arrays import DTYPES
from audit.operation import REAL_FORMATS, Operation, Shapes

_SUM = Tolerance(terms=2, reason="a product and a sum round")


def _call(loc: mx.array, scale: mx.array, shape: tuple[int, ...], dtype: str) -> mx.array:
    return mx.random.normal(shape, DTYPES[dtype], loc, scale, key=mx.random.key(7))


def fits(shapes: Shapes, parameters: Any) -> bool:
    """Whether the arguments broadcast to the shape that is asked for."""
    shape = parameters["shape"]
    try:
        return np.broadcast_shapes(*shapes, shape) == shape
    except ValueError:
        return False


def _body(m: Any, loc: Any, scale: Any, shape: tuple[int, ...], dtype: str) -> Any:
    drawn = mx.random.normal(shape, DTYPES[dtype], key=mx.random.key(7))
    noise = np.array(drawn if dtype == "float64" else drawn.astype(mx.float32)).astype(np.float64)
    return m.add(loc, m.multiply(scale, np.array(noise.tolist(), object)))


def _operation(name: str) -> Operation:
    return Operation(
        name=f"mx.random.normal[{name}]",
        arguments=("loc", "scale"),
        call=_call,
        body=_body,
        shapes=(((), ()), ((3,), (3,)), ((2, 1), (3,)), ((), (3,))),
        parameters={"shape": ((2, 3), (3,), (1, 4)), "dtype": (name,)},
        tolerance=_SUM,
        valid=fits,
        formats=(name,),
        text="mx.random.normal({shape}, mx.{dtype}, loc, scale, key=mx.random.key(7))",
    )


OPERATIONS = tuple(map(_operation, REAL_FORMATS))
