"""The JSON report of one implementation: counts, and every mismatch of the named series.

`reports/schema.json` describes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from audit.errors import AuditError
from audit.files import read_json
from audit.report import record
from audit.report.counts import (
    counts,
    counts_by,
    mismatching,
    of_implementation,
    plan_hash,
    split_series,
)
from audit.rows import row_name

SCHEMA_NAME = "gradaudit/report/2"
# Reports of the first schema have no defects; everything else is the same.
READABLE = ("gradaudit/report/1", SCHEMA_NAME)

# What `audit.defects` says of a run, and what stands there where nobody asked it.
FOUND: Mapping[str, Any] = {"defects": [], "missing": [], "conventions": [], "unconfirmed": [], "operations": {}}


@dataclass(frozen=True)
class Series:
    """The named series a report is about.

    Args:
        name: e.g. ``"divide-1328"``.
        version: changes with any point of it.
    """

    name: str
    version: str


def json_report(
    rows: pa.Table,
    implementation: str,
    series: Series,
    environment: Mapping[str, str],
    *,
    whole: pa.Table | None = None,
    found: Mapping[str, Any] = FOUND,
) -> dict[str, Any]:
    """The report of one implementation.

    Args:
        rows: all rows of a run, in plan order; the columns `COUNTED` are enough if `whole` is given.
        implementation: whose rows are reported.
        series: the named series.
        environment: as `audit.report.environment.environment` gives it.
        whole: the rows of the named series with all columns.
        found: its defects, missing rules and conventions, as `audit.defects.Findings.to_json` gives them.

    Raises:
        AuditError: the run has no rows of that implementation.
    """
    own = of_implementation(rows, implementation)
    if not len(own):
        present = ", ".join(counts_by(rows, "implementation")) or "none"
        raise AuditError(f"The run has no rows of implementation {implementation!r}. It has those of: {present}.")
    named, families = split_series(own)
    told = named if whole is None else of_implementation(whole, implementation)
    return {
        "schema": SCHEMA_NAME,
        "series": {**asdict(series), "hash": plan_hash(named), "count": len(named)},
        "implementation": implementation,
        "environment": dict(environment),
        "totals": counts(named),
        "by_format": counts_by(named, "format"),
        "by_group": counts_by(named, "group"),
        "families": {
            "totals": counts(families),
            "by_format": counts_by(families, "format"),
            "by_group": counts_by(families, "group"),
        },
        **{name: found[name] for name in FOUND},
        "rows": [row_to_json(row) for row in told.filter(pa.array(mismatching(told))).to_pylist()],
    }


def row_to_json(row: Mapping[str, Any]) -> dict[str, Any]:
    """One row as the JSON report has it: inputs, cotangent and got in exact hexadecimal."""
    fmt = record.got_format(row)
    arguments, weights = record.inputs(row)
    got, right = record.got(row), record.right(row)
    names = (
        "case",
        "group",
        "function",
        "format",
        "got_format",
        "mode",
        "traced",
        "argument",
        "layout",
        "wrap",
        "shapes",
    )
    return {
        "id": row_name(row["id"]),
        **{name: row[name] for name in names},
        "point": row["point"],
        "element": row["element"],
        "primals": {x.name: _hexadecimal(x) for x in arguments},
        "weights": [_hexadecimal(x) for x in weights],
        "got": None if got is None else [fmt.hex(part) for part in got],
        "right": None if right is None else [part.to_json() for part in right],
        "error_ulps": finite(row["error"]),
        "tolerance_ulps": finite(row["tolerance"]),
        "allowance_ulps": finite(row["allowance"]),
        "witness": finite(row["witness"]),
        "witness_bound": finite(row["witness_bound"]),
        "absolute_mismatch": row["absolute_mismatch"],
        "forward_wrong": row["forward_wrong"],
        "convention": row["convention"],
        "verdict": row["verdict"],
        "message": row["message"],
    }


def _hexadecimal(x: record.Input) -> list[str]:
    return [x.format.hex(part) for number in x.numbers for part in number]


def finite(x: float | None) -> float | str | None:
    """A number as JSON can hold it: infinities become text, NaN becomes null."""
    if x is None or math.isnan(x):
        return None
    return x if math.isfinite(x) else str(x)


def read_report(path: Path) -> dict[str, Any]:
    """A JSON report from disk.

    Raises:
        AuditError: absent, truncated, or not a report of this audit.
    """
    content = read_json(path)
    if not isinstance(content, dict) or content.get("schema") not in READABLE:
        found = content.get("schema") if isinstance(content, dict) else None
        raise AuditError(f"{path} is no report of this audit: its schema is {found!r}, {SCHEMA_NAME!r} is due.")
    wanted = ("series", "implementation", "environment", "totals", "by_format", "by_group", "families", "rows")
    missing = [name for name in wanted if name not in content]
    if missing:
        raise AuditError(f"{path} lacks {', '.join(missing)}: it was cut or edited. Write it again with the audit.")
    absent = [name for name in FOUND if content["schema"] == SCHEMA_NAME and name not in content]
    if absent:
        raise AuditError(f"{path} lacks {', '.join(absent)}: it was cut or edited. Write it again with the audit.")
    return {**FOUND, **content}
