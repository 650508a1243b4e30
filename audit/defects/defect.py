"""A defect: one cause of many wrong rows, as reports show it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from audit.defects.classes import Class
from audit.defects.evidence import Bucket
from audit.report.record import got_format

RULES = ("forward", "vjp", "jvp", "second", "vmap")
_RULE = {"forward": "forward", "vjp": "vjp", "grad1": "vjp", "jvp": "jvp"}

# Simplest first; complex numbers come last, since they are two.
FORMATS = ("float32", "float16", "bfloat16", "float64", "complex64")

# Rows that a report keeps of a defect; all of them are in the Parquet file.
ROWS = 20


def rule_of(mode: str) -> str:
    """The rule that a mode asks: second and higher derivatives are one."""
    return _RULE.get(mode, "second")


def _rule(bucket: Bucket) -> str:
    return rule_of(bucket.key.cell.mode)


def missing_rule(bucket: Bucket) -> str:
    """The rule that a bucket's rows find missing: that of the mode, or vmap's."""
    mapped = bucket.key.cell.wrap.startswith("vmap") and "vmap" in bucket.key.message.lower()
    return "vmap" if mapped else _rule(bucket)


@dataclass(frozen=True)
class Seen:
    """A composition that shows the defect.

    Args:
        what: its operation or text, e.g. ``"nn.gelu"``, ``"C / (C * t)"``.
        mode: the rule by which it was asked.
        count: how many of its rows are wrong for this reason.
        why: ``"repaired by mlx+divide"`` or ``"a function of its case"``.
    """

    what: str
    mode: str
    count: int
    why: str

    def to_json(self) -> dict[str, Any]:
        """As the JSON report has it."""
        return {"what": self.what, "mode": self.mode, "count": self.count, "why": self.why}


@dataclass
class Defect:
    """One cause.

    Args:
        operation: MLX's own name.
        kind: the class.
        argument: whose derivative; empty where no one argument is meant.
        buckets: its own wrong rows.
        seen: compositions that show it, with their rows.
        suspected: operations whose defect may be behind this one.
    """

    operation: str
    kind: Class
    argument: str
    buckets: list[Bucket] = field(default_factory=list)
    seen: dict[tuple[str, str, str], list[Bucket]] = field(default_factory=dict)
    suspected: set[str] = field(default_factory=set)

    @property
    def rules(self) -> tuple[str, ...]:
        """Which rules are wrong, in the order of `RULES`."""
        found = {missing_rule(bucket) if self.kind is Class.MISSING else _rule(bucket) for bucket in self.buckets}
        # What the first derivative does wrong, the second cannot do right.
        if found & {"vjp", "jvp"} and self.kind is not Class.MISSING:
            found -= {"second"}
        return tuple(rule for rule in RULES if rule in found)

    @property
    def name(self) -> str:
        """The id: readable, and the same in every run that shows the same rules wrong."""
        return slug(self.operation, self.rules, self.argument, self.kind)

    @property
    def formats(self) -> tuple[str, ...]:
        """In which formats it shows, simplest first."""
        found = {bucket.key.cell.format for bucket in self.buckets}
        return tuple(name for name in FORMATS if name in found)

    def counts(self) -> dict[str, Any]:
        """Wrong rows by format and by verdict, and how many there are with those of compositions."""
        formats: Counter[str] = Counter()
        verdicts: Counter[str] = Counter()
        for bucket in self.buckets:
            formats[bucket.key.cell.format] += bucket.count
            verdicts[bucket.key.verdict] += bucket.count
        others = sum(bucket.count for buckets in self.seen.values() for bucket in buckets)
        return {
            "mismatches": formats.total(),
            "in_compositions": others,
            "by_format": {name: formats[name] for name in self.formats},
            "by_verdict": dict(sorted(verdicts.items())),
        }

    def seen_in(self) -> list[Seen]:
        """Compositions that show it."""
        return [
            Seen(what, mode, sum(bucket.count for bucket in buckets), why)
            for (what, mode, why), buckets in sorted(self.seen.items())
        ]

    def rows(self) -> list[Mapping[str, Any]]:
        """The simplest wrong rows: of the operation itself, plainly asked, in the simplest format first."""
        own = [(_order(bucket, rank, row), row) for bucket in self.buckets for rank, row in bucket.rows]
        own.sort(key=lambda pair: (pair[0], pair[1]["id"]))
        return [row for _, row in own[:ROWS]]


def _order(bucket: Bucket, rank: Sequence[float], row: Mapping[str, Any]) -> tuple[Any, ...]:
    cell = bucket.key.cell
    ordinary = row["right"] is not None and abs(row["right"]) >= got_format(row).smallest_normal
    return (
        cell.format == "complex64",
        cell.mode not in ("forward", "vjp", "jvp"),
        cell != cell.plain,
        RULES.index(rule_of(cell.mode)),
        "," in cell.traced,
        cell.function.count("="),
        # Nobody is convinced by a subnormal number, or by a cotangent of zero where others fail too.
        not ordinary,
        rank[0],
        FORMATS.index(cell.format),
        *rank,
    )


def slug(operation: str, rules: Iterable[str], argument: str, kind: str) -> str:
    """A readable id, fit for a file name: ``mx.arctan2-vjp-jvp-x-range``."""
    parts = [operation, *rules, argument.replace(",", "-"), kind.replace(" ", "-")]
    return "-".join(re.sub(r"[^\w.\-]+", "_", part) for part in parts if part)
