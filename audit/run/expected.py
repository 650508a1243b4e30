"""Which mismatches are expected: those that the committed report lists for stock MLX, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from audit.report.counts import chosen, of_implementation, split_series
from audit.report.json_report import read_report
from audit.rows import row_name

UNJUDGED = ("not_run", "inconclusive")

# Rules that claim to be right everywhere; the others are known to fail in the scale families, where nothing is listed.
RIGHT_EVERYWHERE = ("mlx+divide", "python")


@dataclass(frozen=True)
class Judged:
    """One implementation's mismatches against the expected ones.

    Args:
        implementation: its name.
        mismatches: how many of the named series fail.
        new: ids of rows that fail and are not listed.
        repaired: ids of rows that are listed and do not fail.
        in_families: mismatches in the scale families that are not expected.
        unjudged: how many of the named series were not run or are inconclusive.
    """

    implementation: str
    mismatches: int
    new: tuple[str, ...]
    repaired: tuple[str, ...]
    in_families: int
    unjudged: int

    @property
    def as_expected(self) -> bool:
        """Whether it fails exactly where it is expected to."""
        return not (self.new or self.repaired or self.in_families)


def listed(baseline: Path) -> frozenset[str]:
    """Ids of the mismatches that a committed report lists; none where there is no report.

    Raises:
        AuditError: it cannot be read.
    """
    return frozenset(row["id"] for row in read_report(baseline)["rows"]) if baseline.exists() else frozenset()


def judge_reports(reports: Mapping[str, Mapping[str, Any]], rows: pa.Table, baseline: frozenset[str]) -> list[Judged]:
    """Judge every implementation of a run.

    Args:
        reports: JSON reports by implementation.
        rows: all rows of the run.
        baseline: ids that are listed for stock MLX.
    """
    return [_judge(name, report, rows, baseline) for name, report in reports.items()]


def _judge(name: str, report: Mapping[str, Any], rows: pa.Table, baseline: frozenset[str]) -> Judged:
    # "mlx:compiled" and "mlx:vmapped" are stock MLX asked in another way.
    rule = name.partition(":")[0]
    failing = [row["id"] for row in report["rows"]]
    named, _ = split_series(of_implementation(rows, name))
    # What could not be judged is neither as expected nor repaired; it is counted apart.
    judged = named.filter(pa.array(~chosen(named, "verdict", lambda verdict: verdict in UNJUDGED)))
    due = baseline & {row_name(i) for i in judged["id"].to_pylist()} if rule == "mlx" else frozenset()
    families = report["families"]["totals"]["mismatches"]
    return Judged(
        implementation=name,
        mismatches=len(failing),
        new=tuple(i for i in failing if i not in due),
        repaired=tuple(sorted(due - set(failing))),
        in_families=families if rule in RIGHT_EVERYWHERE else 0,
        unjudged=sum(report["totals"]["verdicts"][name] for name in UNJUDGED),
    )
