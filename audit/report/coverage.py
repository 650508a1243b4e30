"""How much of the catalogue was asked: names by format in vjp and jvp, from the rows of a run or from its plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import pyarrow as pa

from audit.case import Batch
from audit.catalogue import LISTS, Covering, Lists, catalogue, plain
from audit.operation import REAL_FORMATS, Operation
from audit.registry import find_cases
from audit.verdict import Verdict
from cases.exempt import COVERED_BY

MODES = ("vjp", "jvp")
"""The modes in which every operation is asked in every format that it is defined in."""

UNANSWERED = frozenset({Verdict.NOT_RUN, Verdict.INCONCLUSIVE, Verdict.UNDEFINED, Verdict.OUTSIDE})
"""Verdicts that say nothing about MLX's rule; that it has none, or raises, is an answer."""

_ORDER = ("float32", "float16", "bfloat16", "float64", "complex64")

Asked = Counter[tuple[str, str, str]]
"""(operation, format, mode) -> comparisons."""


@dataclass(frozen=True)
class Coverage:
    """What was asked of each name.

    Args:
        asked: (name, format, mode) -> comparisons that say something about MLX.
        defined: name -> the formats in which it has a derivative; none for what is audited in its values alone.
        missing: names that no case covers.
    """

    asked: Mapping[tuple[str, str, str], int]
    defined: Mapping[str, tuple[str, ...]]
    missing: tuple[str, ...]

    @property
    def formats(self) -> tuple[str, ...]:
        """All formats, in the order in which they are first defined."""
        return tuple(dict.fromkeys(fmt for formats in self.defined.values() for fmt in formats))

    def wanted(self, fmt: str) -> list[str]:
        """The names that have a derivative in a format."""
        return [name for name, formats in self.defined.items() if fmt in formats]

    def gaps(self, fmt: str, mode: str) -> list[str]:
        """The names of which nothing was asked in a format and mode, though they have a derivative there."""
        return [name for name in self.wanted(fmt) if not self.asked.get((name, fmt, mode))]

    @property
    def complete(self) -> bool:
        """Whether every name is covered, in every format, by vjp and by jvp."""
        return not self.missing and not any(self.gaps(fmt, mode) for fmt in self.formats for mode in MODES)


def coverage(asked: Asked, operations: Sequence[Covering], given: Lists = LISTS) -> Coverage:
    """Comparisons by operation become comparisons by name: an operation speaks for all names that it covers.

    Args:
        asked: from `count_rows` or `count_batches`.
        operations: of all cases.
        given: the exemptions.
    """
    by_operation: dict[str, dict[tuple[str, str], int]] = {}
    for (operation, fmt, mode), number in asked.items():
        by_operation.setdefault(operation, {})[fmt, mode] = number
    found = catalogue(operations, given)
    counts: Asked = Counter()
    defined: dict[str, tuple[str, ...]] = {}
    for name, covering in sorted(found.covered.items()):
        formats = {fmt for one in covering for fmt in _formats(one)} or _formats_of_file(given.covered_by.get(name, ""))
        defined[name] = tuple(fmt for fmt in _ORDER if fmt in formats)
        for operation in {plain(one.name) for one in covering} or {name}:
            for (fmt, mode), number in by_operation.get(operation, {}).items():
                counts[name, fmt, mode] += number
    return Coverage(counts, defined, found.missing)


def count_rows(rows: pa.Table) -> Asked:
    """Comparisons of vjp and jvp that say something about MLX, by operation, format and mode.

    Args:
        rows: of a run; the columns case, function, format, mode and verdict are read.
    """
    keys = ["case", "function", "format", "mode", "verdict"]
    plain = pa.table({key: rows[key].cast(pa.string()) for key in keys})
    asked: Asked = Counter()
    for row in plain.group_by(keys).aggregate([([], "count_all")]).to_pylist():
        if row["mode"] in MODES and row["verdict"] not in UNANSWERED:
            asked[_operation(row["case"], row["function"]), row["format"], row["mode"]] += row["count_all"]
    return asked


def count_batches(batches: Iterable[tuple[str, Batch]]) -> Asked:
    """Points that will be asked in vjp and jvp, by operation, format and mode.

    Args:
        batches: the batches of a plan, each with the name of its case.
    """
    asked: Asked = Counter()
    for case, batch in batches:
        if batch.mode.kind in MODES:
            asked[_operation(case, batch.function.name), batch.format.name, batch.mode.kind] += batch.points
    return asked


def coverage_lines(found: Coverage) -> list[str]:
    """A table with a line a format, then what is missing, each in one line."""
    lines = [f"{'format':<11}{'names':>7}" + "".join(f"{mode:>9}{'':>12}" for mode in MODES)]
    for fmt in found.formats:
        covered = len(found.wanted(fmt))
        # What no case covers is taken to have a derivative in the real formats until a case says otherwise.
        wanted = covered + (len(found.missing) if fmt in REAL_FORMATS else 0)
        cells = ""
        for mode in MODES:
            done = covered - len(found.gaps(fmt, mode))
            number = sum(n for (_, f, m), n in found.asked.items() if (f, m) == (fmt, mode))
            cells += f"{_percent(done, wanted):>9}{f'({number:,})':>12}"
        lines.append(f"{fmt:<11}{wanted:>7}{cells}")
    for fmt, mode in product(found.formats, MODES):
        if gaps := found.gaps(fmt, mode):
            lines.append(f"not asked in {fmt} {mode}: {', '.join(gaps)}")
    values = [name for name, formats in found.defined.items() if not formats]
    if values:
        lines.append(f"audited in their values alone: {', '.join(values)}")
    if found.missing:
        lines.append(f"in no case: {', '.join(found.missing)}")
    return lines


def _formats(operation: Covering) -> Sequence[str]:
    """The formats in which an operation has a derivative; none if only its values are audited."""
    if isinstance(operation, Operation):
        return operation.formats if operation.orders > 0 else ()
    return _ORDER[:4]


def _formats_of_file(file: str) -> set[str]:
    """The formats of a file's CASE, e.g. ``"cases/divide.py"``; none where there is no such file."""
    found, _ = find_cases()
    stem = file.removeprefix("cases/").removesuffix(".py")
    return {fmt.name for fmt in found[stem].formats} if stem in found else set()


def _operation(case: str, function: str) -> str:
    """The operation that a function belongs to: ``"mx.softmax"`` of ``"mx.softmax(axis=0)"``."""
    file = f"cases/{case}.py"
    for name, other in COVERED_BY.items():
        if other == file:
            return name
    return plain(function)


def _percent(part: int, whole: int) -> str:
    """A share that says 100 % only where nothing is missing."""
    return "-" if not whole else f"{100 * part // whole} %"
