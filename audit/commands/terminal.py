"""What is printed: lines, tables, and progress as a bar on a terminal and as lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress

if TYPE_CHECKING:
    from audit.run import Plan, Progress, Shard


def console() -> Console:
    """The console of standard output, made when it is used so that whoever replaces standard output gets the text."""
    return Console(highlight=False, soft_wrap=True)


def say(*lines: str) -> None:
    """Print lines as they are."""
    out = console()
    for line in lines:
        out.print(line, markup=False)


@contextmanager
def progress_of(plan: Plan) -> Iterator[Progress]:
    """Tells of a run: by a bar on a terminal, by a line a shard elsewhere."""
    out = console()
    if not out.is_terminal:
        yield Lines(out)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[mismatches]} mismatches"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=out, transient=True) as bars:
        yield Bar(bars, bars.add_task("", total=len(plan.shards), mismatches=0))


class Lines:
    """A line for each finished shard.

    Args:
        out: where they are printed.
    """

    def __init__(self, out: Console) -> None:
        self._out = out

    def kept(self, shard: Shard) -> None:
        """That it was there."""
        self.noted(f"{shard.label}: done before")

    def begun(self, shard: Shard) -> None:
        """Nothing yet."""

    def done(self, shard: Shard, rows: int, mismatches: int) -> None:
        """Its name and how many comparisons it has."""
        found = f", {mismatches} mismatches" if mismatches else ""
        self.noted(f"{shard.label}: {rows} comparisons{found}")

    def failed(self, shard: Shard) -> None:
        """That it has no rows; why is told at the end."""
        self.noted(f"{shard.label}: could not be run")

    def noted(self, text: str) -> None:
        """A line."""
        self._out.print(text, markup=False)


class Bar:
    """How many shards are done, which are in work, the mismatches so far, and the time.

    Args:
        bars: the display.
        task: the line of the run.
    """

    def __init__(self, bars: RichProgress, task: TaskID) -> None:
        self._bars, self._task = bars, task
        self._working: dict[str, str] = {}
        self._mismatches = 0

    def kept(self, shard: Shard) -> None:  # noqa: ARG002  a bar counts only
        """Count it."""
        self._show(1)

    def begun(self, shard: Shard) -> None:
        """Show it among those in work."""
        self._working[shard.key] = shard.label
        self._show(0)

    def done(self, shard: Shard, rows: int, mismatches: int) -> None:  # noqa: ARG002  lines tell the rows, a bar does not
        """Count it."""
        self._mismatches += mismatches
        self._end(shard)

    def failed(self, shard: Shard) -> None:
        """Count it, and say so above the bar."""
        self.noted(f"{shard.label}: could not be run")
        self._end(shard)

    def noted(self, text: str) -> None:
        """A line above the bar."""
        self._bars.console.print(text, markup=False)

    def _end(self, shard: Shard) -> None:
        self._working.pop(shard.key, None)
        self._show(1)

    def _show(self, advance: int) -> None:
        names = list(self._working.values())
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        description = ", ".join(names[:3]) + more
        self._bars.update(self._task, advance=advance, description=description, mismatches=self._mismatches)
