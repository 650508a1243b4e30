"""The text of every function is Python that a reader can run: it stands in reproducers."""

from __future__ import annotations

import builtins
import symtable

import pytest

from audit.defects.subjects import registered

SUBJECTS = registered()
OPERATIONS = sorted({subject.operation for subject in SUBJECTS.values()})
GIVEN = {"mx", "nn", "optim", *dir(builtins)}


def free(text: str) -> set[str]:
    """The names that an expression takes from outside."""
    found: set[str] = set()
    tables = [symtable.symtable(f"_ = (\n{text}\n)", "text", "exec")]
    while tables:
        table = tables.pop()
        tables.extend(table.get_children())
        found |= {s.get_name() for s in table.get_symbols() if s.is_global() or table.get_type() == "module"}
    return found - {"_"}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_texts_are_expressions_of_the_arguments(operation: str) -> None:
    for subject in SUBJECTS.values():
        if subject.operation == operation:
            text, arguments = subject.function.text, set(subject.function.arguments)
            # A walrus binds a name of its own.
            own = {part.split(":=")[0].strip(" (") for part in text.split(",") if ":=" in part}
            assert free(text) - GIVEN - arguments - own == set(), text
