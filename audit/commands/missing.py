"""`gradaudit list --missing`: what of the installed MLX no case covers."""

from __future__ import annotations

from itertools import groupby

from audit.commands.terminal import say

WIDTH = 110
"""Columns of a line of names."""


def list_missing() -> int:
    """Say which names and keywords no case covers, and which entries contradict each other.

    Returns:
        1 if there is anything to say, else 0.
    """
    from audit.catalogue import catalogue, operations_of_cases
    from audit.names import names
    from audit.registry import find_cases, find_operations
    from audit.versions import version

    broken = (*find_cases()[1], *find_operations()[1])
    found = catalogue(operations_of_cases())
    known = len(names())
    covered = known - len(found.exempt) - len(found.missing)
    counts = f"{covered} covered, {len(found.exempt)} exempt, {len(found.missing)} in no case"
    say(f"MLX {version()}: {known} names, {counts}")
    say(*(f"{file.module} cannot be used: {file.message} ({file.place})" for file in broken))
    for module, group in groupby(sorted(found.missing, key=_place), key=_module):
        say("", module, *_lines([name.removeprefix(f"{module}.") for name in group]))
    if found.unvaried:
        say("", "keywords that no operation varies", *(f"  {key}: {short}" for key, short in found.unvaried.items()))
    say(*(f"fault: {fault}" for fault in found.faults))
    return int(bool(found.missing or found.unvaried or found.faults or broken))


def _module(name: str) -> str:
    """What a name stands in, e.g. ``"mx.array"``."""
    return name.rpartition(".")[0]


def _place(name: str) -> tuple[str, str]:
    return _module(name), name


def _lines(words: list[str]) -> list[str]:
    """Words side by side, indented, in lines of at most ``WIDTH`` columns."""
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) + 3 > WIDTH:
            lines.append("")
        lines[-1] += f"{'  ' if not lines[-1] else ' '}{word}"
    return lines
