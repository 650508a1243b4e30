"""The simplest input that shows a defect: what a row has, made simpler as long as the same thing goes wrong.

Every step tries a few simpler inputs, all in one call, and keeps the simplest that is still wrong in the same way:
numbers become 1, signs positive, mantissas lose their bits, exponents come nearer to 0. The order is fixed, so that the
same row ends as the same input. Shapes stay: the simplest row of a defect has the fewest elements already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from audit.defects.again import Asker, Place, Row, changed, is_wrong
from audit.defects.classes import Class
from audit.formats import Floats, lookup
from audit.report import record

# Rounds over all kinds of steps, and candidates asked in one call.
ROUNDS = 4
MOST = 48
# Numbers asked about in one call: of large arrays there are fewer candidates.
NUMBERS = 20_000
# Arrays of more numbers are left as they are but for whole rows and patterns.
SINGLE_STEPS = 12

# Verdicts that may become one another while an input is made simpler.
_ABRUPT = {"nan", "overflowed", "vanished", "nonzero"}
_ALIKE = {
    Class.POISON: {"nan", "overflowed"},
    Class.CANCELLATION: {"vanished", "wrong", "sign", "inaccurate", "nonzero"},
    Class.CONJUGATE: {"vanished", "wrong", "sign", "inaccurate", "nonzero"},
    Class.DROPPED: {"vanished", "wrong", "sign", "nonzero"},
    Class.VALUE: {"vanished", "wrong", "sign", "inaccurate", "nonzero"},
    Class.PRECISION: {"inaccurate", "wrong", "vanished"},
}


@dataclass(frozen=True)
class Shrunk:
    """What is left.

    Args:
        place: the question.
        row: its row, with central difference where there is one.
        steps: how many changes were kept.
    """

    place: Place
    row: Row
    steps: int


def shrink(place: Place, kind: Class, asker: Asker, begun: Row) -> Shrunk:
    """Make a wrong point simpler.

    Args:
        place: the question.
        kind: the class of its defect, which must stay.
        asker: asks again.
        begun: the row that is known.
    """
    verdicts = _ALIKE.get(kind, set()) | {begun["verdict"]}
    if kind is Class.RANGE:
        # A number that is a little off is another matter than one that is gone.
        verdicts |= _ABRUPT if begun["verdict"] in _ABRUPT else {"wrong", "sign", "inaccurate"}
    row = asker.row(place, witness=True)
    if not is_wrong(row) or row is None or row["verdict"] not in verdicts:
        # The same numbers, otherwise asked; what is known is kept.
        return Shrunk(place, begun, 0)
    steps = 0
    numbers = sum(array.size for array in place.arrays)
    most = max(min(MOST, NUMBERS // max(numbers, 1)), 2)

    def wrong(row: Row | None) -> bool:
        # A point at which the forward value fails for the first time would show another defect.
        if row is None or row["verdict"] not in verdicts or row["forward_wrong"] > begun["forward_wrong"]:
            return False
        return _ordinary(row) or not _ordinary(begun)

    for _ in range(ROUNDS if most == MOST else 1):
        before = steps
        for candidates in _steps(kind):
            while True:
                simpler = [c for c in candidates(place) if _size(c) < _size(place)][:most]
                simpler.sort(key=_size)
                found = next((c for c, r in zip(simpler, asker.rows(simpler), strict=True) if wrong(r)), None)
                if found is None:
                    break
                place, steps = found, steps + 1
        if steps == before:
            break
    final = asker.row(place, witness=True)
    return Shrunk(place, final if final is not None and is_wrong(final) else begun, steps)


def _ordinary(row: Row) -> bool:
    """Whether the right value is a normal number: a subnormal one convinces nobody."""
    return row["right"] is not None and abs(row["right"]) >= record.got_format(row).smallest_normal


Candidates = Callable[[Place], Iterator[Place]]


def _steps(kind: Class) -> list[Candidates]:
    steps: list[Candidates] = [_ones, _weights, _signs, _mantissas]
    # Where the exponents are what is wrong they are brought near one by one; elsewhere all may go at once.
    return [*steps, _exponents] if kind is Class.RANGE else [*steps, _exponents, _zeros]


def _size(place: Place) -> tuple[float, ...]:
    """How complicated a point is: numbers that are not 1, then their bits, then their exponents."""
    numbers = np.concatenate([_parts(array) for array in place.arrays]) if place.arrays else np.zeros(0)
    weights = np.concatenate([_parts(w) for w in place.batch.weights]) if place.batch.weights else np.zeros(0)
    finite = numbers[np.isfinite(numbers) & (numbers != 0)]
    exponents = np.frexp(finite)[1] - 1
    bits = sum(float(x).as_integer_ratio()[0].bit_length() for x in np.ldexp(np.frexp(finite)[0], 53) / 2.0**53)
    return (
        float((numbers != 1).sum()),
        float((weights != 1).sum()),
        float(bits),
        float((np.abs(exponents)).sum()),
        float((numbers < 0).sum()),
        float(np.abs(finite[np.abs(exponents) < 12]).sum()),
    )


def _parts(array: Floats) -> Floats:
    return (
        np.concatenate([array.real.reshape(-1), array.imag.reshape(-1)])
        if np.iscomplexobj(array)
        else (array.reshape(-1))
    )


def _with(place: Place, index: int, array: Floats) -> Iterator[Place]:
    arrays = [*place.arrays]
    arrays[index] = array
    made = changed(lambda: place.with_arrays(arrays))
    if made is not None:
        yield made


def _ones(place: Place) -> Iterator[Place]:
    """Whole arrays become 1; then single numbers."""
    yield from _replaced(place, range(len(place.arrays)), 1.0)


def _zeros(place: Place) -> Iterator[Place]:
    """Primals become 0, where that is not what is wrong."""
    yield from _replaced(place, range(len(place.batch.primals)), 0.0)


def _weights(place: Place) -> Iterator[Place]:
    """Cotangents and tangents become 1, or 0 but for one number."""
    count = len(place.batch.primals)
    yield from _replaced(place, range(count, len(place.arrays)), 1.0)


def _signs(place: Place) -> Iterator[Place]:
    """Numbers become positive."""
    for index, array in enumerate(place.arrays):
        if not np.iscomplexobj(array):
            yield from _with(place, index, np.abs(array))


def _replaced(place: Place, indices: Sequence[int] | range, value: float) -> Iterator[Place]:
    for index in indices:
        array = place.arrays[index]
        if (array != value).any():
            yield from _with(place, index, np.full_like(array, value))
    for index in indices:
        array = place.arrays[index]
        if 1 < array.size <= SINGLE_STEPS:
            for flat in np.flatnonzero(array.reshape(-1) != value):
                single = array.copy()
                single.reshape(-1)[flat] = value
                yield from _with(place, index, single)


def _mantissas(place: Place) -> Iterator[Place]:
    """Numbers lose their last bits: all of an array to few bits, then fewer and fewer of them."""
    for index, array in enumerate(place.arrays):
        for bits in (1, 2, 3, 4, 6, 8, 12):
            yield from _with(place, index, _cut(array, bits))
        if 1 < array.size <= SINGLE_STEPS:
            for flat in range(array.size):
                single = array.copy()
                single.reshape(-1)[flat] = _cut(array, 1).reshape(-1)[flat]
                yield from _with(place, index, single)


def _cut(array: Floats, bits: int) -> Floats:
    if np.iscomplexobj(array):
        result = array.copy()
        result.real, result.imag = _cut(array.real, bits), _cut(array.imag, bits)
        return result
    with np.errstate(all="ignore"):
        mantissa, exponent = np.frexp(array)
        cut = np.ldexp(np.trunc(np.ldexp(mantissa, bits)), exponent - bits)
    return np.where(np.isfinite(array), cut, array)


def _exponents(place: Place) -> Iterator[Place]:
    """Exponents come nearer to 0: of all arrays together, and of each alone, by half and by ever less."""
    arrays = place.arrays
    groups = [range(len(arrays)), *([index] for index in range(len(arrays)))]
    for group in groups:
        largest = max((_reach(arrays[index]) for index in group), default=0)
        for distance in sorted({largest, *(max(largest >> k, 1) for k in range(1, 11))}, reverse=True):
            if distance:
                moved = [_nearer(array, distance) if i in group else array for i, array in enumerate(arrays)]
                made = changed(lambda moved=moved: place.with_arrays(moved))
                if made is not None:
                    yield made


def _reach(array: Floats) -> int:
    parts = _parts(array)
    finite = parts[np.isfinite(parts) & (parts != 0)]
    return int(np.abs(np.frexp(finite)[1] - 1).max()) if len(finite) else 0


def _nearer(array: Floats, distance: int) -> Floats:
    if np.iscomplexobj(array):
        result = array.copy()
        result.real, result.imag = _nearer(array.real, distance), _nearer(array.imag, distance)
        return result
    exponent = np.frexp(array)[1] - 1
    step = -np.sign(exponent) * np.minimum(np.abs(exponent), distance)
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(array) & (array != 0), np.ldexp(array, step), array)


def in_simplest_format(place: Place, formats: Sequence[str], asker: Asker) -> Place:
    """The same numbers in a simpler format in which the defect shows, if they are numbers of it and fail there."""
    for name in formats:
        fmt = lookup(name)
        if fmt is place.batch.format:
            return place
        made = changed(lambda fmt=fmt: place.in_format(fmt))
        if made is not None and fmt.parts == place.batch.format.parts and is_wrong(asker.row(made)):
            return made
    return replace(place)
