"""The safe band: between which exponents the rule is right.

The shrunk input gives a direction: its exponents, divided by the largest. Along the line of all inputs whose exponents
are a multiple of it, from the smallest to the largest number of the format, the question is asked again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit.defects.again import Asker, Place, changed
from audit.formats import Floats, Format

Ints = NDArray[np.int64]

# Points asked along the line at first, of functions that are asked point by point.
SPARSE = 25
# Exponents smaller than the largest by this factor do not move.
STILL = 8


@dataclass(frozen=True)
class Band:
    """Where a rule is right in one format.

    Args:
        low, high: the band of exponents around 0 in which it is right, both included; None if it is wrong at 0.
        reached: the exponents that can be asked, least and greatest.
        strip: exponents that were asked, each with the verdict.
    """

    low: int | None
    high: int | None
    reached: tuple[int, int]
    strip: dict[int, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As the JSON report has it; neighbours of one verdict are one run ``[first, last, verdict]``."""
        return {"low": self.low, "high": self.high, "reached": list(self.reached), "strip": self.runs()}

    def runs(self) -> list[list[Any]]:
        """Exponents of the same verdict, neighbours in what was asked, together."""
        found: list[list[Any]] = []
        for exponent, verdict in sorted(self.strip.items()):
            if found and found[-1][2] == verdict:
                found[-1][1] = exponent
            else:
                found.append([exponent, exponent, verdict])
        return found


@dataclass(frozen=True)
class Line:
    """Inputs whose exponents are multiples of a direction.

    Args:
        place: the question.
        mantissas: of each array.
        direction: of each number, the exponent at k = 1.
        text: which inputs move, in words.
    """

    place: Place
    mantissas: tuple[Floats, ...]
    direction: tuple[Floats, ...]
    text: str

    def inside(self, exponents: Ints, fmt: Format) -> Ints:
        """Those exponents at which every input is a number of the format."""
        return exponents[self._arrays(exponents, fmt)[1]]

    def at(self, exponents: Ints, fmt: Format) -> Place | None:
        """The question at 2**k, a point for each k; None where it cannot be asked in the format."""
        arrays, _ = self._arrays(exponents, fmt)
        made = changed(lambda: self.place.in_format(fmt))
        return None if made is None else changed(lambda: made.with_arrays(arrays))

    def _arrays(self, exponents: Ints, fmt: Format) -> tuple[list[Floats], NDArray[np.bool_]]:
        """The inputs, ``[exponents, *shape]`` each, and where all of them are numbers of the format."""
        arrays, held = [], np.ones(len(exponents), bool)
        for mantissa, direction in zip(self.mantissas, self.direction, strict=True):
            along = exponents.reshape(-1, *[1] * (mantissa.ndim - 1))
            with np.errstate(all="ignore"):
                array = np.ldexp(mantissa, np.rint(along * direction).astype(np.int64))
                # A mantissa that loses bits in the subnormal range is another input.
                whole = fmt.contains(array) & (np.isfinite(array) | ~np.isfinite(mantissa))
                whole &= (array != 0) | (mantissa == 0)
            held &= whole.reshape(len(exponents), -1).all(axis=1)
            arrays.append(array)
        return arrays, held


def line_of(place: Place) -> Line | None:
    """The line through a shrunk input; None where it is complex or all its exponents are near 0."""
    if place.batch.format.parts == 2 or any(np.iscomplexobj(array) for array in place.arrays):
        return None
    mantissas, exponents = [], []
    for array in place.arrays:
        finite = np.isfinite(array) & (array != 0)
        exponent = np.where(finite, np.frexp(array)[1] - 1, 0)
        exponents.append(exponent)
        mantissas.append(np.where(finite, np.ldexp(array, -exponent), array))
    largest = max((int(np.abs(e).max(initial=0)) for e in exponents), default=0)
    if largest < 2:
        return None
    lead = next(e.reshape(-1)[np.abs(e).argmax()] for e in exponents if np.abs(e).max(initial=0) == largest)
    # Small exponents beside large ones belong to the numbers that stay.
    still = [np.abs(e) * STILL < largest for e in exponents]
    mantissas = [np.where(s, np.ldexp(m, e), m) for s, m, e in zip(still, mantissas, exponents, strict=True)]
    directions = tuple(np.where(s, 0, e) / lead for s, e in zip(still, exponents, strict=True))
    names = [*place.subject.function.arguments, *(f"w{i or ''}" for i in range(len(place.batch.weights)))]
    moving = [_text(name, d) for name, d in zip(names, directions, strict=True) if np.any(d)]
    return Line(place, tuple(mantissas), directions, ", ".join(moving))


def _text(name: str, direction: Floats) -> str:
    slopes = np.unique(direction[direction != 0])
    power = "k" if (slopes == 1).all() else "-k" if (slopes == -1).all() else None
    if power is None:
        power = "(" + " or ".join(f"{slope:.3g} k" for slope in slopes[:3]) + ")"
    return f"{name} scales as 2^{power}"


def band(line: Line, fmt: Format, asker: Asker) -> Band | None:
    """The safe band of one format; None if nothing on the line can be asked in it.

    The two ends are found exactly: by asking at every exponent, or, of functions that are asked point by point, at some
    and then by halving between a right and a wrong one.
    """
    exponents = [int(k) for k in line.inside(np.arange(fmt.esub, fmt.emax + 1), fmt)]
    if not exponents:
        return None
    elementwise = line.place.subject.function.elementwise
    asked = exponents if elementwise else _some(exponents)
    strip = _ask(line, fmt, asker, asked)
    if not elementwise:
        for right, wrong in _edges(strip):
            while abs(wrong - right) > 1:
                middle = (right + wrong) // 2
                strip |= _ask(line, fmt, asker, [middle])
                right, wrong = (middle, wrong) if _fine(strip.get(middle, "")) else (right, middle)
    known = sorted(strip)
    if not known:
        return None
    ends = (exponents[0], exponents[-1])
    centre = min(known, key=abs)
    if not _fine(strip[centre]):
        return Band(None, None, ends, strip)
    low = high = centre
    for k in reversed([k for k in known if k <= centre]):
        if not _fine(strip[k]):
            break
        low = k
    for k in (k for k in known if k >= centre):
        if not _fine(strip[k]):
            break
        high = k
    return Band(low, high, ends, strip)


def _some(exponents: list[int]) -> list[int]:
    places = np.unique(np.rint(np.linspace(0, len(exponents) - 1, SPARSE)).astype(int))
    return sorted({exponents[i] for i in places} | {min(exponents, key=abs)})


def _edges(strip: dict[int, str]) -> list[tuple[int, int]]:
    """Pairs of a right exponent and its wrong neighbour, next to 0 on both sides."""
    known = sorted(strip, key=abs)
    if not known or not _fine(strip[known[0]]):
        return []
    found = []
    for side in (sorted(k for k in strip if k >= known[0]), sorted((k for k in strip if k <= known[0]), reverse=True)):
        for right, wrong in pairwise(side):
            if not _fine(strip[wrong]):
                found.append((right, wrong))
                break
    return found


def _ask(line: Line, fmt: Format, asker: Asker, exponents: list[int]) -> dict[int, str]:
    place = line.at(np.array(exponents, np.int64), fmt)
    verdicts = [] if place is None else asker.verdicts(place)
    return dict(zip(exponents, verdicts, strict=False))


def _fine(verdict: str) -> bool:
    return verdict in ("match", "allowed", "outside")
