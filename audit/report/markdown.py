"""The summary of a run, and the tables of counts that the README shows, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

# Mismatches that the original report counts on stock MLX; it counts none on its patched rule.
ORIGINAL = {"float16": 114, "bfloat16": 122, "float32": 182, "float64": 182, "complex64": 0}


@dataclass(frozen=True)
class ProbeRow:
    """One row of the probe table: derivatives of ``C / (C * t)`` at ``t = 1``.

    Args:
        format: name of the format.
        implementation: name of the implementation.
        scale: C as text, e.g. ``"2^-80"``.
        derivatives: the first three as text.
        difference: the central difference of the forward value, as text.
    """

    format: str
    implementation: str
    scale: str
    derivatives: tuple[str, str, str]
    difference: str


def summary(
    before: Mapping[str, Any],
    after: Mapping[str, Any] | None = None,
    *,
    comparison: Sequence[str] = (),
    probe: Sequence[ProbeRow] = (),
    notes: Sequence[str] = (),
    costs: Sequence[tuple[str, str]] = (),
    picture: str = "",
) -> str:
    """The summary of a run.

    Args:
        before, after: JSON reports of one or two implementations of the run.
        comparison: their comparison in lines.
        probe: rows of the probe table.
        notes: what was skipped, and what else the reader must know, a sentence each.
        costs: what the run cost, as pairs of what and how much.
        picture: path of the picture of the exponent range, beside the summary; empty if there is none.
    """
    template = _environment().get_template("summary.md.j2")
    return template.render(
        before=before,
        after=after,
        original=ORIGINAL,
        original_sum=sum(ORIGINAL.get(name, 0) for name in before["by_format"]),
        comparison=comparison,
        probe=probe,
        notes=notes,
        costs=costs,
        picture=picture,
        report_name="before.json",
        table=counts_table,
        count=_count,
        verdicts=_verdicts,
    )


def counts_table(before: Mapping[str, Any], after: Mapping[str, Any] | None, title: str) -> str:
    """Mismatches before and after by some key, as a table.

    Args:
        before, after: counts by key, as the JSON report has them.
        title: heading of the first column.
    """
    names = [*before, *(name for name in after or {} if name not in before)]
    heads = [title, "comparisons", "mismatches"] + (["after"] if after is not None else [])
    lines = [_line(heads), _line(["---"] + ["---:"] * (len(heads) - 1))]
    for name in names:
        cells = [name, _count(before, name, "comparisons"), _count(before, name, "mismatches")]
        lines.append(_line(cells + ([_count(after, name, "mismatches")] if after is not None else [])))
    return "\n".join(lines)


def _verdicts(report: Mapping[str, Any], name: str) -> int:
    """How often a verdict was given, in the named series or, in a run without one, in all of it."""
    counted = report["totals"] if report["totals"]["comparisons"] else report["families"]["totals"]
    return counted["verdicts"][name]


def _count(counts: Mapping[str, Any], name: str, column: str) -> str:
    return str(counts[name][column]) if name in counts else "–"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("audit.report"),
        undefined=StrictUndefined,
        autoescape=select_autoescape(enabled_extensions=(), default=False),
        trim_blocks=True,
        lstrip_blocks=True,
    )
