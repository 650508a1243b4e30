"""Imports flow one way: the picture in CONTRIBUTING.md is the order, and this file reads it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PICTURE = (ROOT / "CONTRIBUTING.md").read_text().split("    audit/\n")[1].split("    cases/")[0]
ORDER = re.findall(r"^ {6}(\w+)(?:\.py|/)", PICTURE, re.MULTILINE)
FILES = sorted(path for folder in ("audit", "cases") for path in (ROOT / folder).rglob("*.py"))


def unit(parts: tuple[str, ...]) -> str:
    """The entry of the picture that a module belongs to; cases stand where they are found, before the registry."""
    return "cases" if parts[0] == "cases" else parts[1] if len(parts) > 1 else "audit"


def place(name: str) -> int:
    if name == "audit":
        return -1
    return ORDER.index("registry") if name == "cases" else ORDER.index(name)


def module(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imported(path: Path) -> Iterator[tuple[tuple[str, ...], int]]:
    """Modules that a file imports, wherever in it, with the line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield tuple(alias.name.split(".")), node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write the whole name, not a relative one"
            base = tuple((node.module or "").split("."))
            for alias in node.names:
                longer = ROOT.joinpath(*base, alias.name)
                is_module = longer.with_suffix(".py").exists() or (longer / "__init__.py").exists()
                yield ((*base, alias.name) if is_module else base), node.lineno


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_imports_only_from_those_above_it(path: Path) -> None:
    own = unit(module(path))
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {'.'.join(other)}"
        for other, line in imported(path)
        if other[0] in ("audit", "cases") and unit(other) != own and not _may(own, unit(other))
    ]
    assert wrong == []


def _may(own: str, other: str) -> bool:
    # The package itself is a front door to what stands below it, opened when it is used.
    if own == "audit" or (own == "registry" and other == "cases"):
        return True
    return place(other) < place(own)


def test_the_picture_shows_every_module_and_no_other() -> None:
    there = {path.stem for path in (ROOT / "audit").glob("*.py")} | {
        path.parent.name for path in (ROOT / "audit").glob("*/__init__.py")
    }
    assert sorted(there - {"__init__"}) == sorted(ORDER)


def test_packages_have_no_circles_inside() -> None:
    graph = {module(path): {other for other, _ in imported(path)} for path in FILES}
    finished: set[tuple[str, ...]] = set()

    def visit(node: tuple[str, ...], trail: tuple[tuple[str, ...], ...]) -> None:
        assert node not in trail, " -> ".join(".".join(step) for step in (*trail, node))
        if node in finished or node not in graph:
            return
        for other in graph[node]:
            visit(other, (*trail, node))
        finished.add(node)

    for node in graph:
        visit(node, ())


def test_what_stands_above_the_modes_does_not_know_mlx() -> None:
    above = set(ORDER[: ORDER.index("modes")])
    knowing = [
        path.relative_to(ROOT).as_posix()
        for path in FILES
        if unit(module(path)) in above and any(other[0] == "mlx" for other, _ in imported(path))
    ]
    assert knowing == []


def test_the_check_sees_an_import_that_flows_back() -> None:
    assert not _may("formats", "store")
    assert _may("store", "formats")
    assert not _may("verdict", "cases")
