"""`gradaudit list`, `gradaudit show` and `gradaudit patch`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from audit.commands.options import RUNS, Device, device_of
from audit.commands.terminal import console, say
from audit.errors import AuditError, UnknownName


def list_everything(
    missing: Annotated[
        bool, typer.Option("--missing", help="List the names and keywords of MLX that no case covers instead.")
    ] = False,
) -> None:
    """List cases, their groups and formats, and implementations.

    With --missing, exit status 1 if the catalogue is not complete.
    """
    if missing:
        from audit.commands.missing import list_missing

        raise typer.Exit(list_missing())
    from audit.patches.implementations import IMPLEMENTATIONS
    from audit.registry import broken_by, find_cases

    cases, broken = find_cases()
    out = console()
    for case in cases.values():
        try:
            named = [batch.group for fmt in case.formats if case.series for batch in case.series(fmt)]
        except Exception as error:  # noqa: BLE001  one broken case must not hide the others
            broken = (*broken, broken_by(error, f"cases.{case.name}"))
            continue
        out.print(f"case {case.name}: {case.operation} in {', '.join(fmt.name for fmt in case.formats)}", markup=False)
        for kind, groups in ((case.series_name, named), ("families", [family.name for family in case.families])):
            say(*(f"  {kind:<14}{group}" for group in dict.fromkeys(groups)))
    say(*(f"{case.module} cannot be used: {case.message} ({case.place})" for case in broken))
    table = Table("implementation", "what it is", "can run here", box=None, pad_edge=False)
    for implementation in IMPLEMENTATIONS.values():
        table.add_row(implementation.name, implementation.summary, implementation.unavailable() or "yes")
    out.print()
    out.print(table, markup=False)


def show(
    row: Annotated[str, typer.Argument(help="The row's id: 16 hexadecimal digits, or as many as tell it apart.")],
    where: Annotated[
        Path | None,
        typer.Option("--run", metavar="PATH", help="A run folder or a JSON report; by default the newest run."),
    ] = None,
    implementation: Annotated[
        str, typer.Option("--implementation", metavar="NAME", help="Whose row, if several have it.")
    ] = "",
    device: Device = "cpu",
) -> None:
    """Show one comparison in words, and how to reproduce it.

    The script that it prints imports nothing but mlx.
    """
    from audit.registry import case as find_case
    from audit.report.find import find_row
    from audit.report.show import show as in_words
    from audit.run.folders import latest

    found = find_row(where or latest(RUNS, finished=True), row, implementation)
    texts = {function.name: function.text for function in find_case(found["case"]).functions}
    if found["function"] not in texts:
        raise AuditError(f"Case {found['case']!r} has no function {found['function']!r} any more: run the audit again.")
    typer.echo(in_words(found, texts[found["function"]], device_of(device)), nl=False)


def patch(
    name: Annotated[str, typer.Argument(help="Name of the patch, e.g. divide.")],
    check: Annotated[bool, typer.Option("--check", help="Only say whether it can be put in here.")] = False,
) -> None:
    """Describe a patch, and say whether it works here.

    Exit status 2 if it cannot be put into the MLX that is installed; the message says why.
    """
    from audit.patches.implementations import PATCHES

    if name not in PATCHES:
        raise UnknownName("patch", name, PATCHES)
    reason = PATCHES[name].check()
    if not check:
        say(*PATCHES[name].describe())
    else:
        say(f"{name} cannot be put in here: {reason}" if reason else f"{name} can be put in here.")
    raise typer.Exit(2 if reason else 0)
