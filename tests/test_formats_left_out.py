"""A format that an operation does not declare is one that MLX refuses, or one with a reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from audit.catalogue import plain
from audit.formats import FORMATS
from audit.registry import find_operations
from cases.exempt import FORMATS_LEFT_OUT

SCRIPT = Path(__file__).parent / "formats_left_out.py"


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    """The script's answer for every operation; a format in which one ends or stops the process does not work."""
    operations = find_operations()[0]
    waiting, found = list(operations), dict[str, str]()
    while waiting:
        command = [sys.executable, str(SCRIPT), *waiting]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60 + len(waiting), check=False)
            output = done.stdout
        except subprocess.TimeoutExpired as error:
            output = (error.stdout or b"").decode()
        lines = [line.split("\t") for line in output.splitlines()]
        for asked, formats in lines:
            name = asked.partition("=")[0]
            found[name] = ",".join(filter(None, (found.get(name, ""), formats)))
        waiting = waiting[len(lines) :]
        if waiting:
            name, _, only = waiting.pop(0).partition("=")
            if not only:
                undeclared = [fmt for fmt in FORMATS if fmt not in operations[name][1].formats]
                waiting[:0] = [f"{name}={fmt}" for fmt in undeclared]
    return found


# Functions that MLX writes in Python: complex numbers reach the compiled ones of which they are made, which are asked.
COMPOSED = ("nn.", "optim.")

REASONS = {(name, fmt) for fmt, reasons in FORMATS_LEFT_OUT.items() for names in reasons.values() for name in names}


def unasked(answers: dict[str, str]) -> set[tuple[str, str]]:
    """Names of MLX and formats in which some operation of that name works and none is asked."""
    asked = {(plain(name), fmt) for name, (_, operation) in find_operations()[0].items() for fmt in operation.formats}
    works = {(plain(name), fmt) for name, formats in answers.items() for fmt in formats.split(",") if fmt}
    return works - asked


def test_no_name_works_in_a_format_that_nobody_asks(answers: dict[str, str]) -> None:
    found = {
        f"{name} works in {fmt}"
        for name, fmt in unasked(answers) - REASONS
        if not (fmt == "complex64" and name.startswith(COMPOSED))
    }
    assert not found, "\n".join(sorted(found))


def test_a_reason_for_a_format_is_needed(answers: dict[str, str]) -> None:
    assert REASONS - unasked(answers) == set()
