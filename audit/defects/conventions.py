"""Conventions: points with several right answers, listed apart from defects.

At a kink or a tie every member of the convex hull of the one-sided derivatives is right. Where the vjp and the jvp
choose different members, a user who mixes them gets numbers that belong to no one derivative: that is said beside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from audit.defects.defect import FORMATS, rule_of
from audit.defects.evidence import Cell, Evidence
from audit.defects.subjects import Subjects
from audit.report import record
from audit.report.json_report import row_to_json

Row = Mapping[str, Any]


@dataclass
class Convention:
    """Right answers that are one of several, of one operation and argument.

    Args:
        operation, argument: whose derivative.
        rules: by which rules it was seen.
        formats: in which formats.
        example: the simplest row.
        differ: a vjp and a jvp at one point that are members of different one-sided derivatives, if there are such.
    """

    operation: str
    argument: str
    rules: set[str] = field(default_factory=set)
    formats: set[str] = field(default_factory=set)
    example: Row | None = None
    differ: tuple[Row, Row] | None = None

    def to_json(self) -> dict[str, Any]:
        """As the JSON report has it."""
        return {
            "operation": self.operation,
            "argument": self.argument,
            "mode": sorted(self.rules),
            "formats": [name for name in FORMATS if name in self.formats],
            "example": None if self.example is None else row_to_json(self.example),
            "vjp_and_jvp_differ": None if self.differ is None else [row_to_json(row) for row in self.differ],
        }


def conventions(evidence: Evidence, subjects: Subjects) -> list[Convention]:
    """The conventions that a run saw, by operation and argument."""
    found: dict[tuple[str, str], Convention] = {}
    for cell, rows in sorted(evidence.conventions.items()):
        subject = subjects[cell.case, cell.function]
        operation = subject.within or subject.operation
        argument = cell.traced if cell.argument == "output" else cell.argument
        made = found.setdefault((operation, argument), Convention(operation, argument))
        made.rules.add(rule_of(cell.mode))
        made.formats.add(cell.format)
        for row in rows:
            if made.example is None or _size(row) < _size(made.example):
                made.example = row
    for (operation, argument), made in found.items():
        made.differ = _differing(evidence, subjects, operation, argument)
    return list(found.values())


def _differing(evidence: Evidence, subjects: Subjects, operation: str, argument: str) -> tuple[Row, Row] | None:
    """A vjp and a jvp of one number by one number, at one point, whose quotients by their weights differ."""
    seen: dict[tuple[Any, ...], Row] = {}
    for cell, rows in evidence.conventions.items():
        subject = subjects[cell.case, cell.function]
        if (subject.within or subject.operation) != operation or cell.mode != "vjp" or cell.argument != argument:
            continue
        for row in rows:
            seen.setdefault(_point(cell, row), row)
    for cell, rows in evidence.conventions.items():
        if cell.mode != "jvp" or cell.traced != argument:
            continue
        for row in rows:
            other = seen.get(_point(cell, row))
            slopes = (_slope(other), _slope(row)) if other is not None else (None, None)
            if other is not None and None not in slopes and slopes[0] != slopes[1]:
                return other, row
    return None


def _point(cell: Cell, row: Row) -> tuple[Any, ...]:
    return (cell.case, cell.function, cell.format, tuple(row["primals"]))


def _slope(row: Row | None) -> float | None:
    """The derivative of one number by one number; None where there are more of them."""
    if row is None:
        return None
    arguments, weights = record.inputs(row)
    got = record.got(row)
    sizes: Sequence[int] = [len(x.numbers) for x in (*arguments, *weights)]
    if got is None or len(got) != 1 or any(size != 1 for size in sizes) or len(weights) != 1:
        return None
    weight = weights[0].numbers[0][0]
    return got[0] / weight if weight else None


def _size(row: Row) -> tuple[int, int]:
    return (len(row["primals"]), sum(row["primals"]))
