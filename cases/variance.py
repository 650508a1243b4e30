"""Variances and standard deviations along axes; those of complex numbers are real."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Homogeneous, Operation, Permutation, Shape, Shapes, Shift, Values
from cases.fitting import nonempty_axes_fit

_SHAPES: tuple[Shapes, ...] = (((2, 3),), ((4,),), ((1, 4),), ((2, 2, 2),))
_STABLE = Tolerance(terms=8, reason="a mean, a difference, a square and a mean in the format, one after another")
_SYMMETRIES = (Shift("x"), Permutation(("x",), axis=-1))
# Differences of which the square is out of a format's range and the variance in it.
_VALUES = {"x": Values(singular=(400.0, 2.0**64))}


def _variance(m: Any, x: Any, axis: Any, keepdims: bool, ddof: int) -> Any:
    deviation = m.subtract(x, m.mean(x, axis, keepdims=True))
    squares = m.add(m.square(m.real(deviation)), m.square(m.imag(deviation)))
    return m.divide(m.sum(squares, axis, keepdims=keepdims), _count(x.shape, axis) - ddof)


def _count(shape: Shape, axis: Any) -> int:
    axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    count = 1
    for one in axes:
        count *= shape[one]
    return count


def _valid(shapes: Shapes, parameters: Any) -> bool:
    """More numbers than what is taken off their count."""
    less = parameters.get("ddof", 0) or parameters.get("correction") or 0
    return nonempty_axes_fit(shapes, parameters) and _count(shapes[0], parameters["axis"]) > max(less, 1)


def _operations(name: str, deviation: bool) -> tuple[Operation, ...]:
    def body(m: Any, x: Any, axis: Any, keepdims: bool = False, ddof: int = 0) -> Any:
        found = _variance(m, x, axis, keepdims, ddof)
        return m.sqrt(found) if deviation else found

    def corrected(m: Any, x: Any, axis: Any, correction: int | None) -> Any:
        return body(m, x, axis, ddof=correction or 0)

    homogeneous = Homogeneous({"x": 1 if deviation else 2})
    return (
        Operation(
            name=f"mx.{name}",
            arguments=("x",),
            call=lambda x, axis, keepdims, ddof: getattr(mx, name)(x, axis=axis, keepdims=keepdims, ddof=ddof),
            body=body,
            shapes=_SHAPES,
            parameters={"axis": (None, 0, -1, (0, 1)), "keepdims": (False, True), "ddof": (0, 1, 2)},
            values=_VALUES,
            symmetries=(homogeneous, *_SYMMETRIES),
            tolerance=_STABLE,
            formats=(*REAL_FORMATS, "complex64"),
            result="real",
            also=(f"mx.array.{name}",),
            valid=_valid,
        ),
        Operation(
            name=f"mx.array.{name}[correction]",
            arguments=("x",),
            call=lambda x, axis, correction: getattr(x, name)(axis, correction=correction),
            body=corrected,
            shapes=_SHAPES[:2],
            parameters={"axis": (-1, None), "correction": (1, None, 2, 0)},
            tolerance=_STABLE,
            valid=_valid,
            text=f"x.{name}({{axis}}, correction={{correction}})",
        ),
    )


OPERATIONS = (*_operations("var", deviation=False), *_operations("std", deviation=True))
