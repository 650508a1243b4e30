"""A defect that a baseline has: its shrunk input is asked again, and what follows from it is taken as it is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.defects.again import Asker, is_wrong, place_of
from audit.defects.confirm import Confirmation, Method
from audit.defects.defect import Defect
from audit.defects.finding import Finding
from audit.defects.subjects import Subject, Subjects
from audit.errors import AuditError
from audit.report import record
from audit.report.reproduce import script


def recognised(defect: Defect, entry: Mapping[str, Any], subjects: Subjects, asker: Asker) -> Finding | None:
    """The defect with the input of a baseline, if that is wrong in the same way; None if it is not, or has no input.

    Args:
        defect: of this run.
        entry: of the baseline, of the same id.
        subjects: what rows are about.
        asker: asks again.
    """
    try:
        return _recognised(defect, entry, subjects, asker)
    except (LookupError, TypeError, AttributeError, ValueError, AuditError):
        # Of an earlier form of the case or of the baseline: it is shrunk anew.
        return None


def _recognised(defect: Defect, entry: Mapping[str, Any], subjects: Subjects, asker: Asker) -> Finding | None:
    content = entry.get("shrunk")
    subject = _subject(defect, content["function"], subjects) if content else None
    if content is None or subject is None or content["verdict"] in ("crash", "hang"):
        return None
    row = asker.row(place_of(record.from_json(content), subject), witness=True)
    if row is None or not is_wrong(row) or row["verdict"] != content["verdict"]:
        return None
    text = subject.function.text
    methods = Confirmation([Method(**method) for method in entry.get("second_method", ())])
    line = entry.get("safe_band_scales") or ""
    return Finding(defect, row, text, script(row, text), {}, line, methods, kept=entry.get("safe_band") or {})


def _subject(defect: Defect, function: str, subjects: Subjects) -> Subject | None:
    cells = [bucket.key.cell for bucket in defect.buckets]
    return next((subjects[cell.case, cell.function] for cell in cells if cell.function == function), None)
