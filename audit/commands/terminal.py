"""What is printed: lines, tables, and progress as a bar on a terminal and as lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from audit.run import Plan, Shard


def console() -> Console:
    """The console of standard output, made when it is used so that whoever replaces standard output gets the text."""
    return Console(highlight=False, soft_wrap=True)


def say(*lines: str) -> None:
    """Print lines as they are."""
    out = console()
    for line in lines:
        out.print(line, markup=False)


@contextmanager
def progress_of(plan: Plan) -> Iterator[Callable[[Shard, int], None]]:
    """A function to be called with each finished shard and its number of rows (0 if it was there before)."""
    out = console()
    if not out.is_terminal:
        yield lambda shard, rows: out.print(_line(shard, rows), markup=False)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=out, transient=True) as progress:
        bar = progress.add_task(plan.shards[0].label if plan.shards else "", total=len(plan.shards))
        following = {shard.key: after.label for shard, after in zip(plan.shards, plan.shards[1:], strict=False)}

        def report(shard: Shard, _rows: int) -> None:
            progress.update(bar, advance=1, description=following.get(shard.key, shard.label))

        yield report


def _line(shard: Shard, rows: int) -> str:
    return f"{shard.label}: {f'{rows} comparisons' if rows else 'done before'}"
