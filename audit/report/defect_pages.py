"""A page for each defect, in Markdown, and an index: made from JSON reports alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from audit.files import write
from audit.report.defect_strip import strip

Entry = Mapping[str, Any]

_CONVENTIONS = """At a kink or a tie every member of the convex hull of the one-sided derivatives is right, so that none
of these is a fault. Where the vjp and the jvp choose different members, that is said."""

_UNITS = {"forward": "value", "vjp": "vjp", "jvp": "jvp", "second": "second derivative", "vmap": "vmap"}


def write_pages(folder: Path, report: Mapping[str, Any]) -> list[Path]:
    """Write a page, and a picture where there is a safe band, for every defect; remove those of defects that are gone.

    Args:
        folder: of the pages.
        report: a JSON report.

    Raises:
        AuditError: a page cannot be written.
    """
    files: dict[str, str] = {}
    for defect in report["defects"]:
        picture = strip(defect["safe_band"]) if defect["safe_band"] else ""
        if picture:
            files[f"{defect['id']}.svg"] = picture
        files[f"{defect['id']}.md"] = page(defect, report["environment"], pictured=bool(picture))
    files["index.md"] = index_page(report["defects"], report["environment"])
    files["missing.md"] = missing_page(report["missing"], report["environment"])
    files["conventions.md"] = conventions_page(report["conventions"], report["environment"])
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.suffix in (".md", ".svg") and path.name not in files:
            path.unlink()
    for name, text in files.items():
        write(folder / name, text)
    return [folder / name for name in files]


def page(defect: Entry, environment: Mapping[str, str], *, pictured: bool) -> str:
    """The page of one defect."""
    parts = [
        f"# {defect['id']}",
        defect["sentence"],
        _place(environment),
        table(["", "value"], _values(defect)),
        *_band(defect, pictured=pictured),
        "## To reproduce it",
        f"```python\n{defect['reproducer'].rstrip()}\n```",
        "## Second method",
        *_methods(defect),
        "## Where it shows",
        table(["attribute", ""], _attributes(defect)),
        *_seen(defect["seen_in"]),
    ]
    return "\n\n".join(parts) + "\n"


def missing_page(missing: Sequence[Entry], environment: Mapping[str, str]) -> str:
    """The page of all rules that are not implemented."""
    rows = [
        [
            f"`{lack['operation']}`",
            _rules(lack),
            lack["argument"] or "all",
            _list(lack["formats"]),
            f"`{lack['message']}`",
        ]
        for lack in missing
    ]
    parts = ["# Missing rules", _place(environment), "What MLX does not implement, counted apart from what is wrong."]
    heads = ["operation", "rule", "argument", "formats", "what is raised"]
    return "\n\n".join([*parts, table(heads, rows) if rows else "None."]) + "\n"


def conventions_page(conventions: Sequence[Entry], environment: Mapping[str, str]) -> str:
    """The page of all points with several right answers."""
    parts = ["# Conventions", _place(environment), _CONVENTIONS]
    rows = []
    for entry in conventions:
        example = entry["example"]
        at = ", ".join(f"{name} = {_short(values)}" for name, values in (example or {}).get("primals", {}).items())
        got = "" if example is None or example["got"] is None else " + i ".join(example["got"])
        differ = "differ" if entry["vjp_and_jvp_differ"] else ""
        rows.append([f"`{entry['operation']}`", entry["argument"], _list(entry["mode"]), at, got, differ])
    heads = ["operation", "argument", "rules", "for example at", "got", "vjp and jvp"]
    return "\n\n".join([*parts, table(heads, rows) if rows else "None."]) + "\n"


def index(entries: Sequence[Entry], folder: str) -> str:
    """The index of defects, a line an operation.

    Args:
        entries: those of a baseline.
        folder: where their pages are, as the reader of the index reaches it.
    """
    operations: dict[str, list[str]] = {}
    for entry in entries:
        whose = f" of {entry['argument']}" if entry["argument"] else ""
        link = f"[{entry['class']}]({folder}/{entry['id']}.md)"
        operations.setdefault(entry["operation"], []).append(f"{_rules(entry)}{whose}: {link}")
    rows = [[f"`{operation}`", "; ".join(found)] for operation, found in operations.items()]
    return table(["operation", "defects"], rows) if rows else "None."


def index_page(defects: Sequence[Entry], environment: Mapping[str, str]) -> str:
    """The page that lists all defects, a line each, with formats and safe bands."""
    rows = [
        [
            f"[`{defect['operation']}`]({defect['id']}.md)",
            _rules(defect),
            defect["argument"] or "",
            defect["class"],
            _list(defect["formats"]),
            _bands(defect.get("safe_band")),
        ]
        for defect in defects
    ]
    heads = ["operation", "rule", "argument", "class", "formats", "right between"]
    parts = [
        "# Defects",
        _place(environment),
        "See also [missing rules](missing.md) and [conventions](conventions.md).",
    ]
    return "\n\n".join([*parts, table(heads, rows) if rows else "None."]) + "\n"


def missing_index(entries: Sequence[Entry]) -> str:
    """The rules that are not implemented, a line an operation."""
    rules: dict[str, list[str]] = {}
    for entry in entries:
        whose = f" ({entry['argument']})" if entry["argument"] else ""
        rules.setdefault(entry["operation"], []).append(_rules(entry) + whose)
    rows = [[f"`{operation}`", ", ".join(found)] for operation, found in sorted(rules.items())]
    return table(["operation", "missing"], rows) if rows else "None."


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; a bar inside a cell stays in it."""
    lines = [list(heads), ["---"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _place(environment: Mapping[str, str]) -> str:
    return f"MLX {environment['mlx']} on the {environment['device'].upper()}, {environment['platform']}."


def _values(defect: Entry) -> list[list[str]]:
    shrunk = defect["shrunk"]
    rows = [["function", f"`{defect['function']}`"], ["format", shrunk["format"]]]
    rows += [[f"`{name}`", _short(values)] for name, values in shrunk["primals"].items()]
    label = "tangent" if shrunk["mode"] == "jvp" else "cotangent"
    for place, values in enumerate(shrunk["weights"]):
        rows.append([label if place == 0 or shrunk["mode"] == "jvp" else "tangent", _short(values)])
    got = defect["got"]
    rows.append(["got", f"**`{' + i '.join(got) if isinstance(got, list) else got}`**"])
    for part in defect["right"] or []:
        rows.append(["right", f"**`{part['value']}`**"])
        rows.append(["enclosure", part["decimal"]])
    return rows


def _short(values: Sequence[str]) -> str:
    if len(values) > 8:
        same = len(set(values)) == 1
        shown = f"{values[0]}, {len(values)} times" if same else f"{', '.join(values[:6])} ... ({len(values)} numbers)"
        return f"`{shown}`"
    return f"`{', '.join(values)}`"


def _band(defect: Entry, *, pictured: bool) -> list[str]:
    if not defect["safe_band"]:
        return []
    parts = ["## Where the rule is right", f"Along the line on which {defect['safe_band_scales']}:"]
    rows = []
    for name, band in defect["safe_band"].items():
        right = "nowhere" if band["low"] is None else f"{band['low']} to {band['high']}"
        rows.append([name, right, f"{band['reached'][0]} to {band['reached'][1]}"])
    parts.append(table(["format", "right for k", "can be asked"], rows))
    if pictured:
        parts.append(f"![Right and wrong by exponent and format]({defect['id']}.svg)")
    return parts


def _methods(defect: Entry) -> list[str]:
    if not defect["second_method"]:
        return ["There is no number to confirm: the script above was run in a process of its own."]
    rows = [[method["name"], method["value"], _agreement(method["agrees"])] for method in defect["second_method"]]
    return [table(["method", "value", "agrees with the enclosure"], rows)]


def _agreement(agrees: bool | None) -> str:
    return "says nothing" if agrees is None else "yes" if agrees else "no"


def _attributes(defect: Entry) -> list[list[str]]:
    counts = defect["counts"]
    rows = [
        ["operation", f"`{defect['operation']}`"],
        ["rules", _rules(defect)],
        ["argument", defect["argument"] or "no one argument"],
        ["class", defect["class"]],
        ["wrong comparisons", str(counts["mismatches"])],
        ["by format", ", ".join(f"{name} {count}" for name, count in counts["by_format"].items())],
        ["by verdict", ", ".join(f"{name} {count}" for name, count in counts["by_verdict"].items())],
    ]
    if defect["suspected"]:
        rows.append(["may come from", ", ".join(f"`{name}`" for name in defect["suspected"])])
    return rows


def _seen(seen: Sequence[Entry]) -> list[str]:
    if not seen:
        return []
    rows = [[f"`{entry['what']}`", entry["mode"], str(entry["count"]), entry["why"]] for entry in seen]
    return ["## Seen in", table(["function", "rule", "wrong comparisons", "why it belongs here"], rows)]


def _rules(entry: Entry) -> str:
    return ", ".join(_UNITS[rule] for rule in entry["mode"])


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)


def _bands(bands: Mapping[str, Entry] | None) -> str:
    if not bands:
        return ""
    name, band = next(iter(bands.items()))
    return f"2^{band['low']} and 2^{band['high']} ({name})" if band["low"] is not None else "nowhere"
