"""Largest elements and means of windows."""

from typing import Any

import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Shapes

_MEAN = Tolerance(terms=2, reason="a mean rounds its sum and its quotient")
_SHAPES: dict[int, tuple[Shapes, ...]] = {
    1: (((1, 5, 2),), ((2, 4, 1),), ((1, 3, 1),)),
    2: (((1, 4, 3, 1),), ((2, 2, 2, 1),), ((1, 3, 3, 1),)),
    3: (((1, 2, 3, 2, 1),), ((1, 2, 2, 2, 1),), ((1, 3, 3, 3, 1),)),
}
_PARAMETERS: dict[int, dict[str, tuple[Any, ...]]] = {
    1: {"kernel_size": (2, 3, 1), "stride": (None, 1, 2), "padding": (0, 1, (1,))},
    2: {"kernel_size": (2, 3, (2, 1)), "stride": (None, 1, (1, 2)), "padding": (0, 1, (1, 0))},
    3: {"kernel_size": (2, 3, (2, 1, 2)), "stride": (None, 1, (1, 2, 1)), "padding": (0, 1, (1, 0, 0))},
}


def _each(value: Any, axes: int) -> tuple[int, ...]:
    return (value,) * axes if isinstance(value, int) else value


def _fits(shapes: Shapes, parameters: Any) -> bool:
    """Whether a window fits in, and none lies in the padding alone."""
    axes = len(shapes[0]) - 2
    window, padding = _each(parameters["kernel_size"], axes), _each(parameters["padding"], axes)
    sizes = zip(shapes[0][1:-1], window, padding, strict=True)
    return all(n + 2 * p >= k and p < k for n, k, p in sizes)


def _pool(kind: str, axes: int) -> Operation:
    layer = getattr(nn, f"{kind}Pool{axes}d")
    largest = kind == "Max"
    return Operation(
        name=f"nn.{kind}Pool{axes}d",
        arguments=("x",),
        call=lambda x, **windows: layer(**windows)(x),
        body=lambda m, x, kernel_size, stride, padding: (m.max_pool if largest else m.avg_pool)(
            x, kernel_size, stride, padding
        ),
        shapes=_SHAPES[axes],
        parameters=_PARAMETERS[axes],
        symmetries=(Homogeneous({"x": 1}),),
        tolerance=Tolerance() if largest else _MEAN,
        valid=_fits,
        slow=axes == 3,
        text=f"nn.{kind}Pool{axes}d({{kernel_size}}, {{stride}}, {{padding}})(x)",
    )


OPERATIONS = tuple(_pool(kind, axes) for kind in ("Max", "Avg") for axes in (1, 2, 3))
