"""Run a plan: every shard is asked of every implementation, judged, and written before the next begins."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from audit.case import Batch
from audit.comparison import Origin, Question, compare
from audit.difference import Differences
from audit.reference import References
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
    """

    verdicts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    contradictions: list[str] = field(default_factory=list)


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
        tables = [
            table
            for batch in shard.batches()
            for table in run_batch(plan, batch, shard.origin, references, differences, outcome, named=shard.named)
        ]
        table = pa.concat_tables(tables).unify_dictionaries()
        store.write(shard.key, table)
        if progress:
            progress(shard, len(table))
    outcome.contradictions += references.disagreements + differences.contradictions
    return outcome


def run_batch(
    plan: Plan,
    batch: Batch,
    origin: Origin,
    references: References,
    differences: Differences,
    outcome: Outcome,
    *,
    named: bool,
) -> list[pa.Table]:
    """The rows of one batch, a table for each implementation."""
    begun = time.perf_counter()
    answers = references.enclose(batch)
    referenced = time.perf_counter()
    outcome.seconds["references"] += referenced - begun
    question = Question(batch, origin, answers, differences.of(batch), witness_all=named)
    tables = [compare(question, implementation, references) for implementation in plan.implementations]
    outcome.seconds["mlx and judging"] += time.perf_counter() - referenced
    for table in tables:
        counts = table.column("verdict").value_counts().to_pylist()
        name = table.column("implementation")[0].as_py() if len(table) else ""
        for entry in counts:
            outcome.verdicts[name, origin.series, entry["values"]] += entry["counts"]
    return tables
