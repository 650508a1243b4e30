"""Run a plan in this process: a shard is asked of every implementation, judged, and written before the next begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from audit.case import Batch, Implementation
from audit.comparison import Question, compare
from audit.difference import Differences
from audit.errors import AuditError
from audit.reference import References
from audit.registry import broken_by
from audit.run.blame import Blame, Span, Unit, compare_the_rest, part
from audit.run.kernels import compiler_seconds
from audit.run.outcome import Outcome
from audit.run.plan import Plan, Shard
from audit.run.progress import Progress, Silent
from audit.store import Store
from audit.watch import WATCH, during

Forwards = dict[tuple[str, str, str, bytes], NDArray[np.bool_]]


def _untold(_unit: Unit, _batch: Batch) -> None:
    """Nobody wants to know."""


@dataclass
class Session:
    """Asks and judges shards, one after another, in this process.

    Args:
        implementations: every batch is asked of each.
        references: the right values.
        told: called with every unit, and its batch, before it is asked.
    """

    implementations: Sequence[Implementation]
    references: References
    told: Callable[[Unit, Batch], None] = _untold
    _differences: Differences = field(init=False)

    def __post_init__(self) -> None:
        self._differences = Differences(self.references)

    def run(self, shard: Shard, blame: Blame | None = None) -> tuple[pa.Table, Outcome]:
        """The rows of a shard, and what came of it beside them.

        Args:
            shard: its batches are asked.
            blame: points that get their verdict without being asked.

        Raises:
            AuditError: it has no points, or the reference cannot give what it asks for.
        """
        tables: list[pa.Table] = []
        forwards: Forwards = {}
        with _Measured(self.references, self._differences) as outcome:
            for index, batch in enumerate(_batches(shard)):
                question = self._question(shard, batch, forwards)
                for place, implementation in enumerate(self.implementations):
                    unit = Unit(index, place)
                    self.told(unit, batch)
                    blamed = blame.get(unit) if blame else None
                    if blamed:
                        rest = compare_the_rest(question, implementation, self.references, self._differences, blamed)
                        tables.append(rest)
                    else:
                        tables.append(compare(question, implementation, self.references))
            if not tables:
                message = "it has no points: give its case at least one batch"
                raise AuditError(message)
            with during("judging"):
                table = pa.concat_tables(tables).unify_dictionaries()
                outcome.count(table)
        return table, outcome

    def try_out(self, shard: Shard, unit: Unit, span: Span) -> None:
        """Ask one unit at some points, as a run does, for nothing but whether the process survives it."""
        batch = next(batch for index, batch in enumerate(_batches(shard)) if index == unit.batch)
        question = part(self._question(shard, batch, {}), span, self._differences)
        self.told(unit, question.batch)
        compare(question, self.implementations[unit.implementation], self.references)

    def _question(self, shard: Shard, batch: Batch, forwards: Forwards) -> Question:
        answers = self.references.enclose(batch, exact=shard.named)
        witnesses = self._differences.of(batch)
        return Question(batch, shard.origin, answers, witnesses, witness_all=shard.named, forwards=forwards)


@dataclass
class _Measured:
    """Notes what references and witnesses say, and what the time goes into, while it is entered."""

    references: References
    differences: Differences

    def __enter__(self) -> Outcome:
        WATCH.taken()
        self._before = self._counts()
        self._compiling = compiler_seconds()
        self._outcome = Outcome()
        return self._outcome

    def __exit__(self, *_: object) -> None:
        outcome, now, before = self._outcome, self._counts(), self._before
        outcome.references.update({name: now[name] - before[name] for name in ("computed", "reused")})
        outcome.contradictions += self.references.disagreements[before["disagreements"] :]
        outcome.contradictions += self.differences.contradictions[before["contradictions"] :]
        outcome.unkept = self.references.unwritable
        seconds = WATCH.taken()
        compiling = compiler_seconds() - self._compiling
        if compiling:
            seconds["mlx"] = max(seconds.get("mlx", 0.0) - compiling, 0.0)
            seconds["compiling"] = compiling
        outcome.spend(seconds)

    def _counts(self) -> dict[str, int]:
        return {
            "computed": self.references.computed,
            "reused": self.references.reused,
            "disagreements": len(self.references.disagreements),
            "contradictions": len(self.differences.contradictions),
        }


def collect(plan: Plan, references: References) -> tuple[pa.Table, Outcome]:
    """Run all shards and keep their rows in memory."""
    session = Session(plan.implementations, references)
    done = [session.run(shard) for shard in plan.shards]
    rows = pa.concat_tables([table for table, _ in done]).unify_dictionaries().combine_chunks()
    return rows, Outcome.merged(outcome for _, outcome in done)


def execute(plan: Plan, store: Store, references: References, progress: Progress | None = None) -> Outcome:
    """Run all shards that the store does not hold yet.

    Args:
        plan: what to do.
        store: where rows go; shards that are there already are not run again.
        references: the right values.
        progress: is told of each shard.

    Returns:
        What came of all shards of the plan, those that were there included.
    """
    progress, session = progress or Silent(), Session(plan.implementations, references)
    outcomes, there = [], store.finished()
    for shard in plan.shards:
        if shard.key in there:
            outcomes.append(remembered(store, shard))
            progress.done(shard, 0, 0)
            continue
        progress.begun(shard)
        outcome = run_and_write(session, shard, store)
        outcomes.append(outcome)
        progress.done(shard, outcome.rows, outcome.mismatches)
    return Outcome.merged(outcomes)


def run_and_write(session: Session, shard: Shard, store: Store, blame: Blame | None = None) -> Outcome:
    """Run a shard and put it into the store; what its case raises becomes a failure of the outcome.

    Raises:
        AuditError: the store cannot be written to.
    """
    try:
        table, outcome = session.run(shard, blame)
    except Exception as error:  # noqa: BLE001  what a case does wrong must not stop the others
        broken = broken_by(error, f"cases.{shard.case.name}")
        return Outcome(failures=[f"{shard.label} could not be run: {broken.message} ({broken.place})"])
    with during("writing"):
        store.write(shard.key, table, outcome.to_text())
    # The file cannot say how long it took to write it.
    outcome.spend(WATCH.taken())
    return outcome


def remembered(store: Store, shard: Shard) -> Outcome:
    """What came of a shard that was run before, as its file tells."""
    text = store.remarks(shard.key)
    return Outcome.from_text(text) if text else Outcome()


def _batches(shard: Shard) -> Iterator[Batch]:
    batches = shard.batches()
    while True:
        with during("points"):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch
