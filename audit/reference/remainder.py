"""Bounds of high derivatives along a line segment, proven by Arb: the remainder of a central difference."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np
from flint import arb

from audit.case import Function
from audit.formats import Floats
from audit.reference import taylor
from audit.reference.balls import precision
from audit.reference.trace import trace

# The bound need not be sharp.
BITS = 64


@dataclass(frozen=True)
class Line:
    """Line segments through points, one a row.

    Args:
        function: what is evaluated on them.
        primals, directions: one array ``[rows, *shape]`` an argument.
        step: float64 [rows], the length on the line that counts as 1.
    """

    function: Function
    primals: tuple[Floats, ...]
    directions: tuple[Floats, ...]
    step: Floats


def largest_derivatives(line: Line, half_width: float, order: int) -> Floats:
    """Upper bounds of ``step**order`` times the derivative of this order on the segment of half the given width.

    Args:
        line: where.
        half_width: in steps.
        order: of the derivative along the line.

    Returns:
        float64 ``[rows, outputs]``; not finite where there is no bound.
    """
    shapes = tuple(p.shape[1:] for p in line.primals)
    traced = trace(line.function.body, shapes, (1,) * len(shapes), 1)
    program = traced.builder.extract(traced.outputs)
    rows = len(line.step)
    columns = {
        f"p{place}.{element}": (primal.reshape(rows, -1)[:, element], direction.reshape(rows, -1)[:, element])
        for place, (primal, direction) in enumerate(zip(line.primals, line.directions, strict=True))
        for element in range(primal[0].size)
    }
    with precision(BITS):
        steps = [arb(step) for step in line.step.tolist()]
        slopes = {
            name: [arb(slope) * step for slope, step in zip(direction.tolist(), steps, strict=True)]
            for name, (_, direction) in columns.items()
            if name in program.inputs and direction.any()
        }

        def segments(name: str) -> list[arb]:
            centres = columns[name][0].tolist()
            if name not in slopes:
                return [arb(x) for x in centres]
            return [arb(x, half_width * abs(slope)) for x, slope in zip(centres, slopes[name], strict=True)]

        if not slopes:
            return np.zeros((rows, len(program.outputs)))
        coefficients = taylor.along(program, slopes, order, segments)
        factor = factorial(order)
        bounds = [[float((factor * c).abs_upper()) for c in column] for column in coefficients]
    return np.nextafter(np.array(bounds).T, np.inf)
