"""The safe band: between which exponents the rule is right, along a line of inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from audit.defects.again import Asker
from audit.defects.line import Line
from audit.formats import Format

# Points asked along the line at first, of functions that are asked point by point.
SPARSE = 25


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
    # Where even 1 is inaccurate, that is another defect than the one whose band is looked for.
    if strip.get(min(strip, key=abs, default=0)) == "inaccurate":
        return None
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
    # Where nothing is due, nothing is wrong.
    return verdict in ("match", "allowed", "outside", "undefined", "inconclusive")
