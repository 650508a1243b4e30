"""Forms of an implementation: its function compiled first, or mapped over the points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from audit.case import Batch
from audit.modes import to_mlx

Traced = Callable[..., Any]


def compiled(function: Traced, _: Batch) -> Traced:
    """The function through `mx.compile`."""

    # A function object of its own: MLX keeps traces by function, and a trace keeps the rule it was made under.
    def fresh(*arguments: Any) -> Any:
        return function(*arguments)

    return mx.compile(fresh)


def vmapped(arithmetic: Callable[[], Any], function: Traced, batch: Batch) -> Traced:
    """The function of one point through `mx.vmap` over the points; what is not elementwise, over an axis of length 1.

    Args:
        arithmetic: the implementation's.
        function: takes the traced arguments, and holds the others with all their points.
        batch: says which arguments are traced, and has the values of the others.
    """
    if not batch.function.elementwise or batch.wrap:
        return lambda *xs: mx.squeeze(mx.vmap(function)(*(mx.expand_dims(x, 0) for x in xs)), 0)
    # Written anew from the body: an argument that the function holds would come with all points to each point.
    fixed = [to_mlx(primal, batch.format, batch.layout) for primal in batch.primals]
    namespace = arithmetic()

    def of_one_point(*arguments: Any) -> Any:
        return batch.function.body(namespace, *arguments)

    def over_points(*xs: mx.array) -> Any:
        given = dict(zip(batch.mode.traced, xs, strict=True))
        return mx.vmap(of_one_point)(*(given.get(i, x) for i, x in enumerate(fixed)))

    return over_points
