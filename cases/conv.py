"""Convolutions in one to three dimensions, channels last."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Shapes

_SUM = Tolerance(terms=2, reason="a sum of products rounds once a term")
_BILINEAR = (Homogeneous({"x": 1, "w": 1}),)


def _each(value: Any, rank: int) -> tuple[int, ...]:
    return (value,) * rank if isinstance(value, int) else tuple(value)


def fits(shapes: Shapes, parameters: Any) -> bool:
    """Whether channels are grouped as the weights are, and the widened kernel fits into the padded input."""
    x, w = shapes
    rank, groups = len(x) - 2, parameters["groups"]
    if x[-1] != w[-1] * groups or w[0] % groups:
        return False
    stride, padding = _each(parameters["stride"], rank), _each(parameters["padding"], rank)
    dilation = _each(parameters["dilation"], rank)
    if not len(stride) == len(padding) == len(dilation) == rank:
        return False
    return all(
        size + 2 * pad >= 1 + step * (kernel - 1)
        for size, kernel, pad, step in zip(x[1:-1], w[1:-1], padding, dilation, strict=True)
    )


def _call(rank: int) -> Any:
    def call(x: mx.array, w: mx.array, stride: Any, padding: Any, dilation: Any, groups: int) -> mx.array:
        return getattr(mx, f"conv{rank}d")(x, w, stride, padding, dilation, groups)

    return call


def _body(m: Any, x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    return m.conv(x, w, stride=stride, padding=padding, kernel_dilation=dilation, groups=groups)


def _convolution(rank: int, shapes: tuple[Shapes, ...], parameters: dict[str, tuple[Any, ...]]) -> Operation:
    return Operation(
        name=f"mx.conv{rank}d",
        arguments=("x", "w"),
        call=_call(rank),
        body=_body,
        shapes=shapes,
        parameters=parameters,
        symmetries=_BILINEAR,
        tolerance=_SUM,
        valid=fits,
        mixed=rank == 1,
        slow=rank == 3,
        text=f"mx.conv{rank}d(x, w, {{stride}}, {{padding}}, {{dilation}}, {{groups}})",
    )


OPERATIONS = (
    _convolution(
        1,
        (
            ((1, 5, 2), (2, 3, 2)),
            ((2, 4, 2), (2, 2, 1)),
            ((1, 1, 1), (1, 1, 1)),
            ((1, 6, 4), (4, 3, 1)),
            ((0, 3, 1), (1, 2, 1)),
        ),
        {"stride": (1, 2, 3), "padding": (0, 1, 2), "dilation": (1, 2, 3), "groups": (1, 2, 4)},
    ),
    _convolution(
        2,
        (((1, 3, 3, 1), (2, 2, 2, 1)), ((1, 3, 4, 2), (2, 2, 1, 1)), ((1, 4, 3, 4), (4, 1, 2, 1))),
        {
            "stride": (1, 2, (2, 1)),
            "padding": (0, 1, (0, 1)),
            "dilation": (1, 2, (1, 2)),
            "groups": (1, 2, 4),
        },
    ),
    _convolution(
        3,
        (((1, 2, 3, 2, 1), (1, 2, 2, 1, 1)), ((1, 2, 2, 2, 2), (2, 1, 2, 1, 1)), ((1, 2, 2, 1, 4), (4, 1, 2, 1, 1))),
        {
            "stride": (1, 2, (1, 2, 1)),
            "padding": (0, 1, (0, 1, 0)),
            "dilation": (1, 2, (1, 1, 2)),
            "groups": (1, 2, 4),
        },
    ),
)
