"""One row by its id, from a run folder or a JSON report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from audit.errors import AuditError
from audit.formats import Format, lookup
from audit.report.counts import mismatching
from audit.report.json_report import read_report
from audit.rows import SCHEMA
from audit.store import Store


def find_row(path: Path, name: str, implementation: str = "") -> dict[str, Any]:
    """The row with an id, as a mapping from column to value.

    Args:
        path: a run folder, or a JSON report, which has the mismatches of the named series only.
        name: the id, 16 hexadecimal digits, or a beginning of it that no other row has.
        implementation: whose row; without it, the first implementation that is wrong there, or else the first.

    Raises:
        AuditError: no such row, or several; or the file cannot be read.
    """
    if not name or len(name) > 16 or set(name.lower()) - set("0123456789abcdef"):
        raise AuditError(f"{name!r} is no row: an id has 16 hexadecimal digits, or fewer that begin it.")
    rows = _from_folder(path, name) if path.is_dir() else _from_report(path, name)
    rows = [row for row in rows if implementation in ("", row["implementation"])]
    if not rows:
        whose = f" of implementation {implementation!r}" if implementation else ""
        hint = "" if path.is_dir() else " A JSON report has mismatches only; name a run folder for the others."
        raise AuditError(f"{path} has no row {name}{whose}.{hint}")
    ids = {row["id"] for row in rows}
    if len(ids) > 1:
        listed = ", ".join(f"{i:016x}" for i in sorted(ids)[:4])
        raise AuditError(f"{name} begins {len(ids)} rows of {path}: {listed} ... Write more digits.")
    return rows[0]


def _from_folder(path: Path, name: str) -> list[dict[str, Any]]:
    shift = 4 * (16 - len(name))
    low = int(name, 16) << shift
    high = low + (1 << shift) - 1
    found = Store(path).select(
        filters=[("id", ">=", pa.scalar(low, pa.uint64())), ("id", "<=", pa.scalar(high, pa.uint64()))]
    )
    wrong = mismatching(found)
    order = sorted(range(len(found)), key=lambda i: not wrong[i])
    return found.take(pa.array(order, pa.int64())).to_pylist()


def _from_report(path: Path, name: str) -> list[dict[str, Any]]:
    report = read_report(path)
    rows = [row for row in report["rows"] if row["id"].startswith(name.lower())]
    return [_decoded(row, report) for row in rows]


def _decoded(row: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a JSON report as it was before it was written."""
    fmt = lookup(row["format"])
    values: dict[str, Any] = {name: row.get(name) for name in SCHEMA.names}
    values |= {
        "id": int(row["id"], 16),
        "series": report["series"]["name"],
        "implementation": report["implementation"],
        "primals": [bits for numbers in row["primals"].values() for bits in _bits(numbers, fmt)],
        "weights": [bits for numbers in row["weights"] for bits in _bits(numbers, fmt)],
        "error": _number(row["error_ulps"]),
        "tolerance": _number(row["tolerance_ulps"]),
        "allowance": _number(row["allowance_ulps"]),
        "witness": _number(row["witness"]),
        "witness_bound": _number(row["witness_bound"]),
        "got": None,
        "right": None,
    }
    for suffix, number in zip(("", "_imag"), _bits(row["got"] or [], fmt), strict=False):
        values["got" + suffix] = number
    for suffix, part in zip(("", "_imag"), row["right"] or [], strict=False):
        values["right" + suffix] = float.fromhex(part["value"])
        values["residual" + suffix], values["radius" + suffix] = part["residual"], part["radius"]
    return values


def _bits(numbers: list[str], fmt: Format) -> list[int]:
    return [int(fmt.to_bits(float.fromhex(text))) for text in numbers]


def _number(x: float | str | None) -> float | None:
    return None if x is None else float(x)
