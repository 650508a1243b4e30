"""Right rules: what MLX's derivatives of the same function, written otherwise, give."""

# ruff: noqa: ARG005  a piece takes what MLX gives, whether it asks for it or not

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from planted.compared import operations
from planted.plant import At, Piece, Plant, in_float64, pulled, pushed

FIRST = At(("vjp", "jvp"))
SECOND = At(("vjp", "jvp", "second-rr"))


def otherwise(
    name: str, operation: str, function: Callable[..., mx.array], at: At = FIRST, *, wide: bool = False
) -> Plant:
    """Rules by another function with the same values.

    Args:
        name: how it is written.
        operation: name of the operation.
        function: called as the operation is.
        at: what is asked; tangents are MLX's own where it has no jvp.
        wide: whether it is computed in float64.
    """
    given = in_float64(function) if wide else function
    names = operations()[operation].arguments
    return Plant(
        name,
        operation,
        {argument: pulled(given, place) for place, argument in enumerate(names)},
        {argument: pushed(given, place) for place, argument in enumerate(names)} if "jvp" in at.kinds else {},
        at=at,
    )


def formula(name: str, operation: str, at: At = FIRST, jvp: dict[str, Any] | None = None, **vjp: Any) -> Plant:
    """Rules by formulas ``f(weight, *primals, **parameters)`` for arguments by name."""
    names = operations()[operation].arguments

    def pull(argument: str, function: Callable[..., mx.array]) -> Piece:
        place = names.index(argument)
        return lambda own, w, *xs, **parameters: function(w, *xs, **parameters).astype(xs[place].dtype)

    def push(function: Callable[..., mx.array]) -> Piece:
        return lambda own, t, *xs, **parameters: function(t, *xs, **parameters)

    return Plant(
        name,
        operation,
        {argument: pull(argument, function) for argument, function in vjp.items()},
        {argument: push(function) for argument, function in (jvp or {}).items()},
        at=at,
    )
