"""The general convolution: both operands dilated, padded unequally, the kernel flipped; and numpy's convolve."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Shapes

_SUM = Tolerance(terms=2, reason="a sum of products rounds once a term")


def _each(value: Any, rank: int) -> tuple[int, ...]:
    return (value,) * rank if isinstance(value, int) else tuple(value)


def _fits(shapes: Shapes, parameters: Any) -> bool:
    x, w = shapes
    rank, groups, padding = len(x) - 2, parameters["groups"], parameters["padding"]
    if x[-1] != w[-1] * groups or w[0] % groups:
        return False
    both = padding if isinstance(padding, tuple) and isinstance(padding[0], tuple) else (padding, padding)
    low, high = (_each(p, rank) for p in both)
    steps = [_each(parameters[name], rank) for name in ("stride", "kernel_dilation", "input_dilation")]
    if not all(len(values) == rank for values in (low, high, *steps)):
        return False
    _, kernel, inner = steps
    return all(1 + inner[k] * (x[k + 1] - 1) + low[k] + high[k] >= 1 + kernel[k] * (w[k + 1] - 1) for k in range(rank))


def _call(x: mx.array, w: mx.array, **parameters: Any) -> mx.array:
    return mx.conv_general(x, w, **parameters)


def _body(m: Any, x: Any, w: Any, **parameters: Any) -> Any:
    return m.conv(x, w, **parameters)


OPERATIONS = (
    Operation(
        name="mx.conv_general",
        arguments=("x", "w"),
        call=_call,
        body=_body,
        shapes=(
            ((1, 4, 2), (2, 3, 2)),
            ((1, 5, 2), (2, 2, 1)),
            ((1, 3, 3, 1), (2, 2, 2, 1)),
            ((1, 7, 2), (3, 3, 2)),
            ((2, 2, 1), (1, 2, 1)),
            ((1, 3, 4), (4, 2, 1)),
        ),
        parameters={
            "stride": (1, 2, 3),
            "padding": (0, 1, ((2,), (3,)), ((1, 0), (0, 2))),
            "kernel_dilation": (1, 2, 3),
            "input_dilation": (1, 2, 3),
            "groups": (1, 2, 4),
            "flip": (False, True),
        },
        symmetries=(Homogeneous({"x": 1, "w": 1}),),
        tolerance=_SUM,
        valid=_fits,
    ),
    Operation(
        name="mx.convolve",
        arguments=("a", "v"),
        call=lambda a, v, mode: mx.convolve(a, v, mode),
        body=lambda m, a, v, mode: m.convolve(a, v, mode=mode),
        shapes=(((4,), (3,)), ((2,), (4,)), ((1,), (1,)), ((5,), (2,))),
        parameters={"mode": ("full", "same", "valid")},
        symmetries=(Homogeneous({"a": 1, "v": 1}),),
        tolerance=_SUM,
    ),
)
