"""What must not be asked again: points at which the library kills its process or does not answer.

A unit is one batch asked of one implementation. Blame says which points of a unit get a verdict without being asked;
the others of the unit are asked and judged as ever, and all come out as the rows of one batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from audit.case import Implementation
from audit.comparison import Question, compare, unasked
from audit.difference import Differences
from audit.reference import Answer, References, at_points
from audit.verdict import Verdict


@dataclass(frozen=True, order=True)
class Unit:
    """One batch of a shard asked of one implementation, by their indices."""

    batch: int
    implementation: int


@dataclass(frozen=True)
class Span:
    """Some points of a batch that follow each other: from start up to, not including, stop."""

    start: int
    stop: int

    @property
    def points(self) -> int:
        """How many there are."""
        return self.stop - self.start

    def halves(self) -> tuple[Span, Span]:
        """Two spans that make up this one, the first not the smaller."""
        middle = self.stop - self.points // 2
        return Span(self.start, middle), Span(middle, self.stop)


@dataclass(frozen=True)
class Blamed:
    """Points that are not asked again.

    Args:
        span: which.
        verdict: ``"crash"`` or ``"hang"``.
        message: how it ended.
    """

    span: Span
    verdict: Verdict
    message: str


Blame = Mapping[Unit, Sequence[Blamed]]


def part(question: Question, span: Span, differences: Differences) -> Question:
    """The question at some of its points, with the right values that are known."""
    chosen = slice(span.start, span.stop)
    primals = tuple(primal[chosen] for primal in question.batch.primals)
    weights = tuple(weight[chosen] for weight in question.batch.weights)
    batch = replace(question.batch, primals=primals, weights=weights)
    answers = at_points(question.answers, span.start, span.stop)
    witnesses = differences.of(batch) if question.witnesses else None
    return replace(question, batch=batch, answers=answers, witnesses=witnesses, forwards={})


def compare_the_rest(
    question: Question,
    implementation: Implementation,
    references: References,
    differences: Differences,
    blamed: Sequence[Blamed],
) -> pa.Table:
    """The rows of a unit of which some points must not be asked: as `audit.comparison.compare`, in the same order."""
    parts: list[tuple[Span, pa.Table]] = []
    for span, blame in _cover(question.batch.points, blamed):
        asked = part(question, span, differences)
        if blame is None:
            table = compare(asked, implementation, references)
        else:
            table = unasked(asked, implementation, blame.verdict, blame.message)
        place = table.schema.get_field_index("point")
        points = np.asarray(table.column("point")) + np.int32(span.start)
        parts.append((span, table.set_column(place, table.schema.field(place), pa.array(points))))
    return pa.concat_tables(list(_by_argument(question.answers, parts)))


def _by_argument(answers: Sequence[Answer], parts: Sequence[tuple[Span, pa.Table]]) -> Iterator[pa.Table]:
    """Rows of one argument after those of another, points ascending in each."""
    starts = [0] * len(parts)
    for answer in answers:
        elements = int(np.prod(answer.shape, dtype=int))
        for index, (span, table) in enumerate(parts):
            rows = span.points * elements
            yield table.slice(starts[index], rows)
            starts[index] += rows


def _cover(points: int, blamed: Sequence[Blamed]) -> Iterator[tuple[Span, Blamed | None]]:
    """All points in order: the spans that are blamed, and those between them."""
    next_point = 0
    for blame in sorted(blamed, key=lambda blame: blame.span.start):
        if blame.span.start > next_point:
            yield Span(next_point, blame.span.start), None
        yield blame.span, blame
        next_point = blame.span.stop
    if next_point < points:
        yield Span(next_point, points), None
