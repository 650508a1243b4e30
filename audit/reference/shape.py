"""The shape of a function's result, from its body alone."""

from __future__ import annotations

from audit.case import Function
from audit.reference.trace import Shape, trace


def result_shape(function: Function, shapes: tuple[Shape, ...], parts: tuple[int, ...], result_parts: int) -> Shape:
    """The shape that a function gives arguments of these shapes.

    Args:
        function: the function.
        shapes: of its arguments.
        parts: for each argument 2 if its numbers are complex, otherwise 1.
        result_parts: likewise for the result.
    """
    return trace(function.body, shapes, parts, result_parts).shape
