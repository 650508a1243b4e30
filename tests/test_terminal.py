"""What a user sees of a run: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from audit.commands import terminal
from audit.run import Plan, Progress, Selection, plan


def told(monkeypatch: pytest.MonkeyPatch, *, on_terminal: bool) -> str:
    """What is printed of a run in which all that can happen does, without the terminal's commands."""
    out = io.StringIO()
    monkeypatch.setattr(terminal, "console", lambda: Console(file=out, force_terminal=on_terminal, width=140))
    made: Plan = plan(Selection("1328"))
    with terminal.progress_of(made) as progress:
        first, second, third, fourth = made.shards[:4]
        watching: Progress = progress
        watching.begun(first)
        watching.begun(second)
        watching.done(first, 100, 7)
        watching.noted("a worker ended")
        watching.failed(second)
        watching.kept(third)
        watching.begun(fourth)
        if isinstance(progress, terminal.Bar):
            progress._bars.refresh()
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out.getvalue()).replace("\r", "\n")


def test_a_terminal_shows_what_is_in_work_how_far_it_is_and_the_mismatches_so_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = told(monkeypatch, on_terminal=True)
    assert "a worker ended\n" in text
    assert "divide-1328 bfloat16: could not be run\n" in text
    assert re.search(r"divide-1328 \w+ +\S+ 3/5 7 mismatches 0:00:\d\d left ", text)


def test_elsewhere_each_shard_gets_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(monkeypatch, on_terminal=False).splitlines() == [
        "divide-1328 float16: 100 comparisons, 7 mismatches",
        "a worker ended",
        "divide-1328 bfloat16: could not be run",
        "divide-1328 float32: done before",
    ]
