"""Layers of convolutions."""

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Operation, Shapes
from cases.layers import weighted

_SUM = Tolerance(terms=4, reason="products are added one after another, and then the bias")
_STEPS = {
    1: {"stride": (1, 2, 3), "padding": (0, 1, 2), "dilation": (1, 2, 3)},
    2: {"stride": (1, 2, (1, 2)), "padding": (0, 1, (1, 0)), "dilation": (1, 2, (1, 2))},
    3: {"stride": (1, 2, (1, 2, 1)), "padding": (0, 1, (1, 0, 0)), "dilation": (1, 2, (1, 1, 2))},
}
_ADDED = {1: (0, 1, 2), 2: (0, 1, (1, 0)), 3: (0, 1, (1, 0, 0))}
_FORWARD: dict[int, tuple[Shapes, ...]] = {
    1: (((1, 5, 2), (2, 2, 2), (2,)), ((2, 4, 2), (2, 2, 1), (2,)), ((1, 3, 4), (4, 1, 1), (4,))),
    2: (((1, 3, 3, 2), (1, 2, 2, 2), (1,)), ((1, 3, 3, 2), (2, 2, 1, 1), (2,)), ((1, 2, 1, 4), (4, 1, 1, 1), (4,))),
    3: (((1, 3, 2, 2, 1), (1, 2, 1, 2, 1), (1,)), ((1, 2, 2, 2, 1), (2, 1, 1, 1, 1), (2,))),
}
_BACKWARD: dict[int, tuple[Shapes, ...]] = {
    1: (((1, 3, 2), (2, 2, 2), (2,)), ((2, 2, 1), (1, 3, 1), (1,))),
    2: (((1, 2, 2, 2), (1, 2, 2, 2), (1,)), ((1, 2, 1, 1), (2, 1, 2, 1), (2,))),
    3: (((1, 2, 2, 2, 1), (1, 2, 2, 2, 1), (1,)), ((1, 2, 1, 2, 1), (1, 1, 2, 2, 1), (1,))),
}


def _call(layer: Callable[..., nn.Module], axes: int) -> Callable[..., mx.array]:
    def call(x: mx.array, weight: mx.array, bias: mx.array, add: bool, **steps: Any) -> mx.array:
        window = weight.shape[1] if axes == 1 else tuple(weight.shape[1:-1])
        return weighted(layer(x.shape[-1], weight.shape[0], window, bias=add, **steps), weight=weight, bias=bias)(x)

    return call


def _conv(
    m: Any, x: Any, weight: Any, bias: Any, add: bool, stride: Any, padding: Any, dilation: Any, groups: int = 1
) -> Any:
    result = m.conv(x, weight, stride, padding, dilation, 1, groups)
    return m.add(result, bias) if add else result


def _transposed(
    m: Any, x: Any, weight: Any, bias: Any, add: bool, stride: Any, padding: Any, dilation: Any, output_padding: Any
) -> Any:
    result = m.conv_transpose(x, weight, stride, padding, dilation, output_padding)
    return m.add(result, bias) if add else result


def _fits(shapes: Shapes, parameters: Any) -> bool:
    """Whether channels and weights go with the groups, and the window with what is padded."""
    x, weight, _ = shapes
    axes = len(x) - 2
    padding, dilation = (
        (p,) * axes if isinstance(p, int) else p for p in (parameters["padding"], parameters["dilation"])
    )
    groups = parameters.get("groups", 1)
    spans = zip(x[1:-1], weight[1:-1], padding, dilation, strict=True)
    enough = "output_padding" in parameters or all(n + 2 * p >= (k - 1) * d + 1 for n, k, p, d in spans)
    return enough and x[-1] == weight[-1] * groups and weight[0] % groups == 0


def _fits_transposed(shapes: Shapes, parameters: Any) -> bool:
    """Whether something is left of the result, no more is taken off than the window adds, and less than a stride added.

    What `mx.conv_transpose2d` does beyond that is asked of itself.
    """
    x, weight, _ = shapes
    axes = len(x) - 2
    stride, padding, dilation, added = (
        (p,) * axes if isinstance(p, int) else p
        for p in (parameters[name] for name in ("stride", "padding", "dilation", "output_padding"))
    )
    sizes = zip(x[1:-1], weight[1:-1], stride, padding, dilation, added, strict=True)
    return all(
        (n - 1) * s + (k - 1) * d + 1 - 2 * p + a > 0 and p <= (k - 1) * d and (not a or a < s)
        for n, k, s, p, d, a in sizes
    )


def _forward(axes: int) -> Operation:
    # The layer of three axes has no groups.
    groups = {"groups": (1, 2, 4)} if axes < 3 else {}
    more = ", {groups}" if groups else ""
    return Operation(
        name=f"nn.Conv{axes}d",
        arguments=("x", "weight", "bias"),
        call=_call(getattr(nn, f"Conv{axes}d"), axes),
        body=_conv,
        shapes=_FORWARD[axes],
        parameters={"add": (True, False), **_STEPS[axes], **groups},
        tolerance=_SUM,
        valid=_fits,
        slow=True,
        text=f"mx.conv{axes}d(x, weight, {{stride}}, {{padding}}, {{dilation}}{more}) + bias * {{add}}",
    )


def _backward(axes: int) -> Operation:
    return Operation(
        name=f"nn.ConvTranspose{axes}d",
        arguments=("x", "weight", "bias"),
        call=_call(getattr(nn, f"ConvTranspose{axes}d"), axes),
        body=_transposed,
        shapes=_BACKWARD[axes],
        parameters={"add": (True, False), **_STEPS[axes], "output_padding": _ADDED[axes]},
        tolerance=_SUM,
        valid=_fits_transposed,
        slow=True,
        text=f"mx.conv_transpose{axes}d(x, weight, {{stride}}, {{padding}}, {{dilation}}, {{output_padding}})"
        " + bias * {add}",
    )


OPERATIONS = (*map(_forward, (1, 2, 3)), *map(_backward, (1, 2, 3)))
