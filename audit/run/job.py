"""A whole run: plan, rows, reports, and whether what was found is what was expected."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.errors import AuditError, Unavailable
from audit.files import read_json, write, write_json
from audit.patches.compiler import cache_folder
from audit.patches.implementations import PATCHES
from audit.reference import References
from audit.report.counts import COUNTED
from audit.report.environment import environment
from audit.report.folder import PICTURE, Remarks, Reports, write_reports
from audit.report.json_report import Series
from audit.report.markdown import ProbeRow
from audit.run.device import choose_device
from audit.run.examine import Inquiry, examined
from audit.run.execute import execute
from audit.run.expected import Judged, judge_reports
from audit.run.folders import Request, begin
from audit.run.kernels import shared
from audit.run.lock import locked
from audit.run.outcome import Outcome
from audit.run.plan import Plan
from audit.run.pool import cores, execute_in_workers
from audit.run.probe import Probe, probe
from audit.run.progress import Progress
from audit.run.worker import Setting
from audit.store import Store

COSTS = "costs.json"


class Stopped(Exception):
    """The run was interrupted; the message says what is kept and how to go on."""


@dataclass(frozen=True)
class Done:
    """A finished run.

    Args:
        folder: where its files are.
        reports: its reports.
        judged: every implementation's mismatches against the expected ones.
        notes: what was skipped or failed, a sentence each.
        failures: those of the notes that are faults of the audit or of its cases.
        costs: what the run cost, as pairs of what and how much.
    """

    folder: Path
    reports: Reports
    judged: Sequence[Judged]
    notes: Sequence[str]
    failures: Sequence[str]
    costs: Sequence[tuple[str, str]] = ()


def perform(
    request: Request,
    folder: Path,
    baseline: frozenset[str],
    *,
    resume: bool,
    workers: int | None = None,
    known: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Done:
    """Do a run, or what is left of it, and write its reports.

    Args:
        request: what is asked.
        folder: where the run writes; nobody else may do so meanwhile.
        baseline: ids of the mismatches that are listed for stock MLX.
        resume: go on with the run that the folder holds.
        workers: processes that ask MLX; None for as many as there are cores, 0 to ask it in this one.
        known: defects of a baseline by id, whose shrunk inputs need not be looked for.
        progress: is told of each shard.

    Raises:
        AuditError: the folder cannot be used or written to, or another run writes to it.
        Stopped: it was interrupted; finished shards are kept.
    """
    with locked(folder):
        begin(folder, request, resume=resume)
        try:
            return _perform(request, folder, baseline, cores() if workers is None else workers, known or {}, progress)
        except KeyboardInterrupt:
            kept, planned = len(Store(folder).finished()), len(request.plan.shards)
            raise Stopped(
                f"Stopped: the run in {folder} is partial. {kept} of {planned} shards are finished and kept; "
                f"go on with the same options and --resume --output {folder}."
            ) from None


def _perform(
    request: Request,
    folder: Path,
    baseline: frozenset[str],
    workers: int,
    known: Mapping[str, Any],
    progress: Progress | None,
) -> Done:
    plan = choose_device(request.plan, request.device)
    store, keys = Store(folder), [shard.key for shard in plan.shards]
    if store.sealed.exists() and set(keys) - store.finished():
        raise AuditError(f"The run in {folder} is closed without parts that failed: run again with another --output.")
    notes = [f"The rows of {shard} could not be read and were made again." for shard in store.sweep()]
    outcome = _execute(plan, request, store, workers, progress)
    table = probe(plan.implementations)
    there = store.finished()
    if not there & set(keys):
        raise AuditError("Nothing could be run: " + "; ".join([*_broken(plan), *outcome.failures][:3]))
    store.seal([key for key in keys if key in there], outcome.remarks())
    failures = [*_broken(plan), *outcome.failures, *outcome.contradictions]
    notes = [*failures, *_skipped(plan), *outcome.notes, *notes]
    if outcome.unkept:
        notes.append(f"Right values are not kept for the next run: {outcome.unkept}. Set GRADAUDIT_CACHE.")
    costs = _costs(folder)
    references = cache_folder() / "references"
    begun = time.monotonic()
    inquiry = Inquiry(folder, request.before, _repaired(plan), request.device, references, known)
    found, doubts = examined(inquiry, workers)
    costs.append(("seconds, looking for defects", f"{time.monotonic() - begun:.1f}"))
    failures += doubts
    notes = [*doubts, *notes]
    remarks = Remarks(environment(request.device), [_row(line) for line in table], notes, _patch_files(plan), costs)
    reports = write_reports(store, _series(plan), request.before, request.after, remarks, found={request.before: found})
    judged = judge_reports(reports.by_implementation, store.select(COUNTED), baseline)
    return Done(folder, reports, judged, notes, failures, costs)


def _execute(plan: Plan, request: Request, store: Store, workers: int, progress: Progress | None) -> Outcome:
    """Run what is left to be run, and write what it cost."""
    if store.sealed.exists():
        return Outcome.from_text(store.sealed_remarks())
    begun = time.monotonic()
    folder = cache_folder() / "references"
    if workers:
        setting = Setting(request.plan.selection, request.device, store.folder, folder, shared())
        outcome = execute_in_workers(plan, setting, workers, progress)
    else:
        outcome = execute(plan, store, References(folder), progress)
    who = f"{workers} workers" if workers else "one process"
    write_json(store.folder / COSTS, {f"seconds, {who}": f"{time.monotonic() - begun:.1f}"} | dict(outcome.told()))
    return outcome


def accept(done: Done, request: Request, baselines: Path, name: str) -> list[Path]:
    """Copy a run's reports over the committed ones.

    Args:
        done: the finished run.
        request: what it was asked for.
        baselines: folder of the committed reports.
        name: their common beginning, e.g. ``"divide"``.

    Raises:
        AuditError: the plan left something of the series out, or a report cannot be written.
    """
    selection = request.plan.selection
    if selection.keyword or selection.formats or selection.size != "default":
        raise AuditError("Only a whole run can be accepted: leave out -k, --format, --quick and --nightly.")
    written = []
    for file in ("before.json", "after.json", PICTURE):
        source = done.folder / file
        if source.exists():
            target = baselines / f"{name}-{file}"
            write(target, source.read_bytes())
            written.append(target)
    return written


def _costs(folder: Path) -> list[tuple[str, str]]:
    path = folder / COSTS
    return list(read_json(path).items()) if path.exists() else []


def _series(plan: Plan) -> Series:
    named = {shard.origin.series: shard.origin.version for shard in plan.shards if shard.named}
    return Series(" + ".join(named) or "none", " + ".join(named.values()) or "none")


def _repaired(plan: Plan) -> list[str]:
    """The implementations of a plan in which one primitive is repaired in the library itself."""
    patches = {patch.name for patch in PATCHES.values()}
    return [made.name for made in plan.implementations if made.name in patches]


def _broken(plan: Plan) -> list[str]:
    return [f"{case.module} cannot be used: {case.message} ({case.place})" for case in plan.broken]


def _skipped(plan: Plan) -> list[str]:
    notes = []
    for implementation in plan.implementations:
        reason = implementation.unavailable()
        if reason:
            notes.append(f"{implementation.name} was not run: {reason}")
    return notes


def _patch_files(plan: Plan) -> list[Path]:
    used = {implementation.name.partition(":")[0] for implementation in plan.implementations}
    found: set[Path] = set()
    for patch in PATCHES.values():
        if patch.name in used:
            found |= set(patch.sources)
            try:
                found.add(patch.library)
            except Unavailable:
                continue
    return sorted(found)


def _row(line: Probe) -> ProbeRow:
    first, second, third = (f"{x:.12g}" for x in line.derivatives)
    return ProbeRow(
        line.format, line.implementation, f"2^{line.exponent}", (first, second, third), f"{line.difference:.12g}"
    )
