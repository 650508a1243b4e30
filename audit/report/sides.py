"""What a comparison has on either side: a JSON report, or the rows of one implementation of a run folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from audit.errors import UnknownName
from audit.report.counts import COUNTED, counts_by, mismatching, of_implementation, plan_hash, split_series
from audit.report.json_report import read_report
from audit.store import Store


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Args:
        label: how it is named in messages.
        implementation: what computed it.
        series_hash: hash of the plan of the named series.
        count: number of comparisons of the named series.
        mismatches: uint64, ids of the mismatches of the named series, in plan order.
        rows: all rows; None for a JSON report.
    """

    label: str
    implementation: str
    series_hash: str
    count: int
    mismatches: NDArray[np.uint64]
    rows: pa.Table | None


def read_sides(text: str) -> list[Side]:
    """The sides that a command-line argument names.

    Args:
        text: a JSON report; a run folder, which gives one side for each of its implementations; or
            ``FOLDER@IMPLEMENTATION``.

    Raises:
        AuditError: a file is absent, truncated or foreign.
        UnknownName: the run has no such implementation.
    """
    if Path(text).exists() or "@" not in text:
        path, wanted = Path(text), ""
    else:
        name, _, wanted = text.rpartition("@")
        path = Path(name)
    if not path.is_dir():
        return [_from_report(path)]
    rows = Store(path).select(COUNTED)
    present = list(counts_by(rows, "implementation"))
    if wanted and wanted not in present:
        raise UnknownName(f"implementation in {path}", wanted, present)
    return [from_rows(rows, name, str(path)) for name in present if wanted in ("", name)]


def from_rows(rows: pa.Table, implementation: str, origin: str) -> Side:
    """One implementation of a run.

    Args:
        rows: all rows of the run.
        implementation: which of its implementations.
        origin: where they come from, for messages.
    """
    own = of_implementation(rows, implementation)
    named, _ = split_series(own)
    return Side(
        label=f"{origin} ({implementation})",
        implementation=implementation,
        series_hash=plan_hash(named),
        count=len(named),
        mismatches=named["id"].to_numpy()[mismatching(named)],
        rows=own,
    )


def _from_report(path: Path) -> Side:
    report = read_report(path)
    ids = np.array([int(row["id"], 16) for row in report["rows"]], np.uint64)
    return Side(
        label=f"{path} ({report['implementation']})",
        implementation=report["implementation"],
        series_hash=report["series"]["hash"],
        count=report["series"]["count"],
        mismatches=ids,
        rows=None,
    )
