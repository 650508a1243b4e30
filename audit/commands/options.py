"""Options that several commands take, and the places that they write to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from audit.errors import AuditError
from audit.report.environment import ROOT

REPORTS = ROOT / "reports"
RUNS = REPORTS / "runs"
BASELINE = REPORTS / "divide-before.json"
# Known defects by version of MLX and device, and a page for each defect of the newest.
BASELINES = REPORTS / "baselines"
PAGES = REPORTS / "defects"

Keyword = Annotated[
    str, typer.Option("-k", metavar="EXPR", help="Only what matches, as in pytest: 'divide and not float16'.")
]
Formats = Annotated[
    list[str] | None, typer.Option("--format", metavar="NAME", help="Only this format; may be given again.")
]
Device = Annotated[str, typer.Option("--device", metavar="cpu|gpu", help="Where MLX computes.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the random points of the scale families.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", metavar="FOLDER", help="Where the run is written; reports/runs/ if not given."),
]
Quick = Annotated[bool, typer.Option("--quick", help="Coarse grids in the scale families, and no random points.")]
Nightly = Annotated[bool, typer.Option("--nightly", help="Dense grids and many random points.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with an unfinished run: that of --output, or else the newest.")
]

Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", metavar="N", help="Processes that ask MLX: one a core if not given; 0 asks it in this process."
    ),
]


def size_of(*, quick: bool, nightly: bool) -> Literal["quick", "default", "nightly"]:
    """The size of a run.

    Raises:
        AuditError: both are set.
    """
    if quick and nightly:
        raise AuditError("--quick and --nightly exclude each other: give one of them.")
    return "quick" if quick else "nightly" if nightly else "default"


def workers_of(number: int | None) -> int | None:
    """The number of workers, checked; None if it is left to the audit.

    Raises:
        AuditError: it is negative.
    """
    if number is not None and number < 0:
        raise AuditError(f"There cannot be {number} workers: write --workers 1 or more, or 0 for none.")
    return number


def device_of(name: str) -> str:
    """The device, checked.

    Raises:
        AuditError: neither cpu nor gpu.
    """
    if name not in ("cpu", "gpu"):
        raise AuditError(f"There is no device {name!r}: write --device cpu or --device gpu.")
    return name


def near(path: Path) -> str:
    """A path relative to where the command was called, if it lies below."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
