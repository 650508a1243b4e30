"""The catalogue: the names of the installed MLX against the operations of the cases and the list of exemptions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from audit.names import Name, canonical, names
from audit.operation import Operation
from audit.registry import find_operations
from audit.signatures import REQUIRED, Parameter, signatures_of
from audit.versions import SUPPORTED, older, version
from cases import exempt as lists

ENOUGH = 2
"""Values besides the default that a keyword is given."""


class Covering(Protocol):
    """What the catalogue reads of an operation."""

    @property
    def name(self) -> str:
        """MLX's own name."""
        ...

    @property
    def also(self) -> tuple[str, ...]:
        """Other names that it covers."""
        ...

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arrays that are differentiated."""
        ...

    @property
    def parameters(self) -> Mapping[str, tuple[Any, ...]]:
        """Keyword -> the values that it is given, the default first."""
        ...


@dataclass(frozen=True)
class Lists:
    """The lists of `cases/exempt.py`; a test gives its own."""

    exempt: Mapping[str, tuple[str, ...]]
    covered_by: Mapping[str, str]
    keywords: Mapping[str, str]
    values: Mapping[str, int]


LISTS = Lists(lists.EXEMPT, lists.COVERED_BY, lists.KEYWORDS, lists.VALUES)


@dataclass(frozen=True)
class Catalogue:
    """Every name of the installed MLX, and what is known about it.

    Args:
        covered: name -> the operations that cover it; none for a name that a file with a CASE covers.
        exempt: name -> why no case audits it.
        missing: names that are neither.
        unvaried: ``name.keyword`` -> what is wanting, for keywords of covered names that no operation varies.
        faults: entries that contradict each other or MLX.
    """

    covered: Mapping[str, tuple[Covering, ...]]
    exempt: Mapping[str, str]
    missing: tuple[str, ...]
    unvaried: Mapping[str, str]
    faults: tuple[str, ...]


def catalogue(operations: Sequence[Covering], given: Lists = LISTS) -> Catalogue:
    """What is covered, exempt and missing in the installed MLX.

    Args:
        operations: of all cases.
        given: the exemptions.
    """
    by_name = canonical()
    covered: dict[str, tuple[Covering, ...]] = {}
    for operation in operations:
        for name in {by_name.get(name, name): None for name in (plain(operation.name), *operation.also)}:
            covered[name] = (*covered.get(name, ()), operation)
    reasons = {by_name.get(name, name): reason for reason, listed in given.exempt.items() for name in listed}
    for name, other in given.covered_by.items():
        if other in covered or _is_case(other):
            covered.setdefault(by_name.get(name, name), covered.get(other, ()))
    known = names()
    exempt, missing = {}, []
    for name, one in known.items():
        if reason := reasons.get(name) or reasons.get(one.owner):
            exempt[name] = reason
        elif name not in covered and not (one.owner in given.covered_by and one.owner in covered):
            missing.append(name)
    unvaried = dict(_unvaried({name: found for name, found in covered.items() if name in known}, given))
    faults = (*_faults(covered, given), *_stale(given))
    return Catalogue(covered, exempt, tuple(missing), unvaried, faults)


def operations_of_cases() -> tuple[Operation, ...]:
    """The operations of all case files."""
    return tuple(operation for _, operation in find_operations()[0].values())


def plain(name: str) -> str:
    """MLX's own name, where more is said in brackets: ``"mx.divmod[1]"``, ``"mx.sum(axis=0)"``."""
    return re.split(r"[\[(]", name, maxsplit=1)[0]


def parameters_of(name: Name) -> dict[str, Parameter]:
    """The parameters of all overloads that may be given by keyword; those of operators cannot."""
    if name.name.rpartition(".")[2].startswith("__"):
        return {}
    found: dict[str, Parameter] = {}
    for signature in signatures_of(name.target):
        for parameter in signature:
            if not parameter.variadic:
                found.setdefault(parameter.name, parameter)
    return found


