"""Baselines: the defects that are known of one version of MLX on one device, and what a run finds against them.

A defect of a run is known if the baseline has one of the same operation, argument and class that lists its rules and
formats. Selections are respected: what was not asked is neither gone nor new. An entry that no operation of the
catalogue could produce is an error, since it would never be missed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.defects.classes import Class
from audit.defects.defect import FORMATS, RULES
from audit.errors import AuditError
from audit.files import read_json, write_json

SCHEMA_NAME = "gradaudit/baseline/1"

# What an entry keeps of a defect: enough to tell it again, and to show it in a line.
_ANEW = "Write it anew: gradaudit defects --write"
_KEPT = ("id", "operation", "mode", "argument", "class", "formats", "sentence")

# What was found out about it, and need not be found out again.
_FOUND = ("function", "right", "got", "safe_band", "safe_band_scales", "second_method", "shrunk")

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Against:
    """A run against a baseline.

    Args:
        new: a sentence each: defects that are not known, or known ones in other formats or rules.
        gone: ids of known defects that were asked for and not found.
        known: ids of known defects that were found.
        skipped: number of known defects that were not asked for.
    """

    new: Sequence[str]
    gone: Sequence[str]
    known: Sequence[str]
    skipped: int

    @property
    def exit_status(self) -> int:
        """1 if anything is new."""
        return 1 if self.new else 0

    def lines(self) -> list[str]:
        """In words."""
        told = f"{len(self.known)} known defects found, {len(self.new)} new, {len(self.gone)} gone"
        if self.skipped:
            told += f", {self.skipped} not asked for"
        return [told, *(f"new: {text}" for text in self.new), *(f"gone: {name}" for name in self.gone)]


def name_of(mlx: str, device: str) -> str:
    """File name of the baseline of a version on a device, e.g. ``"0.32.4-cpu.json"``."""
    return f"{mlx}-{device}.json"


def newest(folder: Path) -> Path | None:
    """The baseline of the newest version of MLX in a folder, that of the CPU first; None if there is none."""
    found = sorted(folder.glob("*-*.json"), key=lambda path: (_version(path), path.stem.endswith("-cpu")))
    return found[-1] if found else None


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", path.stem.partition("-")[0]))


def to_baseline(report: Mapping[str, Any]) -> dict[str, Any]:
    """The baseline that a report makes.

    Args:
        report: a JSON report of a whole run.

    Raises:
        AuditError: no defects were looked for, or some are not confirmed.
    """
    if not report["operations"]:
        raise AuditError("The report says nothing of defects: make one with 'gradaudit run'.")
    if report["unconfirmed"]:
        listed = ", ".join(entry["id"] for entry in report["unconfirmed"])
        raise AuditError(f"Nothing is written while right values are in doubt: {listed}.")
    environment = report["environment"]
    return {
        "schema": SCHEMA_NAME,
        "mlx": environment["mlx"],
        "device": environment["device"],
        "defects": [_entry(defect) for defect in report["defects"]],
        "missing": [{name: lack[name] for name in _KEPT} for lack in report["missing"]],
    }


def _entry(defect: Entry) -> dict[str, Any]:
    """A defect with its shrunk input, so that the next run need not look for it."""
    return {name: defect[name] for name in (*_KEPT, *_FOUND)}


def write_baseline(path: Path, report: Mapping[str, Any]) -> None:
    """Write the baseline that a report makes.

    Raises:
        AuditError: as `to_baseline`, or it cannot be written.
    """
    write_json(path, to_baseline(report))


def read_baseline(path: Path) -> dict[str, Any]:
    """A baseline from disk.

    Raises:
        AuditError: absent, truncated, or no baseline.
    """
    content = read_json(path)
    if not isinstance(content, dict) or content.get("schema") != SCHEMA_NAME:
        raise AuditError(f"{path} is no baseline. Write one with: gradaudit defects --write")
    for part in ("defects", "missing"):
        if not isinstance(content.get(part), list):
            raise AuditError(f"{path} has no list of {part}. {_ANEW}")
        for place, entry in enumerate(content[part]):
            objection = _objection(entry)
            if objection:
                raise AuditError(f"{path}: entry {place} of {part} {objection}. {_ANEW}")
    return content


def _objection(entry: Any) -> str:
    """What is wrong with an entry; empty if nothing is."""
    if not isinstance(entry, dict):
        return f"is {type(entry).__name__}, not an object"
    absent = [name for name in _KEPT if name not in entry]
    if absent:
        return f"lacks {', '.join(absent)}"
    words = [name for name in ("id", "operation", "class", "sentence") if not isinstance(entry[name], str)]
    if words or not isinstance(entry["argument"], str | None):
        return f"has no text as {(words or ['argument'])[0]}"
    if entry["class"] not in set(Class):
        return f"is of class {entry['class']!r}, which does not exist"
    for name, known in (("mode", RULES), ("formats", FORMATS)):
        if not isinstance(entry[name], list) or not set(map(str, entry[name])) <= set(known):
            return f"has {name} {entry[name]!r}: a list of {', '.join(known)} is due"
    return ""


def against(
    report: Mapping[str, Any], baseline: Mapping[str, Any], catalogue: Collection[str], *, sample: bool = False
) -> Against:
    """Hold a report against a baseline.

    Args:
        report: a JSON report.
        baseline: as `read_baseline` gives it.
        catalogue: every operation that a run could ask for.
        sample: whether the run asked only a part of what the baseline's did. It may tell classes and arguments apart
            less well, so that what is new must be of another operation or rule, and nothing is gone.

    Raises:
        AuditError: an entry is of an operation that no case has, or of a class or rule that does not exist.
    """
    entries = [*baseline["defects"], *baseline["missing"]]
    strange = [entry["id"] for entry in entries if entry["operation"] not in catalogue]
    if strange:
        raise AuditError(f"The baseline has entries that no case can produce: {', '.join(strange)}. Remove them.")
    found = [*report["defects"], *report["missing"]]
    asked = report["operations"]
    if sample:
        new = [_sentence(defect) for defect in found if not any(_akin(defect, entry) for entry in entries)]
    else:
        new = [text for defect in found for text in _news(defect, entries)]
    known, gone, skipped = [], [], 0
    for entry in entries:
        if any((_akin if sample else _same)(defect, entry) for defect in found):
            known.append(entry["id"])
        elif not sample and set(entry["formats"]) & set(asked.get(entry["operation"], ())):
            gone.append(entry["id"])
        else:
            skipped += 1
    return Against(new, gone, known, skipped)


def _same(defect: Entry, entry: Entry) -> bool:
    """Whether two are one cause: they may show it by different rules and in different formats.

    Where only compositions were asked, it is not told which argument of the operation it is.
    """
    alike = all(defect[name] == entry[name] for name in ("operation", "class"))
    told = defect["argument"] in (None, entry["argument"])
    return alike and told and bool(_families(defect) & _families(entry))


def _akin(defect: Entry, entry: Entry) -> bool:
    """Whether two may be one cause: they are of one operation, and of the value, of derivatives or of vmap."""
    alike = defect["operation"] == entry["operation"] and (defect["class"] == "missing") == (
        entry["class"] == "missing"
    )
    first = {"first" if name == "second" else name for name in _families(defect)}
    return alike and bool(first & {"first" if name == "second" else name for name in _families(entry)})


def _sentence(defect: Entry) -> str:
    return f"{defect['id']}: {defect['sentence']}"


def _families(entry: Entry) -> set[str]:
    # Of what is missing, the rule is the cause; otherwise the vjp and the jvp of one class are one.
    if entry["class"] == "missing":
        return set(entry["mode"])
    return {"first" if rule in ("vjp", "jvp") else rule for rule in entry["mode"]}


def _news(defect: Entry, entries: Sequence[Entry]) -> list[str]:
    same = [entry for entry in entries if _same(defect, entry)]
    if not same:
        return [_sentence(defect)]
    known = {name: {x for entry in same for x in entry[name]} for name in ("formats", "mode")}
    formats = [name for name in defect["formats"] if name not in known["formats"]]
    rules = [name for name in defect["mode"] if name not in known["mode"]]
    told = ", ".join([*rules, *formats])
    return [f"{defect['id']}: known, but not in {told}"] if told else []
