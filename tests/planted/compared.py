"""Where plants are compared: the questions that a run asks about their operations, with right values kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa

from audit.case import Batch
from audit.comparison import Question, compare
from audit.formats import lookup
from audit.identity import Origin
from audit.operation import Operation
from audit.points import batches
from audit.reference import References
from audit.registry import find_operations
from audit.verdict import MISMATCHES, Verdict
from planted.plant import At, Piece, Plant, pulled

REFERENCES = References(opinions=0)
ORIGIN = Origin("families", "1", "planted")
_COLUMNS = ["mode", "traced", "argument", "verdict", "group", "function", "wrap", "layout", "point", "element"]


@dataclass(frozen=True)
class Found:
    """Comparisons of one plant in one format.

    Args:
        matched: parts in which something matched.
        bad: the mismatches, each with the columns that say where it lies, and its part.
        verdicts: how many rows have each verdict.
    """

    matched: frozenset[str]
    bad: list[dict[str, Any]]
    verdicts: dict[str, int]


def compared(plant: Plant, format_name: str) -> Found:
    """What is found of a plant in one format."""
    made = plant.implementation()
    tables = [compare(question, made, REFERENCES) for question in questions(plant.operation, format_name, plant.at)]
    assert tables, f"nothing is asked of {plant.operation} at {plant.at}"
    rows = pa.concat_tables(tables).select(_COLUMNS)
    plain = pa.table(
        {name: rows[name] if rows[name].type == pa.int32() else rows[name].cast(pa.string()) for name in _COLUMNS}
    )
    matched, bad, verdicts = set(), [], {}
    groups = plain.group_by(["mode", "traced", "argument", "verdict"]).aggregate([([], "count_all")]).to_pylist()
    for group in groups:
        verdicts[group["verdict"]] = verdicts.get(group["verdict"], 0) + group["count_all"]
        if group["verdict"] == Verdict.MATCH:
            matched.add(part(group))
    if MISMATCHES & set(verdicts):
        bad = [row | {"part": part(row)} for row in plain.to_pylist() if row["verdict"] in MISMATCHES]
    return Found(frozenset(matched), bad, verdicts)


def part(row: dict[str, Any]) -> str:
    """The part of a rule that a row shows: kind of mode, and the argument or the traced ones."""
    kind = row["mode"].partition("-")[0]
    return f"{kind} {row['traced'] if kind == 'jvp' else row['argument']}"


def questions(operation: str, format_name: str, at: At) -> Iterator[Question]:
    """The questions of a run about an operation in one format, as far as a plant wants them."""
    for place, batch in enumerate(_batches(operation, format_name, at.size)):
        if at.asks(batch):
            yield _question(operation, format_name, at.size, place)


@cache
def _batches(operation: str, format_name: str, size: str) -> list[Batch]:
    return list(batches(operations()[operation], lookup(format_name), size))


@cache
def _question(operation: str, format_name: str, size: str, place: int) -> Question:
    """A batch with its right values, computed once for all plants."""
    batch = _batches(operation, format_name, size)[place]
    return Question(batch, ORIGIN, REFERENCES.enclose(batch))


@cache
def operations() -> dict[str, Operation]:
    """All operations by name."""
    return {name: operation for name, (_, operation) in find_operations()[0].items()}


def altered(operation: str, argument: str, **changes: Any) -> Piece:
    """The cotangent of one argument by MLX's own derivative, with other parameters than those asked for."""
    made = operations()[operation]
    return pulled(lambda *xs, **p: made.call(*xs, **(p | changes)), made.arguments.index(argument))
