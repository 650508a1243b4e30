"""All reports of a finished run, written into its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.files import write, write_json
from audit.report.comparison_report import Comparison, compare
from audit.report.counts import COUNTED, NAMED, counts_by
from audit.report.environment import mlx_library
from audit.report.json_report import FOUND, Series, json_report
from audit.report.manifest import write_manifest
from audit.report.markdown import ProbeRow, summary
from audit.report.range_plot import GROUP, PLOTTED, plot_range
from audit.report.sides import from_rows
from audit.store import Store

PICTURE = "range.svg"


@dataclass(frozen=True)
class Remarks:
    """What the reports tell beside the rows.

    Args:
        environment: as `audit.report.environment.environment` gives it.
        probe: rows of the probe table.
        notes: what was skipped, and what else the reader must know, a sentence each.
        patches: compiled patches and their sources.
        costs: what the run cost, as pairs of what and how much.
    """

    environment: Mapping[str, str]
    probe: Sequence[ProbeRow] = ()
    notes: Sequence[str] = ()
    patches: Sequence[Path] = ()
    costs: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Reports:
    """What was written.

    Args:
        by_implementation: JSON reports by name of the implementation.
        comparison: of before with after; None if the run has one implementation.
    """

    by_implementation: Mapping[str, Mapping[str, Any]]
    comparison: Comparison | None


def write_reports(
    store: Store,
    series: Series,
    before: str,
    after: str | None,
    remarks: Remarks,
    found: Mapping[str, Mapping[str, Any]] | None = None,
) -> Reports:
    """Write the JSON reports, the comparison, the summary and, last, the manifest of a sealed run.

    Args:
        store: the rows.
        series: the named series.
        before: the implementation whose report is ``before.json``.
        after: the one whose report is ``after.json``, if there is one; all others are named after themselves.
        remarks: what the reports tell beside the rows.
        found: by implementation, its defects as `audit.defects.Findings.to_json` gives them.

    Raises:
        AuditError: the run has no rows of one of them, or its folder cannot be written to.
    """
    rows, whole = store.select(COUNTED), store.select(filters=NAMED)
    files = {name: f"{name.replace(':', '-')}.json" for name in counts_by(rows, "implementation")}
    files |= {before: "before.json"} | ({after: "after.json"} if after else {})
    defects = {name: (found or {}).get(name, FOUND) for name in files}
    reports = {
        name: json_report(rows, name, series, remarks.environment, whole=whole, found=defects[name]) for name in files
    }
    for name, file in files.items():
        write_json(store.folder / file, reports[name])
    comparison = None
    if after:
        comparison = compare(from_rows(rows, before, "before"), from_rows(rows, after, "after"))
        write_json(store.folder / "comparison.json", comparison.to_json())
    pictured = plot_range(
        store.select(PLOTTED, [("group", "=", GROUP)]),
        [name for name in (before, after) if name],
        store.folder / PICTURE,
    )
    text = summary(
        reports[before],
        reports[after] if after else None,
        comparison=comparison.lines() if comparison else (),
        probe=remarks.probe,
        notes=remarks.notes,
        costs=remarks.costs,
        picture=PICTURE if pictured else "",
    )
    write(store.folder / "summary.md", text)
    write_manifest(store.folder, mlx_library(), remarks.patches)
    return Reports(reports, comparison)
