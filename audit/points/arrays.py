"""Points of operations on arrays: a few arrays of few digits, scaled over the range, and what is special in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from audit.families import power
from audit.formats import Floats, Format
from audit.operation import Operation, Permutation, Shape, Shapes, Shift
from audit.points import numbers
from audit.points.points import Points

Arrays = list[Floats]

# Exponents below that of the largest number at which sums stay clear of it, in whatever order they are taken.
HEADROOM = 5


@dataclass(frozen=True)
class Place:
    """What is asked at: an operation with shapes, in a format.

    Args:
        operation: whose declarations are read.
        shapes: of the arguments.
        result: shape of the result.
        format: the batch's format.
        scale: multiplies the number of points.
    """

    operation: Operation
    shapes: Shapes
    result: Shape
    format: Format
    scale: float = 1.0

    @property
    def formats(self) -> tuple[Format, ...]:
        """Formats of the arguments."""
        return self.operation.argument_formats(self.format) or (self.format,) * len(self.shapes)

    def rng(self, *names: object) -> np.random.Generator:
        """A generator that depends on the operation and the shapes, but not on the format: formats share points."""
        return numbers.generator(self.operation.name, self.shapes, *names)

    def arrays(self, *names: object) -> Arrays:
        """Primals of few digits."""
        rng = self.rng(*names)
        return [self._array(shape, place, rng) for place, shape in enumerate(self.shapes)]

    def _array(self, shape: Shape, place: int, rng: np.random.Generator) -> Floats:
        values = self.operation.values_in(self.operation.arguments[place], self.formats[place])
        array: Any = numbers.digits(shape, values, rng)
        if self.formats[place].parts == 2:
            array = array + 1j * numbers.digits(shape, values, rng)
        return array


def plain(place: Place, count: int = 3) -> Points:
    """A few points near 1, whose rows differ."""
    return gathered(place, "plain", [place.arrays("plain", k) for k in range(count)])


def shared(place: Place, argument: int, count: int = 3) -> Points:
    """Points that differ in all arguments but one."""
    points = [place.arrays("plain", k) for k in range(count)]
    return gathered(place, "plain", [[p if k != argument else points[0][k] for k, p in enumerate(x)] for x in points])


def equal_rows(place: Place) -> Points:
    """A point whose arrays repeat their first row, so that they can be laid out with a stride of zero."""
    arrays = place.arrays("rows")
    return gathered(
        place, "plain", [[np.broadcast_to(a[:1], a.shape).copy() if a.ndim and len(a) else a for a in arrays]]
    )


def over_range(place: Place) -> Points | None:
    """Points scaled by powers of two over the range of the format: all arguments, each alone, elements apart."""
    operation, fmt = place.operation, place.format
    base = place.arrays("plain", 0)
    free = [k for k, name in enumerate(operation.arguments) if _scalable(operation, name)]
    if not free or not any(base[k].size for k in free):
        return None
    values = operation.values_of(operation.arguments[free[0]])
    # Partial sums of terms near the edge may overflow in one order of addition and not in another.
    top = fmt.emax if operation.exact else fmt.emax - HEADROOM
    wide = numbers.exponents(fmt, values, max(int(9 * place.scale), 5)).clip(max=top)
    found: list[Arrays] = [_scaled(place, base, free, int(k)) for k in dict.fromkeys(wide.tolist()) if k]
    if len(free) > 1:
        for argument in free:
            few = numbers.exponents(fmt, values, 5).clip(max=top)
            found.extend(_scaled(place, base, [argument], int(k)) for k in few[1:-1] if k)
    rng = place.rng("spread")
    narrow = fmt.emax if values.exponents is None else min(-values.exponents[0], values.exponents[1])
    for reach in (min(fmt.emax // 2, narrow), min(6, narrow)):
        spread = [a * power(rng.integers(-reach, reach + 1, a.shape)) if k in free else a for k, a in enumerate(base)]
        found.append(_rounded(place, spread))
    kept = [arrays for arrays in found if _inside(place, arrays)]
    return gathered(place, "range", kept, scaled=True) if kept else None


def special(place: Place) -> Points | None:
    """Points with zeros, ties, singular and nearly equal elements, permuted, shifted, negated; zero weights."""
    operation = place.operation
    base = place.arrays("plain", 0)
    found: list[Arrays] = []
    for k, name in enumerate(operation.arguments):
        if not base[k].size:
            continue
        values = operation.values_of(name)
        found.extend(_with(base, k, changed) for changed in _changed(base[k], (0.0, *values.singular)))
    for symmetry in operation.symmetries:
        found.extend(_moved(place, base, symmetry))
    found.append([-a for a in base])
    kept = _distinct([arrays for arrays in (_rounded(place, a) for a in found) if _inside(place, arrays)])
    if not kept:
        return None
    points = gathered(place, "special", kept)
    return _joined(points, _one_hot(points), _zero(points))


def long(place: Place) -> Points:
    """Long arrays of equal numbers, and of small different ones."""
    rng = place.rng("long")
    ones = [np.ones(shape) * _inner(place, k) for k, shape in enumerate(place.shapes)]
    mixed = []
    for shape, name in zip(place.shapes, place.operation.arguments, strict=True):
        few = numbers.digits((min(int(np.prod(shape, dtype=int)), 63),), place.operation.values_of(name), rng)
        mixed.append(np.resize(few, shape))
    points = gathered(place, "long", [ones, mixed])
    # Equal weights, too: their sum grows until an addition changes nothing, if it is taken in the format one by one.
    for weight in (points.cotangent, *points.tangents):
        weight[0] = 1
    return points


def gathered(place: Place, group: str, points: Sequence[Arrays], *, scaled: bool = False) -> Points:
    """Points from lists of arrays, with weights of few digits; every second one scaled against the primals if asked."""
    count, fmt = len(points), place.format
    primals = tuple(np.stack([arrays[k] for arrays in points]) for k in range(len(place.shapes)))
    rng = place.rng("weights", group)
    result = place.operation.result_format(fmt) or fmt
    cotangent = np.stack([_weight(place.result, result, rng) for _ in range(count)])
    tangents = tuple(
        np.stack([_weight(shape, own, rng) for _ in range(count)])
        for shape, own in zip(place.shapes, place.formats, strict=True)
    )
    if scaled:
        for k in range(1, count, 2):
            largest = max((float(np.abs(p[k]).max()) for p in primals if p[k].size), default=1.0)
            reach = min(fmt.emax, result.emax) - 8
            exponent = int(np.clip(-np.frexp(largest)[1], -reach, reach)) if largest else 0
            cotangent[k] *= 2.0**exponent
    return Points(group, primals, cotangent, tangents)


def _scalable(operation: Operation, name: str) -> bool:
    values = operation.values_of(name)
    return values.scaled and not values.bounded


def _scaled(place: Place, base: Arrays, which: Sequence[int], exponent: int) -> Arrays:
    # In two steps, neither of which leaves float64's range.
    half = exponent // 2
    scaled = [a * float(power(half)) * float(power(exponent - half)) if k in which else a for k, a in enumerate(base)]
    return _rounded(place, scaled)


def _rounded(place: Place, arrays: Arrays) -> Arrays:
    found = []
    for array, fmt in zip(arrays, place.formats, strict=True):
        if np.iscomplexobj(array):
            found.append(fmt.round(array.real) + 1j * fmt.round(array.imag))
        else:
            found.append(fmt.round(array))
    return found


def _inside(place: Place, arrays: Arrays) -> bool:
    """Whether all numbers are finite and, if real, in their domain."""
    for array, name in zip(arrays, place.operation.arguments, strict=True):
        if not np.isfinite(array).all():
            return False
        if not np.iscomplexobj(array) and not numbers.admissible(array, place.operation.values_of(name)).all():
            return False
    return True


def _with(base: Arrays, place: int, array: Floats) -> Arrays:
    return [array if k == place else a for k, a in enumerate(base)]


def _changed(array: Floats, marks: Sequence[float]) -> Iterator[Floats]:
    """One array with marked values at one, two or all elements, with ties, and with nearly equal elements."""
    flat = array.reshape(-1)
    for mark in marks:
        if not np.isfinite(mark):
            continue
        for positions in ([0], [0, flat.size - 1], list(range(flat.size))):
            changed = flat.copy()
            changed[positions] = mark
            yield changed.reshape(array.shape)
    if flat.size > 1:
        tied = flat.copy()
        tied[1] = tied[0]
        yield tied.reshape(array.shape)
        yield np.full_like(array, flat[0])
        yield (flat[0] * (1 + np.arange(flat.size) % 5 / 128)).reshape(array.shape)


def _moved(place: Place, base: Arrays, symmetry: object) -> Iterator[Arrays]:
    """Points that a symmetry connects with the base."""
    names = place.operation.arguments
    if isinstance(symmetry, Permutation):
        moved = list(base)
        for name in symmetry.arguments:
            array, axis = moved[names.index(name)], symmetry.axis
            size = array.shape[axis] if array.ndim else 0
            if size > 2:
                # A cycle of length three or more is not its own inverse.
                moved[names.index(name)] = np.roll(array, 1, axis)
        yield moved
    if isinstance(symmetry, Shift):
        k = names.index(symmetry.argument)
        precision, top = place.format.precision, place.format.emax - HEADROOM
        for exponent in sorted({min(e, top) for e in (4, precision - 4, precision + 4, top)}):
            for sign in (1.0, -1.0):
                yield _with(base, k, base[k] + sign * float(power(exponent)))


def _distinct(points: list[Arrays]) -> list[Arrays]:
    found: dict[bytes, Arrays] = {}
    for arrays in points:
        found.setdefault(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays), arrays)
    return list(found.values())


def _weight(shape: Shape, fmt: Format, rng: np.random.Generator) -> Floats:
    size = int(np.prod(shape, dtype=int))
    weight: Any = (rng.choice([1.0, -1.0], size) * rng.integers(4, 16, size) / 8).reshape(shape)
    if fmt.parts == 2:
        weight = weight + 1j * (rng.integers(-15, 16, size) / 8).reshape(shape)
    return weight


def _one_hot(points: Points) -> Points:
    """The same points with a cotangent, and tangents, that are zero but for one element."""

    def only(weight: Floats, element: int) -> Floats:
        flat = weight.reshape(len(weight), -1).copy()
        if flat.shape[1] > 1:
            keep = element % flat.shape[1]
            flat[:, np.arange(flat.shape[1]) != keep] = 0
        return flat.reshape(weight.shape)

    return Points(points.group, points.primals, only(points.cotangent, -1), tuple(only(t, -1) for t in points.tangents))


def _zero(points: Points) -> Points:
    """The same points with all weights zero."""
    return Points(
        points.group, points.primals, np.zeros_like(points.cotangent), tuple(map(np.zeros_like, points.tangents))
    )


def _joined(*parts: Points) -> Points:
    return Points(
        parts[0].group,
        tuple(np.concatenate(columns) for columns in zip(*(p.primals for p in parts), strict=True)),
        np.concatenate([p.cotangent for p in parts]),
        tuple(np.concatenate(columns) for columns in zip(*(p.tangents for p in parts), strict=True)),
    )


def _inner(place: Place, argument: int) -> float:
    """One number of an argument's domain: 1 if that lies in it."""
    values = place.operation.values_of(place.operation.arguments[argument])
    return 1.0 if values.low < 1 < values.high else float(numbers.digits((1,), values, place.rng("inner"))[0])
