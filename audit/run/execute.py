"""Run a plan: every shard is asked of every implementation, judged, and written before the next begins."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from audit.comparison import Question, compare
from audit.difference import Differences
from audit.reference import References
from audit.registry import broken_by
from audit.run.plan import Plan, Shard
from audit.store import Store

Progress = Callable[[Shard, int], None]


@dataclass
class Outcome:
    """What a run did beside its rows.

    Args:
        verdicts: number of rows by (implementation, series, verdict).
        seconds: wall time spent on references, on MLX and judging, and on witnesses and writing.
        contradictions: places where reference and witness, or reference and second opinion, disagree.
        failures: shards that could not be run, and why; the others were.
    """

    verdicts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: {"references": 0.0, "mlx, judging and witnesses": 0.0})
    contradictions: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def collect(plan: Plan, references: References) -> tuple[pa.Table, Outcome]:
    """Run all shards and keep their rows in memory."""
    outcome, differences = Outcome(), Differences(references)
    tables = [table for shard in plan.shards for table in _run(shard, plan, references, differences, outcome)]
    outcome.contradictions += references.disagreements + differences.contradictions
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks(), outcome


def execute(plan: Plan, store: Store, references: References, progress: Progress | None = None) -> Outcome:
    """Run all shards that the store does not hold yet.

    Args:
        plan: what to do.
        store: where rows go; shards that are there already are not run again.
        references: the right values.
        progress: called with each finished shard and its number of rows (0 if it was there already).
    """
    outcome = Outcome()
    differences = Differences(references)
    for shard in plan.shards:
        if shard.key in store:
            if progress:
                progress(shard, 0)
            continue
        try:
            tables = _run(shard, plan, references, differences, outcome)
        except Exception as error:  # noqa: BLE001  what a case does wrong must not stop the others
            broken = broken_by(error, f"cases.{shard.case.name}")
            outcome.failures.append(f"{shard.label} could not be run: {broken.message} ({broken.place})")
            continue
        table = pa.concat_tables(tables).unify_dictionaries()
        store.write(shard.key, table)
        if progress:
            progress(shard, len(table))
    outcome.contradictions += references.disagreements + differences.contradictions
    return outcome


def _run(
    shard: Shard, plan: Plan, references: References, differences: Differences, outcome: Outcome
) -> list[pa.Table]:
    """The rows of a shard, a table for each batch and implementation."""
    tables, forwards = [], {}
    for batch in shard.batches():
        begun = time.perf_counter()
        answers = references.enclose(batch, exact=shard.named)
        referenced = time.perf_counter()
        question = Question(
            batch, shard.origin, answers, differences.of(batch), witness_all=shard.named, forwards=forwards
        )
        for implementation in plan.implementations:
            table = compare(question, implementation, references)
            tables.append(table)
            for entry in table.column("verdict").value_counts().to_pylist():
                outcome.verdicts[implementation.name, shard.origin.series, entry["values"]] += entry["counts"]
        outcome.seconds["references"] += referenced - begun
        outcome.seconds["mlx, judging and witnesses"] += time.perf_counter() - referenced
    return tables
