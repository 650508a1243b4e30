"""`gradaudit defects`, and what `gradaudit run --baseline` says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from audit.commands.options import BASELINES, PAGES, RUNS, near
from audit.commands.terminal import say
from audit.errors import AuditError

if TYPE_CHECKING:
    from audit.run.baseline import Against

# Defects beyond these are left to the report, so that what was found is not scrolled away.
LISTED = 60


def defects(
    where: Annotated[
        Path | None, typer.Argument(help="A run folder or a JSON report; by default the newest run.", metavar="[RUN]")
    ] = None,
    baseline: Annotated[
        str, typer.Option("--baseline", metavar="FILE|auto", help="Say what is new and gone against a baseline.")
    ] = "",
    write: Annotated[
        bool, typer.Option("--write", help="Write the baseline of a whole run, and the pages of its defects.")
    ] = False,
) -> None:
    """List the defects of a run; write their baseline and pages.

    With --write every reproducer is run in a process of its own first; one that shows nothing wrong is an error. Pages
    are written for the newest version of MLX that has a baseline. Exit status 1 if --baseline is given and something is
    new.
    """
    from audit.report.json_report import read_report
    from audit.run.folders import latest

    path = where or latest(RUNS, finished=True)
    try:
        _defects(path, read_report(path / "before.json" if path.is_dir() else path), baseline, write=write)
    except (LookupError, TypeError, AttributeError) as error:
        message = f"{path} is not as the audit writes it ({type(error).__name__}: {error}). Run the audit again."
        raise AuditError(message) from error


def _defects(path: Path, report: Mapping[str, Any], baseline: str, *, write: bool) -> None:
    say(*in_words(report, everything=True))
    if write:
        _write(path, report)
    if baseline:
        known = baseline_of(baseline, report["environment"]["device"])
        raise typer.Exit(hold(report, known, sample=path.is_dir() and _size(path) == "quick"))


def _size(folder: Path) -> str:
    """The size of a run."""
    from audit.files import read_json

    return read_json(folder / "plan.json")["selection"]["size"]


def in_words(report: Mapping[str, Any], *, everything: bool = False) -> Iterator[str]:
    """The defects of a report in lines; nothing if none were looked for."""
    if not report["operations"]:
        return
    found, missing = report["defects"], report["missing"]
    yield (
        f"{len(found)} defects, {len(missing)} missing rules, {len(report['conventions'])} conventions in "
        f"{len(report['operations'])} operations"
    )
    shown = found if everything else found[:LISTED]
    yield from (f"  {defect['id']}: {', '.join(defect['formats'])}" for defect in shown)
    if len(shown) < len(found):
        yield f"  {len(found) - len(shown)} more; gradaudit defects lists all"
    if everything:
        yield from (f"  {lack['id']}" for lack in missing)
    yield from (f"  not confirmed: {entry['reason']}" for entry in report["unconfirmed"])


def baseline_of(name: str, device: str) -> dict[str, Any]:
    """The baseline of that name; ``auto`` is that of the installed MLX on a device.

    Raises:
        AuditError: there is none; the message lists those that exist.
    """
    from audit.report.environment import environment
    from audit.run.baseline import name_of, read_baseline

    if name != "auto":
        return read_baseline(Path(name))
    path = BASELINES / name_of(environment(device)["mlx"], device)
    if not path.exists():
        known = ", ".join(sorted(other.stem for other in BASELINES.glob("*.json"))) or "none"
        raise AuditError(f"There is no baseline {path.stem}. These exist: {known}. Write it: gradaudit defects --write")
    return read_baseline(path)


def known_defects(device: str) -> dict[str, Any]:
    """The defects of the installed MLX's baseline, by id; none if it has no baseline."""
    from audit.report.environment import environment
    from audit.run.baseline import name_of, read_baseline

    path = BASELINES / name_of(environment(device)["mlx"], device)
    return {entry["id"]: entry for entry in read_baseline(path)["defects"]} if path.exists() else {}


def hold(report: Mapping[str, Any], baseline: Mapping[str, Any], *, sample: bool = False) -> int:
    """Hold a report against a baseline, and say what is new and gone; the exit status.

    Args:
        report, baseline: as JSON.
        sample: whether only a part was asked, as in a quick run.

    Raises:
        AuditError: the baseline has entries that nothing can match.
    """
    found = _against(report, baseline, sample=sample)
    say(*found.lines())
    return found.exit_status


def _against(report: Mapping[str, Any], baseline: Mapping[str, Any], *, sample: bool) -> Against:
    from audit.defects.subjects import split_name
    from audit.registry import find_cases, find_operations
    from audit.run.baseline import against

    cases, _ = find_cases()
    operations, _ = find_operations()
    catalogue = {*(case.operation for case in cases.values()), *(split_name(name)[0] for name in operations)}
    return against(report, baseline, catalogue, sample=sample)


def _write(path: Path, report: Mapping[str, Any]) -> None:
    from audit.files import read_json
    from audit.report.defect_pages import write_pages
    from audit.run.baseline import name_of, newest, write_baseline

    if not path.is_dir():
        raise AuditError("Name the folder of a whole run: a report alone does not say what was asked.")
    selection = read_json(path / "plan.json")["selection"]
    if selection["keyword"] or selection["formats"] or selection["size"] == "quick":
        raise AuditError("Only a whole run makes a baseline: leave out -k, --format and --quick.")
    _trusted(path, report)
    _reproduce(report)
    environment = report["environment"]
    target = BASELINES / name_of(environment["mlx"], environment["device"])
    write_baseline(target, report)
    say(f"written: {near(target)}")
    if newest(BASELINES) == target:
        pages = write_pages(PAGES, report)
        say(f"written: {len(pages)} files in {near(PAGES)}. Write README.md anew: gradaudit readme")


def _trusted(path: Path, report: Mapping[str, Any]) -> None:
    """Refuse a run that is not as it was written, that lacks a part, or that asked patched MLX.

    Raises:
        AuditError: it is one of these.
    """
    from audit.report.verify import verify
    from audit.run.outcome import Outcome
    from audit.store import Store

    problems = verify(path)
    if problems:
        raise AuditError(f"{near(path)} is not as it was written: {problems[0]}")
    failures = Outcome.from_text(Store(path).sealed_remarks()).failures
    if failures:
        raise AuditError(f"A part of {near(path)} failed, and makes no baseline: {failures[0]}")
    if report["implementation"] != "mlx":
        raise AuditError(f"{near(path)} asked {report['implementation']}: only a run of mlx makes a baseline.")


def _raised(entry: Mapping[str, Any]) -> str | None:
    """What must be raised; None where an array of numbers, or of another shape, must come back."""
    if "verdict" not in entry:
        return entry["message"]
    return None if isinstance(entry["got"], list) or entry["verdict"] in ("shape", "dtype") else entry["got"] or ""


def _reproduce(report: Mapping[str, Any]) -> None:
    """Run every reproducer.

    Raises:
        AuditError: one of them shows nothing wrong.
    """
    from audit.defects.confirm import reproduced

    right = []
    for entry in (*report["defects"], *report["missing"]):
        wrong, said = reproduced(entry["reproducer"], _raised(entry))
        if not wrong:
            right.append(f"{entry['id']} ({said})")
    if right:
        raise AuditError(f"{len(right)} reproducers show nothing wrong, so nothing is written: {'; '.join(right)}")
