"""`gradaudit compare`, `gradaudit verify`, `gradaudit coverage` and `gradaudit readme`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from audit.commands.options import REPORTS, ROOT, RUNS
from audit.commands.terminal import say

# Newly wrong rows that are listed without being asked for.
LISTED = 20


def compare(
    before: Annotated[str, typer.Argument(help="A JSON report, a run folder, or FOLDER@IMPLEMENTATION.")],
    after: Annotated[str, typer.Argument(help="Likewise.")],
    intersect: Annotated[
        bool, typer.Option("--intersect", help="Where the plans are not equal, join what both have.")
    ] = False,
    ids: Annotated[bool, typer.Option("--ids", help="List the ids of the rows of each kind.")] = False,
) -> None:
    """Say what is fixed, still wrong and newly wrong.

    Exit status 1 when something is newly wrong.
    """
    from audit.report.comparison_report import by_implementation
    from audit.report.comparison_report import compare as compare_sides
    from audit.report.sides import read_sides
    from audit.rows import row_name

    status = 0
    for left, right in by_implementation(read_sides(before), read_sides(after)):
        found = compare_sides(left, right, intersect=intersect)
        say(*found.lines())
        for kind, numbers in found.ids().items():
            shown = numbers if ids else numbers[:LISTED] if kind == "newly_wrong" else ()
            say(*(f"{kind.replace('_', ' ')}: {row_name(int(number))}" for number in shown))
            if kind == "newly_wrong" and len(numbers) > len(shown):
                say(f"newly wrong: {len(numbers) - len(shown)} more; --ids lists all")
        status = max(status, found.exit_status)
    raise typer.Exit(status)


def verify(folder: Annotated[Path, typer.Argument(help="The folder of a finished run.")]) -> None:
    """Check that a run is as it was written.

    Its files must have the digests of the manifest, and its counts must follow from its rows. Exit status 1 if not;
    each changed file is named.
    """
    from audit.report.verify import verify as problems_of

    problems = problems_of(folder)
    say(*problems)
    if problems:
        raise typer.Exit(1)
    say(f"{folder} is as it was written, and its counts follow from its rows.")


def coverage(
    folder: Annotated[
        Path | None, typer.Argument(help="The folder of a run; by default the newest finished one.")
    ] = None,
) -> None:
    """Say how much of MLX a run asked.

    By format, in vjp and in jvp, and what it did not ask. Exit status 1 if anything is missing.
    """
    from audit.catalogue import operations_of_cases
    from audit.report.coverage import count_rows, coverage_lines
    from audit.report.coverage import coverage as coverage_of
    from audit.run.folders import latest
    from audit.store import Store

    rows = Store(folder or latest(RUNS, finished=True)).select(["case", "function", "format", "mode", "verdict"])
    found = coverage_of(count_rows(rows), operations_of_cases())
    say(*coverage_lines(found))
    raise typer.Exit(0 if found.complete else 1)


def readme(
    context: typer.Context,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit status 1 if a table is stale.")] = False,
) -> None:
    """Write the tables of README.md anew.

    They are made from the commands, the verdicts and the committed reports.
    """
    from audit.commands.tables import tables
    from audit.files import write
    from audit.report.readme import fill, stale

    commands = getattr(context.find_root().command, "commands", {})
    made = tables({name: command.help or "" for name, command in commands.items()}, REPORTS)
    path = ROOT / "README.md"
    text = path.read_text()
    if not check:
        write(path, fill(text, made))
        return
    names = stale(text, made)
    say(*(f"README.md: table {name} is stale. Write it with: gradaudit readme" for name in names))
    raise typer.Exit(1 if names else 0)
