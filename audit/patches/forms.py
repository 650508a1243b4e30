"""Forms of an implementation: its function compiled first, or mapped over the points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from audit.case import Batch

Called = Callable[..., Any]


def compiled(function: Called, _: Batch) -> Called:
    """The function through `mx.compile`."""

    # A function object of its own: MLX keeps traces by function, and a trace keeps the rule it was made under.
    def fresh(*arguments: Any) -> Any:
        return function(*arguments)

    return mx.compile(fresh)


def vmapped(function: Called, batch: Batch) -> Called:
    """The function of one point through `mx.vmap` over points; what is not elementwise, over an axis of length 1."""
    if batch.function.elementwise:
        return mx.vmap(function)
    return lambda *xs: mx.squeeze(mx.vmap(function)(*(mx.expand_dims(x, 0) for x in xs)), 0)
