"""Points of elementwise operations: thousands of numbers over the whole range of a format in one call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from audit.formats import Floats, Format
from audit.operation import Operation
from audit.points import numbers
from audit.points.points import Points

# Exponents of each argument on the grid, by number of arguments.
DENSITY = {1: 80, 2: 9, 3: 4, 4: 3}
# The largest number of points on the grid, by number of arguments; of more arguments 700.
MOST = {1: 6000, 2: 1500}
SIGNIFICANDS = ((1.0, 1.5, 1.25), (1.25,), (1.75,), (1.125,))
RANDOM = 200
# Values of the weights at which everything is asked once more, relative to the first.
WEIGHT_EXPONENTS = 24


def points(operation: Operation, fmt: Format, scale: float) -> Iterator[Points]:
    """Points of an elementwise operation in a real format.

    Args:
        operation: whose domain and singular points are read.
        fmt: the format.
        scale: multiplies the density.
    """
    rng = numbers.generator(operation.name, fmt.name)
    yield _weighted("range", _grid(operation, fmt, scale), fmt, rng)
    yield _weighted("random", _random(operation, fmt, max(int(RANDOM * scale), 16), rng), fmt, rng)
    special = _special(operation, fmt)
    if len(special[0]):
        yield _with_zeros("singular", special, fmt, rng)
    if len(operation.arguments) > 1:
        yield _weighted("near equal", _near_equal(operation, fmt), fmt, rng)


def complex_points(operation: Operation, fmt: Format, scale: float) -> Iterator[Points]:
    """Points of an elementwise operation in a complex format: real and imaginary parts over the range by themselves."""
    rng = numbers.generator(operation.name, fmt.name)
    counts = {1: 7, 2: 3}.get(len(operation.arguments), 2)
    columns = []
    for place, (name, own) in enumerate(zip(operation.arguments, _formats(operation, fmt), strict=True)):
        values = operation.values_in(name, own)
        count = max(int(counts * scale), 2)
        parts = numbers.over_range(fmt, values, count, (SIGNIFICANDS[place % 4][-1],))
        parts = np.concatenate([parts, numbers.ordinary(fmt, values, 4 if place == 0 else 2)])
        if own.parts == 1:
            columns.append(parts)
            continue
        whole = np.add.outer(parts, 1j * np.concatenate([fmt.round(parts * 0.75), [0.0]])).reshape(-1)
        # Without negative zeros: on which side of a cut they lie, only formats know.
        columns.append(np.concatenate([whole, 1j * parts]) + 0.0)
    limit = max(int(1500 * scale), 100)
    table = _product(columns, limit, rng)
    yield _turned(_weighted("range", table, fmt, rng), operation, fmt, rng)
    special = _special_complex(operation, fmt)
    if len(special[0]):
        yield _turned(_with_zeros("singular", special, fmt, rng), operation, fmt, rng)


def _special_complex(operation: Operation, fmt: Format) -> tuple[Floats, ...]:
    """Singular points on the real axis, turned onto the imaginary one, and their neighbours in all directions."""
    columns = []
    for name, own in zip(operation.arguments, _formats(operation, fmt), strict=True):
        values = operation.values_in(name, own)
        found = [point for point in values.singular if np.isfinite(point) and fmt.round(point) == point]
        near = np.array([0.0, 2.0**-4, -(2.0**-10)])
        if own.parts == 2:
            near = np.add.outer(near, 1j * near).reshape(-1)
            beside = np.add.outer(np.array([*found, *(1j * point for point in found)]), near).reshape(-1) + 0.0
        else:
            beside = np.add.outer(np.array(found), near).reshape(-1)
        columns.append(np.unique(beside) if found else np.array([1.25]))
    if not any(operation.values_of(name).singular for name in operation.arguments):
        return tuple(column[:0] for column in columns)
    return _product(columns, 300, numbers.generator(operation.name, "special complex"))


def _turned(points: Points, operation: Operation, fmt: Format, rng: np.random.Generator) -> Points:
    """Weights in all directions of the plane, where the weighted numbers are complex."""

    def turn(weight: Floats, own: Format) -> Floats:
        return weight * rng.choice([1, 1j, 1 - 0.5j, -0.25j], len(weight)) if own.parts == 2 else weight

    return replace(
        points,
        cotangent=turn(points.cotangent, operation.result_format(fmt) or fmt),
        tangents=tuple(map(turn, points.tangents, _formats(operation, fmt))),
    )


def _formats(operation: Operation, fmt: Format) -> tuple[Format, ...]:
    return operation.argument_formats(fmt) or (fmt,) * len(operation.arguments)


def _grid(operation: Operation, fmt: Format, scale: float) -> tuple[Floats, ...]:
    count = max(int(DENSITY.get(len(operation.arguments), 3) * scale), 3)
    columns = []
    for place, name in enumerate(operation.arguments):
        values = operation.values_of(name)
        column = numbers.over_range(fmt, values, count, SIGNIFICANDS[place % 4])
        extra = numbers.ordinary(fmt, values, 64 if len(operation.arguments) == 1 else 4)
        columns.append(np.concatenate([column, extra]))
    return _product(columns, MOST.get(len(columns), 700), numbers.generator(operation.name, "grid"))


def _product(columns: list[Floats], limit: int, rng: np.random.Generator) -> tuple[Floats, ...]:
    """All combinations, or if those are too many, so many of them, each value about equally often."""
    whole = int(np.prod([len(column) for column in columns]))
    if whole > limit:
        return tuple(np.resize(rng.permutation(column), limit) if k == 0 else rng.choice(column, limit)
                     for k, column in enumerate(columns))  # fmt: skip
    mesh = np.meshgrid(*columns, indexing="ij")
    return tuple(column.reshape(-1) for column in mesh)


def _random(operation: Operation, fmt: Format, count: int, rng: np.random.Generator) -> tuple[Floats, ...]:
    columns = [numbers.drawn(fmt, operation.values_of(name), count, rng) for name in operation.arguments]
    size = min(map(len, columns))
    return tuple(rng.permutation(column)[:size] for column in columns)


def _special(operation: Operation, fmt: Format) -> tuple[Floats, ...]:
    """Singular points and their neighbours, combined with those of the other arguments and a few ordinary numbers."""
    columns = []
    for name in operation.arguments:
        values = operation.values_of(name)
        beside = numbers.beside_singular(fmt, values, 8 if len(operation.arguments) == 1 else 3)
        if len(operation.arguments) > 1:
            beside = np.concatenate(
                [beside, numbers.over_range(fmt, values, 3, (1.5,)), numbers.ordinary(fmt, values, 4)]
            )
        columns.append(np.unique(beside))
    if not any(operation.values_of(name).singular for name in operation.arguments):
        return tuple(column[:0] for column in columns)
    return _product(columns, MOST.get(len(columns), 700) // 2, numbers.generator(operation.name, "special"))


def _near_equal(operation: Operation, fmt: Format) -> tuple[Floats, ...]:
    """Operands that are equal, or differ in their last bits, at several exponents; other arguments equal as well."""
    values = [operation.values_of(name) for name in operation.arguments]
    shared = numbers.over_range(fmt, values[0], 9, (1.0, 1.375))
    shared = np.concatenate([shared, numbers.ordinary(fmt, values[0], 8)])
    rows = []
    for step in (0, 1, 3, fmt.precision // 2, fmt.precision - 1):
        for sign in (1, -1):
            factor = 1.0 if step == 0 else 1 + sign * 2.0**-step
            columns = [shared]
            for _ in pairwise(values):
                with np.errstate(over="ignore"):
                    columns.append(fmt.round(columns[-1] * factor))
            rows.append(columns)
    table = [np.concatenate([row[place] for row in rows]) for place in range(len(values))]
    good = np.all([np.isfinite(c) & numbers.admissible(c, v) for c, v in zip(table, values, strict=True)], axis=0)
    return tuple(column[good] for column in table)


def _weighted(group: str, primals: tuple[Floats, ...], fmt: Format, rng: np.random.Generator) -> Points:
    """Every point with weights of 1, and once more with weights of other signs and exponents."""
    count = len(primals[0])
    ones = np.ones(count)
    reach = min(WEIGHT_EXPONENTS, fmt.emax - 4)
    scaled = [_scaled(count, reach, rng) for _ in range(1 + len(primals))]
    cotangent, *tangents = [np.concatenate([ones, column]) for column in scaled]
    return Points(group, tuple(np.concatenate([p, p]) for p in primals), cotangent, tuple(tangents))


def _with_zeros(group: str, primals: tuple[Floats, ...], fmt: Format, rng: np.random.Generator) -> Points:
    """Every point with weights of 1, with other ones, and with zero."""
    first = _weighted(group, primals, fmt, rng)
    zero = np.zeros(len(primals[0]))
    return Points(
        group,
        tuple(np.concatenate([p, p, p]) for p in primals),
        np.concatenate([first.cotangent, zero]),
        tuple(np.concatenate([t, zero]) for t in first.tangents),
    )


def _scaled(count: int, reach: int, rng: np.random.Generator) -> Floats:
    exponent = rng.integers(-reach, reach + 1, count)
    return rng.choice([1.0, -1.0, 1.5, -1.25], count) * np.ldexp(1.0, exponent)
