"""The front door: the defects of one implementation in a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from audit.case import Implementation
from audit.defects.again import Asker, Place, Row, is_wrong, place_of
from audit.defects.band import band
from audit.defects.classes import Class
from audit.defects.classify import Classifier
from audit.defects.confirm import Confirmation, confirm
from audit.defects.conventions import Convention, conventions
from audit.defects.defect import Defect
from audit.defects.evidence import Evidence, Parts, gather
from audit.defects.finding import Finding, missing_to_json, unconfirmed_to_json
from audit.defects.grouping import conserved, group
from audit.defects.known import recognised
from audit.defects.line import best_line
from audit.defects.shrinking import in_simplest_format, shrink
from audit.defects.subjects import Subject, Subjects, split_name
from audit.errors import AuditError
from audit.formats import lookup
from audit.reference import References
from audit.report.reproduce import script

# Defects of these classes may end the process or raise for any input: their simplest row is taken as it is.
AS_FOUND = (Class.MISSING, Class.CRASH)


@dataclass(frozen=True)
class Findings:
    """What a run found of one implementation.

    Args:
        defects: one cause each.
        missing: rules that are not implemented, counted apart.
        conventions: places with several right answers, listed apart.
        seen: operations that were asked, with the formats in which they were.
        unconfirmed: what is not believed, since an independent method speaks against its right value.
        contradictions: what the reference and an independent method disagree about, a sentence each.
        counts: wrong rows in all, and those that belong to a defect or a missing rule.
    """

    defects: Sequence[Finding]
    missing: Sequence[Finding]
    conventions: Sequence[Convention]
    seen: Mapping[str, Sequence[str]]
    unconfirmed: Sequence[Finding] = ()
    contradictions: Sequence[str] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As the JSON report has it."""
        return {
            "defects": [finding.to_json() for finding in self.defects],
            "missing": [missing_to_json(finding) for finding in self.missing],
            "conventions": [convention.to_json() for convention in self.conventions],
            "unconfirmed": [unconfirmed_to_json(finding) for finding in self.unconfirmed],
            "operations": {name: list(formats) for name, formats in self.seen.items()},
        }


