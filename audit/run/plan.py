"""What a run will do: shards of batches, in an order that depends on nothing but the selection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from audit import points
from audit.case import Batch, Case, Implementation
from audit.errors import AuditError, UnknownName
from audit.formats import Format, lookup
from audit.identity import Origin
from audit.operation import Operation
from audit.patches.implementations import IMPLEMENTATIONS
from audit.registry import Broken, broken_by, find_cases, find_operations
from audit.run.keyword import matcher

Size = Literal["quick", "default", "nightly"]

# Density of the grids and number of random points a family, format and seed, by size.
DENSITY = {"quick": 0.25, "default": 1.0, "nightly": 1.7}
RANDOM_POINTS = {"quick": 0, "default": 1000, "nightly": 50_000}


@dataclass(frozen=True)
class Selection:
    """What the user asked for.

    Args:
        keyword: expression over case, group and format names.
        formats: names of formats; empty means all of each case.
        implementations: names of implementations.
        size: how dense the scale families are.
        seed: seed of the random points.
        series_only: leave the scale families out, and the operations.
        cases_only: leave the operations out.
    """

    keyword: str = ""
    formats: Sequence[str] = ()
    implementations: Sequence[str] = ("mlx",)
    size: Size = "default"
    seed: int = 0
    series_only: bool = False
    cases_only: bool = False


@dataclass(frozen=True)
class Shard:
    """Batches that are asked, judged and written together.

    Args:
        key: unique, fit for a file name; the same selection gives the same keys in the same order.
        origin: series, version and case.
        case: the case.
        part: name of the family or of the operation, or an empty string for the named series.
        format_name: the format; empty for an operation, which is asked in all of its formats.
        selection: decides density, seed and, within a series, the groups.
        operation: the operation that is asked, if it is not a case that is.
    """

    key: str
    origin: Origin
    case: Case | None
    part: str
    format_name: str
    selection: Selection
    operation: Operation | None = None

    @property
    def label(self) -> str:
        """What is shown while it runs."""
        return f"{self.part or self.origin.series} {self.format_name}".rstrip()

    @property
    def module(self) -> str:
        """The module of the case."""
        return f"cases.{self.origin.case}"

    @property
    def named(self) -> bool:
        """Whether this is part of a named series."""
        return not self.part

    def batches(self) -> Iterator[Batch]:
        """The shard's batches whose names match the selection's keywords, in order."""
        matches = matcher(self.selection.keyword)
        if self.operation is not None:
            for fmt in self._formats():
                if matches(self._name(self.part, fmt)):
                    yield from points.batches(self.operation, lookup(fmt), self.selection.size)
        elif self.named:
            yield from (batch for batch in self._all_batches() if matches(self._name(batch.group)))
        elif matches(self._name(self.part)):
            yield from self._all_batches()

    @property
    def selected(self) -> bool:
        """Whether anything of it matches the selection's keywords."""
        if self.operation is not None:
            return any(matcher(self.selection.keyword)(self._name(self.part, fmt)) for fmt in self._formats())
        if self.named:
            return next(self.batches(), None) is not None
        return matcher(self.selection.keyword)(self._name(self.part))

    def _formats(self) -> list[str]:
        assert self.operation is not None
        wanted = {lookup(name).name for name in self.selection.formats}
        return [name for name in self.operation.formats if not wanted or name in wanted]

    def _name(self, group: str, fmt: str = "") -> str:
        operation = self.case.operation if self.case else ""
        return f"{self.origin.series} {self.origin.case} {operation} {group} {fmt or self.format_name}"

    def _all_batches(self) -> Iterator[Batch]:
        assert self.case is not None
        fmt = lookup(self.format_name)
        if self.named:
            if self.case.series is not None:
                yield from self.case.series(fmt)
            return
        family = next(family for family in self.case.families if family.name == self.part)
        size = self.selection.size
        yield from family.batches(fmt, DENSITY[size], RANDOM_POINTS[size], self.selection.seed)


@dataclass(frozen=True)
class Plan:
    """All shards of a run.

    Args:
        selection: what was asked for.
        shards: in order.
        implementations: every shard is asked of each.
        broken: case files that could not be imported.
    """

    selection: Selection
    shards: tuple[Shard, ...]
    implementations: tuple[Implementation, ...]
    broken: tuple[Broken, ...] = field(default=())


def plan(selection: Selection) -> Plan:
    """Choose shards and implementations.

    Raises:
        UnknownName: no such format or implementation.
        AuditError: nothing is selected, or the keyword expression cannot be read.
    """
    cases, broken = find_cases()
    operations, misdefined = find_operations()
    broken = (*broken, *misdefined)
    implementations = tuple(_implementation(name) for name in selection.implementations)
    wanted = {lookup(name).name for name in selection.formats}
    matcher(selection.keyword)
    shards: list[Shard] = []
    for case in cases.values():
        try:
            shards.extend(
                shard
                for fmt in case.formats
                if not wanted or fmt.name in wanted
                for shard in _shards(case, fmt, selection)
                if shard.selected
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001  one broken case must not stop the others
            broken = (*broken, broken_by(error, f"cases.{case.name}"))
    if not selection.series_only and not selection.cases_only:
        shards.extend(s for s in (_of_operation(o, m, selection) for m, o in operations.values()) if s.selected)
    if not shards and not broken:
        raise AuditError(
            f"Nothing is selected by -k {selection.keyword!r} and formats {sorted(wanted) or 'all'}: "
            "'gradaudit list' shows the cases, groups and formats that exist."
        )
    return Plan(selection, tuple(shards), implementations, broken)


def _of_operation(operation: Operation, module: str, selection: Selection) -> Shard:
    origin = Origin("families", "1", module)
    key = f"{module}.{operation.name}".replace(" ", "-")
    return Shard(key, origin, None, operation.name, "", selection, operation)


def _implementation(name: str) -> Implementation:
    if name not in IMPLEMENTATIONS:
        raise UnknownName("implementation", name, IMPLEMENTATIONS)
    return IMPLEMENTATIONS[name]


def _shards(case: Case, fmt: Format, selection: Selection) -> Iterator[Shard]:
    if case.series is not None:
        origin = Origin(case.series_name, case.version, case.name)
        yield Shard(f"{case.series_name}.{fmt.name}", origin, case, "", fmt.name, selection)
    if selection.series_only or fmt.parts == 2:
        return
    origin = Origin("families", case.version, case.name)
    for family in case.families:
        key = f"{case.name}.{family.name.replace(',', '').replace(' ', '-')}.{fmt.name}"
        yield Shard(key, origin, case, family.name, fmt.name, selection)
