"""The tables of README.md, made from what they describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from audit.defects.classes import SENTENCES as CLASSES
from audit.report.defect_pages import index, missing_index
from audit.report.json_report import read_report
from audit.report.markdown import ORIGINAL, counts_table
from audit.report.show import SENTENCES
from audit.run.baseline import newest, read_baseline
from audit.verdict import MISMATCHES


def tables(commands: Mapping[str, str], reports: Path) -> dict[str, str]:
    """Every table by name.

    Args:
        commands: what each command's help says, by the command's name.
        reports: folder of the committed reports.

    Raises:
        AuditError: a committed report is absent or cannot be read.
    """
    before, after = read_report(reports / "divide-before.json"), read_report(reports / "divide-after.json")
    return {
        "commands": _commands(commands),
        "verdicts": _verdicts(),
        "implementations": _implementations(),
        "formats": _formats(before, after),
        "groups": counts_table(before["by_group"], after["by_group"], "group"),
        **_defects(reports),
        "families": counts_table(before["families"]["by_group"], after["families"]["by_group"], "family"),
    }


def _defects(reports: Path) -> dict[str, str]:
    """The index of defects and that of missing rules, from the newest baseline."""
    path = newest(reports / "baselines")
    known = read_baseline(path) if path else {"defects": [], "missing": []}
    return {
        "defects": index(known["defects"], f"{reports.name}/defects"),
        "missing": missing_index(known["missing"]),
        "classes": _table(["class", "what it says"], [[kind, f"It is {text}."] for kind, text in CLASSES.items()]),
    }


def _commands(commands: Mapping[str, str]) -> str:
    rows = [[f"`gradaudit {name}`", text.split("\n\n")[0].replace("\n", " ")] for name, text in commands.items()]
    return _table(["command", "what it does"], rows)


def _verdicts() -> str:
    rows = []
    for name, sentence in SENTENCES.items():
        text = sentence.replace(": {message}", ".")
        rows.append([f"`{name}`", "yes" if name in MISMATCHES else "no", text])
    return _table(["verdict", "mismatch", "what it says"], rows)


def _implementations() -> str:
    from audit.patches.implementations import IMPLEMENTATIONS

    plain = [made for made in IMPLEMENTATIONS.values() if ":" not in made.name]
    return _table(["implementation", "what it is"], [[f"`{made.name}`", made.summary] for made in plain])


def _formats(before: dict, after: dict) -> str:
    rows = []
    for name in [*before["by_format"], "all"]:
        left, right = (r["totals"] if name == "all" else r["by_format"][name] for r in (before, after))
        original = sum(ORIGINAL.values()) if name == "all" else ORIGINAL[name]
        counts = (left["comparisons"], original, left["mismatches"], left["absolute_mismatches"], right["mismatches"])
        rows.append([name, *map(str, counts)])
    heads = ["format", "comparisons", "original report", before["implementation"], "absolute", after["implementation"]]
    return _table(heads, rows, right=True)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: bool = False) -> str:
    rule = ["---"] + ["---:" if right else "---"] * (len(heads) - 1)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [heads, rule, *rows])
