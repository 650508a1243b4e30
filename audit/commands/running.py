"""`gradaudit audit` and `gradaudit run`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from audit.commands.options import (
    BASELINE,
    REPORTS,
    RUNS,
    Device,
    Formats,
    Keyword,
    Nightly,
    Output,
    Quick,
    Resume,
    Seed,
    Workers,
    device_of,
    near,
    size_of,
    workers_of,
)
from audit.commands.terminal import progress_of, say
from audit.errors import AuditError

if TYPE_CHECKING:
    from audit.run import Selection
    from audit.run.expected import Judged
    from audit.run.folders import Request
    from audit.run.job import Done

# Notes beyond these are left to the summary, so that what was found is not scrolled away.
NOTES = 8

Accept = Annotated[
    bool, typer.Option("--accept", help="Write what is found over the committed reports/divide-before.json and -after.")
]
Implementations = Annotated[
    list[str] | None,
    typer.Option("--implementation", metavar="NAME", help="Who is asked; may be given again. By default mlx."),
]
Baseline = Annotated[
    str,
    typer.Option(
        "--baseline",
        metavar="FILE|auto",
        help="Hold the defects against a baseline, auto: that of this MLX and device. Status 1 only if some are new.",
    ),
]
Afresh = Annotated[
    bool,
    typer.Option("--afresh", help="Shrink every defect anew, also those of which the baseline has the simplest input."),
]


def audit(
    keyword: Keyword = "",
    formats: Formats = None,
    device: Device = "cpu",
    seed: Seed = 0,
    output: Output = None,
    quick: Quick = False,
    nightly: Nightly = False,
    resume: Resume = False,
    workers: Workers = None,
    accept: Accept = False,
) -> None:
    """Audit division, in stock and in patched MLX, and compare.

    Exit status 0 if stock MLX is wrong exactly where reports/divide-before.json says, and the patched rule nowhere.
    """
    from audit.patches.implementations import IMPLEMENTATIONS
    from audit.run import Selection

    reason = IMPLEMENTATIONS["mlx+divide"].unavailable()
    if reason:
        say(f"MLX is not patched, and the Python rule is audited instead: {reason}")
    after = "python" if reason else "mlx+divide"
    names = ("mlx", after, *(("python",) if nightly and not reason else ()))
    size = size_of(quick=quick, nightly=nightly)
    selection = Selection(keyword, tuple(formats or ()), names, size, seed, cases_only=True)
    if not _selects(selection) and _selects(replace(selection, cases_only=False)):
        say("Nothing of division is selected.")
        return
    done, request = _perform(selection, device, output, after, resume=resume, workers=workers)
    if accept:
        _accept(done, request)
        return
    if done.reports.comparison is not None:
        say(*done.reports.comparison.lines())
    _conclude(done)


def run(
    keyword: Keyword = "",
    formats: Formats = None,
    implementations: Implementations = None,
    device: Device = "cpu",
    seed: Seed = 0,
    output: Output = None,
    quick: Quick = False,
    nightly: Nightly = False,
    resume: Resume = False,
    workers: Workers = None,
    baseline: Baseline = "",
    afresh: Afresh = False,
) -> None:
    """Audit the implementations that are named.

    The first is reported as before.json, the second as after.json, any others under their own names. Exit status 1 if
    there are mismatches that reports/divide-before.json does not list, or, with --baseline, defects that it does not.
    """
    from audit.commands.defects import baseline_of, hold, in_words
    from audit.run import Selection

    known = baseline_of(baseline, device) if baseline else None

    names = tuple(dict.fromkeys(implementations or ["mlx"]))
    selection = Selection(keyword, tuple(formats or ()), names, size_of(quick=quick, nightly=nightly), seed)
    after = names[1] if len(names) > 1 else None
    done, _ = _perform(selection, device, output, after, resume=resume, workers=workers, afresh=afresh)
    report = done.reports.by_implementation[selection.implementations[0]]
    say(*in_words(report))
    _complete(done)
    if known is not None:
        raise typer.Exit(hold(report, known, sample=quick))
    if not all(judged.as_expected for judged in done.judged):
        raise typer.Exit(1)


def _selects(selection: Selection) -> bool:
    """Whether there is anything to do; what cannot be read is told by the plan."""
    from audit.run import plan

    try:
        return bool(plan(selection).shards)
    except AuditError:
        return False


def _perform(
    selection: Selection,
    device: str,
    output: Path | None,
    after: str | None,
    *,
    resume: bool,
    workers: int | None,
    afresh: bool = False,
) -> tuple[Done, Request]:
    """Do a run and print what came of it."""
    from audit.commands.defects import known_defects
    from audit.run import plan
    from audit.run.expected import listed
    from audit.run.folders import Request, latest, new_folder
    from audit.run.job import Stopped, perform

    request = Request(plan(selection), device_of(device), selection.implementations[0], after)
    folder = output or (latest(RUNS, finished=False) if resume else new_folder(RUNS))
    try:
        with progress_of(request.plan) as progress:
            done = perform(
                request,
                folder,
                listed(BASELINE),
                resume=resume,
                workers=workers_of(workers),
                known={} if afresh else known_defects(request.device),
                progress=progress,
            )
    except Stopped as stopped:
        say(str(stopped))
        raise typer.Exit(130) from None
    say(*(f"note: {note}" for note in done.notes[:NOTES]))
    if len(done.notes) > NOTES:
        say(f"note: {len(done.notes) - NOTES} more notes are in {near(folder)}/summary.md.")
    for judged in done.judged:
        say(*_told(judged, done))
    say("; ".join(f"{what}: {much}" for what, much in done.costs), f"{near(folder)}/summary.md")
    return done, request


def _told(judged: Judged, done: Done) -> Iterator[str]:
    report = done.reports.by_implementation[judged.implementation]
    totals, families = report["totals"], report["families"]["totals"]
    yield (
        f"{judged.implementation}: {judged.mismatches} mismatches in {totals['comparisons']} comparisons, "
        f"{families['mismatches']} in {families['comparisons']} of the scale families"
    )
    for ids, what in ((judged.new, "not listed"), (judged.repaired, "listed, but right now")):
        if ids:
            yield f"  {len(ids)} {what}: {', '.join(ids[:8])}{' ...' if len(ids) > 8 else ''}"
    if judged.in_families:
        yield f"  {judged.in_families} in the scale families, where this rule is held to be right"
    if judged.unjudged:
        yield f"  {judged.unjudged} could not be judged"


def _complete(done: Done) -> None:
    """Refuse to conclude anything from a run of which a part could not be done, or that contradicts itself."""
    if done.failures:
        raise AuditError(f"{len(done.failures)} parts of the audit failed, the others are done: {done.failures[0]}")


def _conclude(done: Done) -> None:
    _complete(done)
    unjudged = [judged.implementation for judged in done.judged if judged.unjudged]
    if unjudged:
        raise AuditError(
            f"{' and '.join(unjudged)}: comparisons of the series could not be judged; "
            f"{near(done.folder)}/summary.md counts them and says why."
        )
    if not all(judged.as_expected for judged in done.judged):
        say("Not as expected: the lines above say where.")
        raise typer.Exit(1)
    stock, *others = done.judged
    names = " and ".join(judged.implementation for judged in others)
    say(f"As expected: mlx is wrong at exactly the {stock.mismatches} listed comparisons, {names} at none.")


def _accept(done: Done, request: Request) -> None:
    from audit.run.job import accept

    say(*(f"written: {near(path)}" for path in accept(done, request, REPORTS, "divide")))
