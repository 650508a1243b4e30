"""Which class the wrong rows of a bucket belong to, by what the other rows of the run say of the same question.

The order of the tests matters: each takes what the ones before it left.

1. What was raised, or came back in another shape, speaks for itself.
2. Asked plainly at the same point, is it right? Then the transform or the layout is what is wrong.
3. NaN and infinities: at singular points with nothing right below them, poison; else range.
4. Numbers: wrong beyond some reach and right below it, range; complex only, conjugate; float64 only by a shorter
   format's error, or half precision only, precision; with one parameter only, a dropped parameter; at a few ordinary
   points by very different amounts, cancellation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from audit.defects.again import Asker, is_wrong, place_of
from audit.defects.classes import Class
from audit.defects.evidence import Bucket, Cell, Evidence, Tally
from audit.defects.subjects import Subject, Subjects
from audit.errors import AuditError
from audit.formats import lookup

HALF = ("float16", "bfloat16")
# NaN and infinities, and the names of everything that is a number.
NOT_NUMBERS = ("nan", "overflowed")
NUMBERS = ("nonzero", "vanished", "sign", "wrong", "inaccurate")

_MISSING = re.compile(r"not (yet )?(been )?implemented|cannot calculate|not supported|unsupported", re.IGNORECASE)
_SHAPES = re.compile(r"shape|broadcast|dimension|axis|axes|size|reshape", re.IGNORECASE)

# So far from 1 a point is still ordinary.
ORDINARY = 3
# Relative errors below this are those of a shorter format; above it, another number was computed.
SHORTER = 2.0**-10
# Relative errors that differ by less than this factor are much the same.
ALIKE = 16.0


@dataclass
class Classifier:
    """Gives each bucket its class.

    Args:
        evidence: what the run says.
        subjects: what its rows are about.
        asker: asks again without a transform.
    """

    evidence: Evidence
    subjects: Subjects
    asker: Asker
    _merged: dict[Cell, Tally] = field(default_factory=dict)
    # Least and largest relative error by question.
    _errors: dict[Cell, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for cell, tally in self.evidence.tallies.items():
            if cell.wrap.startswith("vmap"):
                continue
            found = self._merged.setdefault(_question(cell), Tally())
            found.right += tally.right
            for verdict, counts in tally.wrong.items():
                found.wrong[verdict] += counts
        for bucket in self.evidence.buckets.values():
            question = _question(bucket.key.cell)
            least, most = self._errors.get(question, (np.inf, 0.0))
            self._errors[question] = (min(least, bucket.least), max(most, bucket.most))

    def classify(self, bucket: Bucket) -> Class:
        """The class of a bucket's rows."""
        key = bucket.key
        told = _spoken(key.verdict, key.message, mapped=key.cell.wrap.startswith("vmap"))
        if told is Class.MISSING or told is Class.CRASH:
            return told
        if key.cell != key.cell.plain and self._plainly_right(bucket):
            return Class.VMAP if key.cell.wrap.startswith("vmap") else Class.CONSISTENCY
        if told is not None:
            return told
        if key.verdict in NOT_NUMBERS:
            return self._not_a_number(bucket)
        return self._number(bucket)

    def _plainly_right(self, bucket: Bucket) -> bool:
        """Whether the same question is right at the same points without transform and in contiguous arrays."""
        subject = self.subjects[bucket.key.cell.case, bucket.key.cell.function]
        asked = 0
        for _, row in bucket.rows[:3]:
            try:
                again = self.asker.row(place_of(row, subject).plain())
            except AuditError:
                continue
            if again is None or again["verdict"] in ("raises", "shape", "inconclusive", "undefined"):
                continue
            if is_wrong(again):
                return False
            asked += 1
        return asked > 0

    def _not_a_number(self, bucket: Bucket) -> Class:
        key, tally = bucket.key, self._tally(bucket.key.cell)
        place = int(key.singular)
        if self._right_below(tally, place, _least_reach(tally, [key.verdict], place)):
            return Class.RANGE
        if not key.singular:
            # Wrong at every ordinary point: not the range.
            return Class.RANGE if self._far(bucket) else Class.POISON
        return Class.POISON

    def _number(self, bucket: Bucket) -> Class:
        key, tally = bucket.key, self._tally(bucket.key.cell)
        fmt = lookup(key.cell.format)
        smallest, largest = self._errors[_question(key.cell)]
        least = min(_least_reach(tally, [key.verdict], place) for place in (0, 1))
        below = self._right_below(tally, 0, least) or self._right_below(tally, 1, least)
        if least > fmt.precision + 2 and least > ORDINARY and (below or self._far(bucket)):
            return Class.RANGE
        if fmt.parts == 2 and largest > SHORTER and self._right_in(key.cell, ("float32",), key.verdict):
            return Class.CONJUGATE
        if key.cell.format in HALF and self._right_in(key.cell, ("float32",), key.verdict):
            # Far points of half precision are near ones of others; there the exponents tell.
            return Class.RANGE if least >= fmt.emax // 2 - 1 and below else Class.PRECISION
        if (
            key.cell.format == "float64"
            and bucket.most < SHORTER
            and self._right_in(key.cell, ("float32",), key.verdict)
        ):
            return Class.PRECISION
        if self._only_with_parameters(key.cell):
            return Class.DROPPED
        near_wrong, near_right = self._near(tally)
        if fmt.parts == 1 and set(_present(tally)) == {"vanished"} and near_wrong > 9 * near_right:
            return Class.DROPPED
        gradual = any(verdict in tally.wrong for verdict in ("inaccurate", "wrong", "sign"))
        if not gradual and below and least > 0:
            # From right to nothing at once: no terms cancel more and more.
            return Class.RANGE
        if near_wrong <= near_right and (largest > ALIKE * smallest or largest > SHORTER):
            return Class.CANCELLATION
        if largest < 0.05:
            return Class.PRECISION
        return Class.VALUE

    def _far(self, bucket: Bucket) -> bool:
        fmt = lookup(bucket.key.cell.format)
        return bucket.rows[0][0][1] > max(ORDINARY, fmt.emax // 4)

    def _right_below(self, tally: Tally, place: int, reach: int) -> bool:
        return bool(tally.right[place, :reach].sum())

    def _near(self, tally: Tally) -> tuple[int, int]:
        """How many ordinary comparisons are wrong, and how many are right."""
        wrong = sum(int(counts[:, : ORDINARY + 1].sum()) for counts in tally.wrong.values())
        return wrong, int(tally.right[:, : ORDINARY + 1].sum())

    def _right_in(self, cell: Cell, formats: Iterable[str], verdict: str) -> bool:
        """Whether another format has rows of the same question, and none near 1 that is wrong in that way."""
        found = False
        for fmt in formats:
            tally = self._tally(cell._replace(format=fmt))
            found |= bool(tally.right.sum())
            for name, counts in tally.wrong.items():
                alike = name == verdict or (name in NUMBERS and verdict in NUMBERS)
                if alike and counts[:, : lookup(fmt).precision].any():
                    return False
        return found

    def _only_with_parameters(self, cell: Cell) -> bool:
        """Whether the operation is right with its default parameters where it is asked so."""
        subject = self.subjects[cell.case, cell.function]
        others = self._siblings(subject, cell)
        if not others:
            return False
        right = 0
        for other in others:
            tally = self._tally(other)
            right += int(tally.right[:, : ORDINARY + 1].sum())
            if any(name in NUMBERS for name in _present(tally)):
                return False
        return right > 0

    def _siblings(self, subject: Subject, cell: Cell) -> list[Cell]:
        """The same question of the function whose parameters are the defaults; none if this is it."""
        same = [
            (key, other)
            for key, other in self.subjects.items()
            if other.operation == subject.operation and other.function.arguments == subject.function.arguments
        ]
        if len(same) < 2:
            return []
        (case, function), default = min(same, key=lambda pair: len(pair[1].parameters))
        if default is subject or not subject.parameters or default.parameters == subject.parameters:
            return []
        return [cell._replace(case=case, function=function)]

    def _tally(self, cell: Cell) -> Tally:
        """All that is known of a plain question: every layout and transform, and other sets of traced arguments."""
        return self._merged.get(_question(cell)) or Tally()


def _question(cell: Cell) -> Cell:
    """A cell without what must not matter; along other arguments a jvp is another question."""
    traced = cell.traced if cell.argument == "output" else ""
    return cell._replace(layout="", wrap="", traced=traced)


def _spoken(verdict: str, message: str, *, mapped: bool) -> Class | None:
    """The class that verdict and message tell by themselves."""
    if verdict == "unimplemented" or (verdict == "raises" and _MISSING.search(message)):
        return Class.MISSING
    if verdict in ("shape", "dtype") or (verdict == "raises" and _SHAPES.search(message)):
        return Class.SHAPE
    if verdict in ("crash", "hang", "raises"):
        # Under vmap what is raised is vmap's, if a loop does not raise.
        return None if mapped and verdict == "raises" else Class.CRASH
    return None


def _least_reach(tally: Tally, verdicts: Iterable[str], place: int) -> int:
    found = [np.flatnonzero(tally.wrong[verdict][place]) for verdict in verdicts if verdict in tally.wrong]
    return int(min((reaches[0] for reaches in found if len(reaches)), default=tally.right.shape[1]))


def _present(tally: Tally) -> list[str]:
    """Verdicts of wrong rows near 1."""
    return [verdict for verdict, counts in tally.wrong.items() if counts[:, : ORDINARY + 1].any()]