def joined(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What was found apart, as `Findings.to_json` has it, as if it had been found together."""

    def order(entry: Mapping[str, Any]) -> tuple[str, str]:
        return entry.get("operation", ""), entry["id"]

    names = ("defects", "missing", "unconfirmed")
    whole: dict[str, Any] = {
        name: sorted((entry for part in found for entry in part[name]), key=order) for name in names
    }
    whole["conventions"] = sorted(
        (entry for part in found for entry in part["conventions"]), key=lambda entry: entry["operation"]
    )
    whole["operations"] = dict(sorted((name, seen) for part in found for name, seen in part["operations"].items()))
    return whole


def stored(path: Path, groups: Sequence[int] | None = None) -> Parts:
    """The rows of a sealed file in parts, one row group at a time.

    Args:
        path: of ``rows.parquet``.
        groups: the row groups that are read; None for all.
    """

    def parts(columns: Sequence[str] | None) -> Iterator[pa.Table]:
        with pq.ParquetFile(path) as file:
            for index in range(file.num_row_groups) if groups is None else groups:
                yield file.read_row_group(index, columns=None if columns is None else list(columns))

    return parts


def find_defects(
    parts: Parts,
    implementation: Implementation,
    subjects: Subjects,
    references: References,
    *,
    patched: Sequence[str] = (),
    as_found: Collection[str] = (),
    known: Mapping[str, Mapping[str, Any]] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Findings:
    """Distinct defects from the rows of a run, each shrunk, with safe bands, a reproducer and a second method.

    Args:
        parts: the rows, in parts; read twice.
        implementation: whose defects.
        subjects: what rows are about, by case and function.
        references: right values for what is asked again.
        patched: implementations of the same run in which one primitive is repaired.
        as_found: ids of defects that are not asked again, since that ends the process.
        known: defects of a baseline by id: their shrunk inputs are asked again, and not shrunk anew.
        progress: called with the id of each defect that is looked at.

    Raises:
        AuditError: a row is of a function that no case has.
    """

    def operation_of(case: str, function: str) -> str:
        subject = subjects.get((case, function))
        return (subject.within or subject.operation) if subject else split_name(function)[0]

    evidence = gather(parts, implementation.name, operation_of, patched)
    _check(evidence, subjects)
    asker = Asker(implementation, references)
    classifier = Classifier(evidence, subjects, asker)
    defects = group(evidence, subjects, classifier.classify)
    found: list[Finding] = []
    unconfirmed: list[Finding] = []
    failures: list[str] = []
    for defect in defects:
        if progress:
            progress(defect.name)
        try:
            finding = None
            if defect.name not in as_found and known and defect.name in known:
                finding = recognised(defect, known[defect.name], subjects, asker)
            finding = finding or examine(defect, subjects, asker, as_found=defect.name in as_found)
        except Exception as error:  # noqa: BLE001  what goes wrong with one defect must not hide the others
            failures.append(f"{defect.name} could not be examined: {type(error).__name__}: {error}")
            finding = examine(defect, subjects, asker, as_found=True)
        (unconfirmed if finding.confirmation.contradicted else found).append(finding)
    return Findings(
        defects=[finding for finding in found if finding.defect.kind is not Class.MISSING],
        missing=[finding for finding in found if finding.defect.kind is Class.MISSING],
        conventions=conventions(evidence, subjects),
        seen={name: sorted(formats) for name, formats in sorted(evidence.seen.items())},
        unconfirmed=unconfirmed,
        contradictions=[*(finding.objection for finding in unconfirmed), *failures, *asker.contradictions],
        counts=conserved(evidence, defects),
    )


def examine(defect: Defect, subjects: Subjects, asker: Asker, *, as_found: bool = False) -> Finding:
    """Shrink one defect, and find its safe bands and second method; or take its simplest row as it is."""
    row = defect.rows()[0]
    subject = _subject(subjects, row)
    if as_found or defect.kind in AS_FOUND or row["verdict"] in ("crash", "hang"):
        return Finding(defect, row, subject.function.text, script(row, subject.function.text))
    place, row = _shrunk(defect, subjects, asker)
    subject = place.subject
    bands, text = {}, ""
    line = best_line(place, asker) if defect.kind in (Class.RANGE, Class.CANCELLATION) else None
    if line is not None:
        text = line.text
        for name in defect.formats:
            if lookup(name).parts == 1:
                made = band(line, lookup(name), asker)
                if made is not None:
                    bands[name] = made
    methods = confirm(place, row, asker) if row["right"] is not None else Confirmation(())
    return Finding(defect, row, subject.function.text, script(row, subject.function.text), bands, text, methods)


def _shrunk(defect: Defect, subjects: Subjects, asker: Asker) -> tuple[Place, Row]:
    """The simplest point and its row: the first of the defect's rows that is wrong when it is asked again."""
    last: tuple[Place, Row] | None = None
    for row in defect.rows():
        place = place_of(row, _subject(subjects, row))
        last = last or (place, row)
        if not is_wrong(asker.row(place)):
            continue
        simpler = in_simplest_format(place, defect.formats, asker)
        begun = asker.row(simpler)
        result = shrink(simpler, defect.kind, asker, begun if begun is not None else row)
        return result.place, result.row
    if last is None:
        raise AuditError(f"{defect.name} has no rows.")
    return last


def _subject(subjects: Subjects, row: Row) -> Subject:
    return subjects[row["case"], row["function"]]


def _check(evidence: Evidence, subjects: Subjects) -> None:
    for key in evidence.buckets:
        if (key.cell.case, key.cell.function) not in subjects:
            raise AuditError(
                f"Case {key.cell.case!r} has no function {key.cell.function!r} any more: run the audit again."
            )
