"""A defect with everything that a report says of it: shrunk input, safe bands, second method, script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.defects.band import Band
from audit.defects.classes import SENTENCES, Class
from audit.defects.confirm import Confirmation
from audit.defects.defect import Defect
from audit.report import record
from audit.report.json_report import row_to_json
from audit.rows import row_name

# A row of more numbers is told by its id only.
NUMBERS = 64

MODES = {"forward": "value", "vjp": "vjp", "jvp": "jvp", "second": "second derivative", "vmap": "vmap rule"}


@dataclass(frozen=True)
class Finding:
    """A defect, examined.

    Args:
        defect: what it is.
        row: the row of the shrunk input.
        text: the function as a user writes it.
        script: the reproducer.
        bands: by format.
        line: in words, what the exponents of the bands scale.
        confirmation: what independent methods say.
        kept: bands as the JSON report has them, where they are those of a baseline.
    """

    defect: Defect
    row: Mapping[str, Any]
    text: str
    script: str
    bands: Mapping[str, Band] = field(default_factory=dict)
    line: str = ""
    confirmation: Confirmation = field(default_factory=lambda: Confirmation(()))
    kept: Mapping[str, Any] | None = None

    @property
    def sentence(self) -> str:
        """What is wrong, in one sentence."""
        defect = self.defect
        rules = " and ".join(MODES[rule] for rule in defect.rules)
        whose = f" for {defect.argument.replace(',', ' and ')}" if defect.argument else ""
        if defect.kind is Class.MISSING:
            return f"The {rules} of {defect.operation}{whose} is not implemented."
        verb = "are" if len(defect.rules) > 1 else "is"
        return f"The {rules} of {defect.operation}{whose} {verb} {SENTENCES[defect.kind]}."

    @property
    def objection(self) -> str:
        """What speaks against the right value, in one sentence; empty if nothing does."""
        against = [method for method in self.confirmation.methods if method.agrees is False]
        return f"{self.defect.name} is not confirmed: {against[0].name} gives {against[0].value}" if against else ""

    def to_json(self) -> dict[str, Any]:
        """As the JSON report has it."""
        defect, row = self.defect, self.row
        right, got = record.right(row), record.got(row)
        fmt = record.got_format(row)
        return {
            "id": defect.name,
            "operation": defect.operation,
            "mode": list(defect.rules),
            "argument": defect.argument or None,
            "formats": list(defect.formats),
            "class": str(defect.kind),
            "sentence": self.sentence,
            "function": self.text,
            "right": None if right is None else [part.to_json() for part in right],
            "got": [fmt.hex(part) for part in got] if got is not None else row["message"],
            "verdict": row["verdict"],
            "safe_band": self.kept or {name: band.to_json() for name, band in self.bands.items()} or None,
            "safe_band_scales": self.line or None,
            "seen_in": [seen.to_json() for seen in defect.seen_in()],
            "suspected": sorted(defect.suspected),
            "counts": defect.counts(),
            "second_method": [method.to_json() for method in self.confirmation.methods],
            "reproducer": self.script,
            "shrunk": row_to_json(row),
            "rows": [row_name(original["id"]) for original in defect.rows()],
            # Of large arrays the id is enough: every row is in the Parquet file.
            "row_details": [row_to_json(original) for original in defect.rows() if _short(original)],
        }


def missing_to_json(finding: Finding) -> dict[str, Any]:
    """A missing rule as the JSON report has it: there is nothing to compare."""
    whole = finding.to_json()
    names = ("id", "operation", "mode", "argument", "formats", "class", "sentence", "function")
    return {name: whole[name] for name in (*names, "seen_in", "counts", "reproducer", "rows")} | {
        "message": finding.row["message"]
    }


def unconfirmed_to_json(finding: Finding) -> dict[str, Any]:
    """What is not believed, as the JSON report has it."""
    return {"id": finding.defect.name, "reason": finding.objection, "counts": finding.defect.counts()}


def _short(row: Mapping[str, Any]) -> bool:
    return len(row["primals"]) + len(row["weights"]) <= NUMBERS
