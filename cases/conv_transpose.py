"""Transposed convolutions in one to three dimensions, channels last."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Shapes

_SUM = Tolerance(terms=2, reason="a sum of products rounds once a term")


def _each(value: Any, rank: int) -> tuple[int, ...]:
    return (value,) * rank if isinstance(value, int) else tuple(value)


def _fits(shapes: Shapes, parameters: Any) -> bool:
    """Whether channels are grouped as the weights are, and anything is left after the padding is cut."""
    x, w = shapes
    rank, groups = len(x) - 2, parameters["groups"]
    if x[-1] != w[-1] * groups or w[0] % groups:
        return False
    names = ("stride", "padding", "dilation", "output_padding")
    values = [_each(parameters[name], rank) for name in names]
    if not all(len(value) == rank for value in values):
        return False
    stride, padding, dilation, extra = values
    return all(
        extra[k] < max(stride[k], dilation[k])
        and padding[k] <= dilation[k] * (w[k + 1] - 1)
        and (x[k + 1] - 1) * stride[k] - 2 * padding[k] + dilation[k] * (w[k + 1] - 1) + extra[k] + 1 > 0
        for k in range(rank)
    )


def _transposed(rank: int, shapes: tuple[Shapes, ...], parameters: dict[str, tuple[Any, ...]]) -> Operation:
    def call(x: mx.array, w: mx.array, **given: Any) -> mx.array:
        return getattr(mx, f"conv_transpose{rank}d")(x, w, **given)

    def body(m: Any, x: Any, w: Any, **given: Any) -> Any:
        return m.conv_transpose(x, w, **given)

    return Operation(
        name=f"mx.conv_transpose{rank}d",
        arguments=("x", "w"),
        call=call,
        body=body,
        shapes=shapes,
        parameters=parameters,
        symmetries=(Homogeneous({"x": 1, "w": 1}),),
        tolerance=_SUM,
        valid=_fits,
        slow=rank == 3,
    )


OPERATIONS = (
    _transposed(
        1,
        (((1, 3, 2), (2, 3, 2)), ((2, 3, 2), (2, 2, 1)), ((1, 1, 1), (1, 1, 1)), ((1, 4, 4), (4, 2, 1))),
        {
            "stride": (1, 2, 3),
            "padding": (0, 1, 2),
            "dilation": (1, 2, 3),
            "output_padding": (0, 1, 2),
            "groups": (1, 2, 4),
        },
    ),
    _transposed(
        2,
        (
            ((1, 2, 2, 1), (2, 2, 2, 1)),
            ((1, 2, 2, 2), (2, 2, 1, 1)),
            ((1, 3, 3, 1), (1, 3, 3, 1)),
            ((1, 2, 2, 4), (4, 2, 2, 1)),
        ),
        {
            "stride": (1, 2, (2, 1)),
            "padding": (0, 1, (0, 1)),
            "dilation": (1, 2, (1, 2)),
            "output_padding": (0, 1, (1, 0)),
            "groups": (1, 2, 4),
        },
    ),
    _transposed(
        3,
        (
            ((1, 2, 2, 1, 1), (1, 2, 2, 2, 1)),
            ((1, 2, 1, 2, 2), (2, 1, 2, 1, 1)),
            ((1, 2, 2, 2, 1), (1, 2, 2, 2, 1)),
            ((1, 2, 1, 1, 4), (4, 1, 2, 1, 1)),
        ),
        {
            "stride": (1, 2, (1, 2, 1)),
            "padding": (0, 1, (0, 1, 0)),
            "dilation": (1, 2, (1, 1, 2)),
            "output_padding": (0, 1, (0, 1, 0)),
            "groups": (1, 2, 4),
        },
    ),
)
