"""The hulls of all columns of a batch together, at the points where a derivative is a set."""

from __future__ import annotations

from itertools import chain

import numpy as np
from flint import arb
from numpy.typing import NDArray

from audit.reference import balls
from audit.reference.certify import EXACT_PRECISION, FIRST_PRECISION, At, Numbers, resolved_at
from audit.reference.convert import Converted, convert
from audit.reference.enclosure import Enclosures, State
from audit.reference.plan import Plan
from audit.reference.resolve import Group
from audit.reference.store import Corners

# Beyond this the vertices are as wide as they are.
LAST_PRECISION = 2048


def gathered(plan: Plan, sets: list[tuple[int, Group]]) -> list[Corners] | None:
    """The hulls that were found on the way; None if they are not sharp enough.

    Args:
        plan: all columns that are compared together.
        sets: groups of results, with their points.
    """
    column, lane = _places(plan)
    with balls.precision(EXACT_PRECISION):
        flat = [x for _, group in sets for vertex in group.vertices for x in vertex]
        enclosures, narrow = _converted([flat])
    if not narrow:
        return None
    found, start = [], 0
    for point, group in sets:
        shape = (len(group.vertices), len(group.lanes))
        stop, lanes = start + shape[0] * shape[1], np.array(group.lanes, np.int64)
        found.append(Corners(point, column[lanes], lane[lanes], enclosures.take((0, slice(start, stop))).shaped(shape)))
        start = stop
    return found


def _places(plan: Plan) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each lane of a plan its column, and its place there."""
    column = np.repeat(np.arange(len(plan.columns)), [c.count for c in plan.columns])
    return column, np.concatenate([np.arange(c.count) for c in plan.columns])


def corners(plan: Plan, inputs: Numbers, points: NDArray[np.integer]) -> list[Corners]:
    """The hulls of a plan's results at some points.

    Args:
        plan: all columns that are compared together.
        inputs: the numbers of each input at every point, by its name.
        points: where a result is a set.
    """
    column, lane = _places(plan)
    found = []
    for point in points.tolist():
        bits = FIRST_PRECISION
        while True:
            resolved = resolved_at(plan, At(inputs, point), bits)
            with balls.precision(max(bits, EXACT_PRECISION)):
                converted = [_converted(group.vertices) for group in resolved.groups]
            if bits >= LAST_PRECISION or (State.INCONCLUSIVE not in resolved.states and all(n for _, n in converted)):
                break
            bits *= 2
        for group, (vertices, _) in zip(resolved.groups, converted, strict=True):
            lanes = np.array(group.lanes, np.int64)
            found.append(Corners(point, column[lanes], lane[lanes], vertices))
    return found


def _converted(vertices: list[list[arb]]) -> tuple[Enclosures, bool]:
    """The enclosures of numbers, and whether all of them are narrow."""
    flat: Converted = convert(list(chain.from_iterable(vertices)))
    shape = (len(vertices), -1)
    states = np.where(flat.narrow, State.KNOWN, State.INCONCLUSIVE).astype(np.uint8)
    sizes, exponents = np.full(len(states), np.nan), np.zeros(len(states), np.int64)
    return Enclosures(
        flat.head.reshape(shape),
        flat.tail.reshape(shape),
        flat.radius.reshape(shape),
        flat.exponent.reshape(shape),
        states.reshape(shape),
        sizes.reshape(shape),
        exponents.reshape(shape),
    ), bool(flat.narrow.all())