def _unvaried(covered: Mapping[str, tuple[Covering, ...]], given: Lists) -> Iterator[tuple[str, str]]:
    for name, operations in sorted(covered.items()):
        if not operations:
            continue
        for key, parameter in parameters_of(names()[name]).items():
            full = f"{name}.{key}"
            if key in given.keywords or full in given.keywords or _is_argument(parameter, operations):
                continue
            values = given.values.get(full, given.values.get(key, parameter.choices))
            if short := _short(parameter, operations, values):
                yield full, short


def _is_argument(parameter: Parameter, operations: Sequence[Covering]) -> bool:
    """Whether it is an array that every call gives, or one that an operation differentiates by."""
    if any(parameter.name in operation.arguments for operation in operations):
        return True
    return parameter.is_array and parameter.default is REQUIRED and "None" not in parameter.annotation


def _short(parameter: Parameter, operations: Sequence[Covering], choices: int | None) -> str:
    """What is wanting of the values that a keyword is given; empty if nothing is.

    An array that may be left out is given once: its numbers vary with the points.
    """
    asked = {_text(value) for operation in operations for value in _asked(operation, parameter.name)}
    distinct = asked - {_text(parameter.default)}
    wanted = min(ENOUGH, choices - (parameter.default is not REQUIRED)) if choices else ENOUGH
    if parameter.is_array and "str" not in parameter.annotation:
        wanted = 1
    if len(distinct) >= wanted:
        return ""
    kind = "values" if parameter.default is REQUIRED else f"values other than {parameter.default!r}"
    return f"{len(distinct)} of {wanted} {kind}"


def _asked(operation: Covering, keyword: str) -> list[Any]:
    """The values of a keyword that some question is asked with: a declared value may go with no shapes."""
    if isinstance(operation, Operation) and not operation.elementwise:
        return [chosen[keyword] for _, chosen in operation.configurations() if keyword in chosen]
    return list(operation.parameters.get(keyword, ()))


def _text(value: Any) -> str:
    """A value as text, so that lists can be compared, and a type with the name that a signature writes for it."""
    return value if isinstance(value, str) else repr(value).removeprefix("mlx.core.")


def _faults(covered: Mapping[str, tuple[Covering, ...]], given: Lists) -> Iterator[str]:
    """Names that have a case and an exemption, that stand twice, or that MLX does not know."""
    by_name, seen = canonical(), set()
    listed = [name for group in given.exempt.values() for name in group]
    for name in (*listed, *given.covered_by):
        if name in seen:
            yield f"{name} stands in cases/exempt.py twice"
        seen.add(name)
    for name in listed:
        if by_name.get(name, name) in covered:
            yield f"{name} has a case and stands in cases/exempt.py: remove one"
    for name, other in given.covered_by.items():
        if other not in covered and not _is_case(other):
            yield f"{name} is said to be covered by {other}, which has no case"
    if older(version(), SUPPORTED[-1]):
        return
    for name in (*listed, *given.covered_by):
        if name not in by_name:
            yield f"{name} stands in cases/exempt.py, and MLX {version()} has no such name"
    for name, operations in covered.items():
        if name not in by_name:
            by = ", ".join(one.name for one in operations)
            yield f"{name} is named by the case of {by}, and MLX {version()} has no such name"


def _stale(given: Lists) -> Iterator[str]:
    """Entries about keywords that no signature has."""
    if older(version(), SUPPORTED[-1]):
        return
    keys = {(name, key) for name, one in names().items() for key in parameters_of(one)}
    known = {key for _, key in keys} | {f"{name}.{key}" for name, key in keys}
    for entry in (*given.keywords, *given.values):
        if entry not in known:
            yield f"{entry} stands in cases/exempt.py as a keyword, and no signature has it"


def _is_case(file: str) -> bool:
    """Whether this is a file of ``cases`` with a CASE of its own, e.g. ``"cases/divide.py"``."""
    path = Path(lists.__file__).parents[1] / file
    return file.endswith(".py") and path.exists() and "\nCASE = " in path.read_text(encoding="utf-8")
