"""Arrays with a margin: of a constant, of their edge, or of themselves reflected."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation
from cases.fitting import numpy_allows

_ALL = (*REAL_FORMATS, "complex64")
_SUM = Tolerance(terms=2, reason="the derivative of a repeated element is a sum in the format")


def _width(pad_width: Any, rank: int) -> list[tuple[int, int]]:
    """What is added before and after each axis."""
    if isinstance(pad_width, int):
        return [(pad_width, pad_width)] * rank
    if isinstance(pad_width[0], int):
        return [(pad_width[0], pad_width[-1])] * rank
    return list(pad_width)


def _padded(x: Any, pad_width: Any, mode: Any) -> Any:
    x = np.asarray(x)
    return np.pad(x, _width(pad_width, x.ndim), mode)


def _constant(x: Any, pad_width: Any, value: Any) -> Any:
    x = np.asarray(x)
    width = _width(pad_width, x.ndim)
    found = np.full([low + n + high for n, (low, high) in zip(x.shape, width, strict=True)], value, object)
    found[tuple(slice(low, low + n) for n, (low, _) in zip(x.shape, width, strict=True))] = x
    return found


def _fits(shapes: Any, parameters: Any) -> bool:
    """A reflection has fewer elements than the array, without or with its edge."""
    shape, mode = shapes[0], parameters["mode"]
    try:
        width = _width(parameters["pad_width"], len(shape))
        most = [max(pair) for pair in width]
    except TypeError:
        return False
    if len(width) != len(shape):
        return False
    limit = {"edge": 10, "reflect": -1, "symmetric": 0}[mode]
    return all(n > 0 and more <= n + limit for n, more in zip(shape, most, strict=True)) and numpy_allows(_padded)(
        shapes, parameters
    )


OPERATIONS = (
    Operation(
        name="mx.pad",
        arguments=("x",),
        call=lambda x, pad_width, constant_values: mx.pad(x, pad_width, constant_values=constant_values),
        body=lambda m, x, pad_width, constant_values: _constant(x, pad_width, constant_values),  # noqa: ARG005
        shapes=(((2, 3),), ((3,),), ((1, 1),), ((0, 2),), ((2, 1, 2),)),
        parameters={
            "pad_width": (((1, 2), (0, 1)), 1, (2,), (1, 2), ((0, 0), (0, 0)), ((0, 1), (1, 0), (2, 0)), 0),
            "constant_values": (0, 2.5),
        },
        formats=_ALL,
        valid=lambda s, p: (
            isinstance(p["pad_width"], int) or isinstance(p["pad_width"][0], int) or len(p["pad_width"]) == len(s[0])
        ),
    ),
    Operation(
        name="mx.pad[constant_values]",
        arguments=("x", "constant_values"),
        call=lambda x, constant_values: mx.pad(x, 1, constant_values=constant_values),
        body=lambda m, x, constant_values: _constant(x, 1, constant_values),  # noqa: ARG005
        shapes=(((2,), ()),),
        tolerance=_SUM,
        formats=("float32",),
        orders=1,
        deadly=True,
        text="mx.pad(x, 1, constant_values=constant_values)",
    ),
    *(
        Operation(
            name=f"mx.pad[{mode}]",
            arguments=("x",),
            call=lambda x, pad_width, mode: mx.pad(x, pad_width, mode),
            body=lambda m, x, pad_width, mode: _padded(x, pad_width, mode),  # noqa: ARG005
            shapes=(((2, 3),), ((4,),), ((1, 1),), ((2, 2, 2),)),
            parameters={"pad_width": (((1, 0), (2, 1)), 1, (2,), (1, 2), ((0, 1), (1, 0), (1, 1)), 0), "mode": (mode,)},
            tolerance=_SUM,
            formats=_ALL,
            valid=_fits,
        )
        for mode in ("edge", "reflect", "symmetric")
    ),
)
