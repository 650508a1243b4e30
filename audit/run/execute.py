"""Run a plan in this process: a shard is asked of every implementation, judged, and written before the next begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from audit.case import Batch, Implementation
from audit.comparison import Question, compare
from audit.difference import Differences
from audit.errors import AuditError
from audit.reference import References
from audit.registry import broken_by
from audit.run.blame import Blame, Blamed, Span, Unit, compare_the_rest, part
from audit.run.kernels import Kernels, compiler_seconds
from audit.run.outcome import Outcome
from audit.run.plan import Plan, Shard
from audit.run.progress import Progress, Silent, tell
from audit.run.spool import Spool
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
        kernels: what MLX compiles meanwhile.
    """

    implementations: Sequence[Implementation]
    references: References
    told: Callable[[Unit, Batch], None] = _untold
    kernels: Kernels = field(default_factory=Kernels)
    _differences: Differences = field(init=False)

    def __post_init__(self) -> None:
        self._differences = Differences(self.references)

    def run(self, shard: Shard, blame: Blame | None = None, spool: Spool | None = None) -> tuple[pa.Table, Outcome]:
        """The rows of a shard, and what came of it beside them.

        Args:
            shard: its batches are asked.
            blame: points that get their verdict without being asked.
            spool: keeps the rows of each unit as soon as they are there; what it holds is not asked.

        Raises:
            AuditError: it has no points.
        """
        tables: list[pa.Table] = []
        forwards: Forwards = {}
        with _Measured(self.references, self._differences, self.kernels) as measured:
            for index, batch in enumerate(_batches(shard)):
                # Made when it is needed: of a batch that is finished, nothing is.
                asked: Question | None = None
                for place, implementation in enumerate(self.implementations):
                    unit = Unit(index, place)
                    self.told(unit, batch)
                    kept = spool.read(unit) if spool else None
                    if kept:
                        table, said = kept
                        measured.say(said)
                    else:
                        asked = asked or self._question(shard, batch, forwards)
                        table = self._compare(asked, implementation, blame.get(unit) if blame else None)
                        if spool:
                            spool.write(unit, table, measured.said())
                    if not len(table) and blame and unit in blame:
                        measured.note(_rowless(shard, batch, blame[unit]))
                    tables.append(table)
            if not tables:
                message = "it has no points: give its case at least one batch"
                raise AuditError(message)
            with during("judging"):
                rows = pa.concat_tables(tables).unify_dictionaries()
                measured.outcome.count(rows)
        return rows, measured.outcome

    def try_out(self, shard: Shard, unit: Unit, span: Span) -> None:
        """Ask one unit at some points, as a run does, for nothing but whether the process survives it."""
        batch = next(batch for index, batch in enumerate(_batches(shard)) if index == unit.batch)
        question = part(self._question(shard, batch, {}), span, self._differences)
        self.told(unit, question.batch)
        compare(question, self.implementations[unit.implementation], self.references)

    def _compare(self, question: Question, implementation: Implementation, blamed: Sequence[Blamed] | None) -> pa.Table:
        if blamed:
            return compare_the_rest(question, implementation, self.references, self._differences, blamed)
        return compare(question, implementation, self.references)

    def _question(self, shard: Shard, batch: Batch, forwards: Forwards) -> Question:
        answers = self.references.enclose(batch, exact=shard.named)
        witnesses = self._differences.of(batch)
        return Question(batch, shard.origin, answers, witnesses, witness_all=shard.named, forwards=forwards)


@dataclass
class _Measured:
    """Notes what references and witnesses say, and what the time goes into, while it is entered.

    Args:
        references, differences: who is listened to.
        kernels: what is compiled.
        outcome: what came of it, complete when it is left.
    """

    references: References
    differences: Differences
    kernels: Kernels
    outcome: Outcome = field(default_factory=Outcome)

    def __enter__(self) -> Self:
        WATCH.taken()
        self._compiling = compiler_seconds()
        self._found = self._counts()
        self._compiled = self.kernels.count
        self._heard = [len(texts) for texts in self._lists()]
        return self

    def __exit__(self, *_: object) -> None:
        self.said()
        self.references.keep()
        self.outcome.references.update({name: now - self._found[name] for name, now in self._counts().items()})
        self.outcome.unkept = self.references.unwritable
        self.kernels.publish()
        compiled = self.kernels.count - self._compiled
        self.outcome.compilations += compiled
        seconds = WATCH.taken()
        compiling = compiler_seconds() - self._compiling
        if compiled:
            seconds["mlx"] = max(seconds.get("mlx", 0.0) - compiling, 0.0)
            seconds["compiling"] = compiling
        self.outcome.spend(seconds)

    def said(self) -> list[str]:
        """What came up since this was asked last."""
        lists = self._lists()
        new = [text for texts, heard in zip(lists, self._heard, strict=True) for text in texts[heard:]]
        self._heard = [len(texts) for texts in lists]
        self.say(new)
        return new

    def say(self, contradictions: Sequence[str]) -> None:
        """Note contradictions that came up elsewhere."""
        self.outcome.contradictions += contradictions

    def note(self, text: str) -> None:
        """Note what the reader of the reports should know, once."""
        if text not in self.outcome.notes:
            self.outcome.notes.append(text)

    def _lists(self) -> tuple[list[str], list[str]]:
        return self.references.disagreements, self.differences.contradictions

    def _counts(self) -> dict[str, int]:
        return {"computed": self.references.computed, "reused": self.references.reused}


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
            progress.kept(shard)
            continue
        progress.begun(shard)
        outcome = run_and_write(session, shard, store)
        outcomes.append(outcome)
        tell(progress, shard, outcome)
    return Outcome.merged(outcomes)


def run_and_write(
    session: Session, shard: Shard, store: Store, blame: Blame | None = None, spool: Spool | None = None
) -> Outcome:
    """Run a shard and put it into the store; what its case raises becomes a failure of the outcome.

    Raises:
        AuditError: the store cannot be written to.
    """
    try:
        table, outcome = session.run(shard, blame, spool)
    except (Exception, SystemExit) as error:  # noqa: BLE001  what a case does wrong must not stop the others
        broken = broken_by(error, shard.module)
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


def _rowless(shard: Shard, batch: Batch, blamed: Sequence[Blamed]) -> str:
    """What kills although there is nothing to compare, since a result has no elements."""
    what = f"{batch.group}, {batch.function.text}, {batch.format.name}, {batch.mode.kind}"
    return f"{shard.label}: {blamed[0].verdict} ({blamed[0].message}) at {what}, whose result has no elements."


def _batches(shard: Shard) -> Iterator[Batch]:
    batches = shard.batches()
    while True:
        with during("points"):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch
