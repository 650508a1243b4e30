"""A whole run: plan, rows, reports, and whether what was found is what was expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from audit.errors import AuditError, Unavailable
from audit.files import write
from audit.patches.compiler import cache_folder
from audit.patches.implementations import PATCHES
from audit.reference import References
from audit.report.counts import COUNTED
from audit.report.environment import environment
from audit.report.folder import PICTURE, Remarks, Reports, write_reports
from audit.report.json_report import Series
from audit.report.markdown import ProbeRow
from audit.run.execute import Progress, execute
from audit.run.expected import Judged, judge_reports
from audit.run.folders import Request, begin
from audit.run.plan import Plan
from audit.run.probe import Probe, probe
from audit.store import Store


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
    """

    folder: Path
    reports: Reports
    judged: Sequence[Judged]
    notes: Sequence[str]
    failures: Sequence[str]


def choose_device(plan: Plan, device: str) -> Plan:
    """The plan on a device; where that is absent, nothing of it can be run, and its rows say so.

    Args:
        plan: the plan.
        device: ``"cpu"`` or ``"gpu"``.
    """
    import mlx.core as mx

    if device == "gpu" and not mx.is_available(mx.gpu):
        return replace(
            plan,
            implementations=tuple(
                replace(implementation, unavailable=_no_gpu) for implementation in plan.implementations
            ),
        )
    mx.set_default_device(mx.gpu if device == "gpu" else mx.cpu)
    return plan


def perform(
    request: Request, folder: Path, baseline: frozenset[str], *, resume: bool, progress: Progress | None = None
) -> Done:
    """Do a run, or what is left of it, and write its reports.

    Args:
        request: what is asked.
        folder: where the run writes.
        baseline: ids of the mismatches that are listed for stock MLX.
        resume: go on with the run that the folder holds.
        progress: called with each finished shard and its number of rows.

    Raises:
        AuditError: the folder cannot be used or written to.
        Stopped: it was interrupted; finished shards are kept.
    """
    begin(folder, request, resume=resume)
    plan = choose_device(request.plan, request.device)
    store, keys = Store(folder), [shard.key for shard in plan.shards]
    if store.sealed.exists() and set(keys) - store.finished():
        raise AuditError(f"The run in {folder} is closed without parts that failed: run again with another --output.")
    try:
        references = References(cache_folder() / "references")
        outcome = execute(plan, store, references, progress)
        table = probe(plan.implementations)
    except KeyboardInterrupt:
        kept = len(store.finished())
        raise Stopped(
            f"Stopped: the run in {folder} is partial. {kept} of {len(keys)} shards are finished and kept; "
            f"go on with the same options and --resume --output {folder}."
        ) from None
    there = store.finished()
    if not there & set(keys):
        raise AuditError("Nothing could be run: " + "; ".join([*_broken(plan), *outcome.failures][:3]))
    store.seal([key for key in keys if key in there])
    failures = [*_broken(plan), *outcome.failures, *outcome.contradictions]
    notes = [*failures, *_skipped(plan)]
    if references.unwritable:
        notes.append(f"Right values are not kept for the next run: {references.unwritable}. Set GRADAUDIT_CACHE.")
    remarks = Remarks(environment(request.device), [_row(line) for line in table], notes, _patch_files(plan))
    reports = write_reports(store, _series(plan), request.before, request.after, remarks)
    judged = judge_reports(reports.by_implementation, store.select(COUNTED), baseline)
    return Done(folder, reports, judged, notes, failures)


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


def _no_gpu() -> str:
    return "There is no GPU that MLX can use here."


def _series(plan: Plan) -> Series:
    named = {shard.origin.series: shard.origin.version for shard in plan.shards if shard.named}
    return Series(" + ".join(named) or "none", " + ".join(named.values()) or "none")


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
