"""Which class the wrong rows of a bucket belong to, by what the other rows of the run say of the same question.

The order of the tests matters: each takes what the ones before it left.

1. What was raised, or came back in another shape, speaks for itself.
2. Asked plainly at the same point, is it right? Then the transform or the layout is what is wrong.
3. NaN and infinities: at singular points with nothing right below them, poison; else range.
4. Numbers that are wrong, all verdicts of a question together, by the reaches at which they are: wrong beyond some
   reach and right below it, range; complex only, conjugate; by a shorter format's error, or in half precision only,
   precision; with one parameter only, a dropped parameter; at a few ordinary points by very different amounts,
   cancellation.

The vjp and the jvp of one argument are one question. Other formats follow float32 where both are wrong: half precision
has too few exponents to tell range from cancellation, and float64 is often computed in float32.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from audit.defects.again import Asker, Row, is_wrong, place_of
from audit.defects.classes import Class
from audit.defects.defect import rule_of
from audit.defects.evidence import Bucket, Cell, Evidence, Tally
from audit.defects.opinion import kinked
from audit.defects.subjects import Subject, Subjects
from audit.errors import AuditError
from audit.formats import lookup
from audit.report.record import got_format

HALF = ("float16", "bfloat16")
# NaN and infinities, and the names of everything that is a number.
NOT_NUMBERS = ("nan", "overflowed")
NUMBERS = ("nonzero", "vanished", "sign", "wrong", "inaccurate")
# Classes of what happens beside singular points; at a kink it is none of them.
BESIDE = (Class.RANGE, Class.CANCELLATION, Class.PRECISION)
# Classes of a rule that is wrong at ordinary points: what else it does elsewhere follows.
EVERYWHERE = (Class.VALUE, Class.DROPPED, Class.CONJUGATE)

_SHAPES = re.compile(r"shape|broadcast|dimension|axis|axes|size|reshape", re.IGNORECASE)

# Points of more numbers than this are not looked at for kinks.
SMALL = 64
# So far from 1 a point is still ordinary.
ORDINARY = 3
# Relative errors below this are those of a shorter format; above it, another number was computed.
SHORTER = 2.0**-10
# Relative errors that differ by less than this factor are much the same.
ALIKE = 16.0
# A part of the exponent range, as a share of the largest exponent, over which a rule must be right to be right again.
GAP = 3
# So many reaches within the gap must have been asked.
AGAIN = 3
# An error of float32 is at least so many times smaller than one of half precision.
FINER = 256.0
# Relative errors below this are those of float32 and its functions.
SINGLE = 2.0**-18


@dataclass
class Question:
    """All that a run says of one question: every layout, and every set of traced arguments that must not matter.

    Args:
        tally: how often it is right and wrong.
        least, most: relative errors lie between.
        near: the largest relative error at ordinary points that are not singular.
    """

    tally: Tally = field(default_factory=Tally)
    least: float = np.inf
    most: float = 0.0
    near: float = 0.0

    def numbers(self) -> np.ndarray:
        """How often a wrong number was returned, by reach."""
        found = [counts.sum(axis=0) for verdict, counts in self.tally.wrong.items() if verdict in NUMBERS]
        return np.sum(found, axis=0) if found else np.zeros(self.tally.right.shape[1], np.int64)

    def ordinary(self) -> tuple[int, int]:
        """How many comparisons at ordinary points are wrong, and how many are right."""
        wrong = sum(int(counts[:, : ORDINARY + 1].sum()) for counts in self.tally.wrong.values())
        return wrong, int(self.tally.right[:, : ORDINARY + 1].sum())

    def gradual(self) -> bool:
        """Whether numbers are wrong by less than all of it anywhere."""
        return any(verdict in self.tally.wrong for verdict in ("inaccurate", "wrong", "sign"))

    def gross(self) -> bool:
        """Whether most wrong numbers at ordinary points are not even near the right ones."""
        near = {verdict: int(counts[:, : ORDINARY + 1].sum()) for verdict, counts in self.tally.wrong.items()}
        return sum(near.get(verdict, 0) for verdict in ("wrong", "sign", "vanished")) > near.get("inaccurate", 0)

    def right_below(self, reach: int, place: int | None = None) -> bool:
        """Whether anything is right below a reach; at singular points (1), at others (0), or at either (None)."""
        right = self.tally.right if place is None else self.tally.right[place : place + 1]
        return bool(right[:, :reach].sum())

    def right_around(self) -> bool:
        """Whether every number at ordinary points that are not singular is right."""
        wrong = [counts[0, : ORDINARY + 1].any() for verdict, counts in self.tally.wrong.items() if verdict in NUMBERS]
        return bool(self.tally.right[0, : ORDINARY + 1].sum()) and not any(wrong)

    def clusters(self, gap: int) -> list[int]:
        """The reaches at which wrong numbers begin, again after it was right over a gap."""
        return _clusters(self.numbers(), self.tally.right.sum(axis=0), gap)


def _clusters(wrong: np.ndarray, right: np.ndarray, gap: int) -> list[int]:
    """The reaches at which something wrong begins, and begins again after it was right over a gap."""
    places = np.flatnonzero(wrong)
    fine = right > 0
    starts: list[int] = []
    for index, reach in enumerate(places.tolist()):
        before = int(places[index - 1]) if index else -1
        if not starts or (reach - before >= gap and fine[before + 1 : reach].sum() >= AGAIN):
            starts.append(reach)
    return starts


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
    _questions: dict[Cell, Question] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for cell, tally in self.evidence.tallies.items():
            if cell.wrap.startswith("vmap"):
                continue
            found = self._questions.setdefault(_question(cell), Question()).tally
            found.right += tally.right
            found.zero += tally.zero
            for verdict, counts in tally.wrong.items():
                found.wrong[verdict] += counts
        for bucket in self.evidence.buckets.values():
            question = self._questions.setdefault(_question(bucket.key.cell), Question())
            question.least = min(question.least, bucket.least)
            question.most = max(question.most, bucket.most)
            if bucket.key.region == 0 and not bucket.key.singular:
                question.near = max(question.near, bucket.most)

    def classify(self, bucket: Bucket) -> Class:
        """The class of a bucket's rows."""
        key = bucket.key
        told = _spoken(key.verdict, key.message)
        if told is Class.MISSING:
            return told
        if key.cell != key.cell.plain and self._plainly_right(bucket, told):
            return Class.VMAP if key.cell.wrap.startswith("vmap") else Class.CONSISTENCY
        if told is not None:
            return told
        reach = int(bucket.rows[0][0][1])
        if key.verdict not in NUMBERS:
            return self._not_a_number(bucket)
        if key.singular and reach <= ORDINARY and bucket.most >= 0.5 and self._right_around(key.cell):
            # A wrong member at a kink, a pole that counts for nothing: not what happens beside it.
            return Class.VALUE
        if key.cell.format in HALF and self._right_in_single(bucket):
            return Class.PRECISION
        kind = self._number(key.cell, reach)
        return Class.VALUE if kind in BESIDE and self._kinked(bucket) else kind

    def _right_around(self, cell: Cell) -> bool:
        """Whether all ordinary points that are not singular are right, in the same format or else in float32."""
        single = self._of(cell._replace(format="float32"))
        other = lookup(cell.format).parts == 1 and single.right_around()
        return other or self._of(cell).right_around()

    def _right_in_single(self, bucket: Bucket) -> bool:
        """Whether what a run asks in half precision only is right in float32 at the same points, which it can hold."""
        cell = bucket.key.cell._replace(format="float32")
        if _question(cell) in self._questions:
            return False
        row = bucket.rows[0][1]
        place = place_of(row, self.subjects[cell.case, cell.function])
        again = self.asker.row(place.in_format(lookup("float32")))
        if again is None:
            return False
        return again["verdict"] in ("match", "allowed") or _distance(again) * FINER < _distance(row)

    def _kinked(self, bucket: Bucket) -> bool:
        """Whether the simplest wrong point is a kink or a tie, at which a wrong member was chosen."""
        cell, row = bucket.key.cell, bucket.rows[0][1]
        if rule_of(cell.mode) not in ("vjp", "jvp") or len(row["primals"]) > SMALL:
            return False
        return kinked(place_of(row, self.subjects[cell.case, cell.function]))

    def _plainly_right(self, bucket: Bucket, told: Class | None) -> bool:
        """Whether the same question is right at the same points without transform and in contiguous arrays.

        Where nothing comes back, or something of another shape, any number that does come back plainly will do.
        """
        subject = self.subjects[bucket.key.cell.case, bucket.key.cell.function]
        asked = 0
        for _, row in bucket.rows[:3]:
            try:
                again = self.asker.row(place_of(row, subject).plain())
            except AuditError:
                continue
            if again is None or again["verdict"] in ("inconclusive", "undefined"):
                continue
            spoken = _spoken(again["verdict"], again["message"] or "")
            if spoken is not None or (told is None and is_wrong(again)):
                return False
            asked += 1
        return asked > 0

    def _not_a_number(self, bucket: Bucket) -> Class:
        key, question = bucket.key, self._of(bucket.key.cell)
        if question.numbers()[: ORDINARY + 1].any():
            kind = self._number(key.cell, ORDINARY)
            if kind in EVERYWHERE:
                return kind
        fmt, place, reach = lookup(key.cell.format), int(key.singular), int(bucket.rows[0][0][1])
        wrong = question.tally.wrong[key.verdict][place] if key.verdict in question.tally.wrong else None
        starts = (
            _clusters(wrong, question.tally.right[place], max(ORDINARY, fmt.emax // GAP)) if wrong is not None else []
        )
        begun = max((start for start in starts if start <= reach), default=reach)
        if question.right_below(begun, place) or (begun > ORDINARY and not key.singular):
            return Class.RANGE
        shorter = key.cell.format == "float64" and 0 < question.least < SINGLE and not key.singular
        return Class.PRECISION if shorter else Class.POISON

    def _number(self, cell: Cell, reach: int) -> Class:
        """The class of wrong numbers of a question at a reach."""
        fmt, question = lookup(cell.format), self._of(cell)
        if rule_of(cell.mode) == "second":
            first = cell._replace(mode="vjp", argument=cell.argument.split(",")[0])
            if self._of(first).numbers().any():
                return self._number(first, reach)
        starts = question.clusters(max(ORDINARY, fmt.emax // GAP)) or [0]
        begun = max((start for start in starts if start <= reach), default=starts[0])
        if begun != starts[0] and begun > ORDINARY:
            return Class.RANGE
        single = self._of(cell._replace(format="float32"))
        if cell.format in HALF and single.numbers().any():
            return self._number(cell._replace(format="float32"), reach)
        below = question.right_below(begun)
        far = begun > max(ORDINARY, fmt.emax // 4)
        if begun > fmt.precision + 2 and (below or far):
            return Class.RANGE
        if question.most == 0:
            # Zero was due everywhere.
            return Class.VALUE
        if fmt.parts == 2 and question.most > SHORTER and _is_right(single):
            return Class.CONJUGATE
        if cell.format in HALF and _is_right(single):
            lost = begun >= fmt.emax // 2 - 1 or not question.gradual()
            return Class.RANGE if lost and below else Class.PRECISION
        if cell.format == "float64" and 0 < (question.near or question.most) < SINGLE:
            return Class.PRECISION
        if cell.format == "float64" and 0 < question.least < SINGLE and _is_right(single):
            # Where terms cancel, the errors of float32 are of any size.
            return Class.PRECISION
        if cell.format == "float64" and single.numbers().any():
            return self._number(cell._replace(format="float32"), reach)
        return self._ordinary(cell, question, begun, below=below)

    def _ordinary(self, cell: Cell, question: Question, begun: int, *, below: bool) -> Class:
        """The class of numbers that are wrong at ordinary points, or not far from them."""
        wrong, right = question.ordinary()
        mostly = wrong > right
        if mostly and question.near < SHORTER:
            return Class.PRECISION
        if mostly and self._only_with_parameters(cell):
            return Class.DROPPED
        due = right - int(question.tally.zero[:, : ORDINARY + 1].sum())
        if wrong > 9 * due and set(_present(question.tally)) == {"vanished"}:
            return Class.DROPPED
        if not mostly and not question.gross():
            if begun <= ORDINARY and question.gradual():
                return Class.CANCELLATION
            if not question.gradual() and below and begun > 0:
                # From right to nothing at once: no terms cancel more and more.
                return Class.RANGE
            if question.most > ALIKE * question.least or question.most > SHORTER:
                return Class.CANCELLATION
        return Class.PRECISION if question.most < 0.05 else Class.VALUE

    def _only_with_parameters(self, cell: Cell) -> bool:
        """Whether the operation is right with its default parameters where it is asked so."""
        found = [self._of(other) for other in self._siblings(self.subjects[cell.case, cell.function], cell)]
        return any(_is_right(question) for question in found)

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

    def _of(self, cell: Cell) -> Question:
        return self._questions.get(_question(cell)) or Question()


def _is_right(question: Question) -> bool:
    """Whether a question was asked near 1 and no wrong number was returned there."""
    return bool(question.tally.right.sum()) and not question.numbers()[: ORDINARY * 4].any()


def _question(cell: Cell) -> Cell:
    """A cell without what must not matter; along several arguments a jvp is another question."""
    if rule_of(cell.mode) == "jvp" and "," not in cell.traced:
        cell = cell._replace(mode="vjp", argument=cell.traced)
    traced = cell.traced if cell.argument == "output" else ""
    return cell._replace(layout="", wrap="", traced=traced)


def _distance(row: Row) -> float:
    """How far a number is from the right value; infinite if that cannot be told."""
    if row["error"] is None:
        return np.inf
    return float(row["error"] * (got_format(row).ulp(np.float64(row["right"])) if row["right"] else 1.0))


def _spoken(verdict: str, message: str) -> Class | None:
    """The class that verdict and message tell by themselves."""
    if verdict == "unimplemented":
        return Class.MISSING
    if verdict in ("shape", "dtype") or (verdict == "raises" and _SHAPES.search(message)):
        return Class.SHAPE
    return Class.CRASH if verdict in ("crash", "hang", "raises") else None


def _present(tally: Tally) -> list[str]:
    """Verdicts of wrong rows near 1."""
    return [verdict for verdict, counts in tally.wrong.items() if counts[:, : ORDINARY + 1].any()]
