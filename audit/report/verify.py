"""Verification of a finished run: are its files those that were written, and do its counts follow from its rows?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from audit.errors import AuditError
from audit.files import digest, read_json
from audit.report.counts import COUNTED, NAMED
from audit.report.json_report import READABLE, Series, json_report, read_report
from audit.report.manifest import contents, read_manifest
from audit.store import Store


def verify(folder: Path) -> list[str]:
    """What is wrong with a run, a sentence each; empty if nothing is.

    Args:
        folder: the run's folder.

    Raises:
        AuditError: the manifest is absent, foreign or changed, or the rows cannot be read.
    """
    manifest = read_manifest(folder)
    problems = list(_changed(folder, manifest))
    return problems or list(_recounted(folder))


def _changed(folder: Path, manifest: dict[str, Any]) -> Iterator[str]:
    listed = {entry["name"]: entry for entry in manifest["files"]}
    for name, entry in listed.items():
        path = folder / name
        if not path.is_file():
            yield f"{path} is missing. Restore it, or run the audit again."
        elif path.stat().st_size != entry["bytes"]:
            yield f"{path} has {path.stat().st_size} bytes, {entry['bytes']} were written: restore it, or run again."
        elif digest(path) != entry["sha256"]:
            yield f"{path} was changed after it was written: restore it, or run the audit again."
    for path in contents(folder):
        if path.relative_to(folder).as_posix() not in listed:
            yield f"{path} is not part of the run. Move it elsewhere."


def _recounted(folder: Path) -> Iterator[str]:
    reports = [path for path in sorted(folder.glob("*.json")) if _is_report(path)]
    store = Store(folder)
    rows, whole = store.select(COUNTED), store.select(filters=NAMED)
    for path in reports:
        yield from _recount(path, rows, whole)


def _recount(path: Path, rows: pa.Table, whole: pa.Table) -> Iterator[str]:
    report = read_report(path)
    series = Series(report["series"]["name"], report["series"]["version"])
    try:
        due = json_report(rows, report["implementation"], series, report["environment"], whole=whole, found=report)
    except AuditError as error:
        yield f"{path} does not belong to these rows: {error}"
        return
    # A report of the first schema is as right as it was.
    wrong = [name for name in due if name != "schema" and due[name] != report[name]]
    if wrong:
        yield f"{path}: {', '.join(wrong)} do not follow from rows.parquet. Run the audit again."
    if _unowned(report):
        yield f"{path}: {_unowned(report)} wrong rows belong to no defect, or to two. Run the audit again."


def _unowned(report: dict[str, Any]) -> int:
    """How many wrong rows belong to no defect and no missing rule; none do where no defects were asked for."""
    if not report["operations"]:
        return 0
    held = [entry["counts"] for entry in (*report["defects"], *report["missing"], *report["unconfirmed"])]
    wrong = report["totals"]["mismatches"] + report["families"]["totals"]["mismatches"]
    return wrong - sum(counts["mismatches"] + counts["in_compositions"] for counts in held)


def _is_report(path: Path) -> bool:
    content = read_json(path)
    return isinstance(content, dict) and content.get("schema") in READABLE
