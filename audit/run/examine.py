"""The defects of a finished run, looked for in processes of their own.

Shrinking asks MLX at points that no run has asked, and MLX may end the process, or not answer. A process claims one
part of the run after another and writes down which defect it is at; where it dies, another one starts and takes that
defect as it was found. What is found does not depend on how many processes there are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audit.errors import AuditError
from audit.files import write_json
from audit.run.board import Board
from audit.run.kernels import Kernels, provide, shared
from audit.run.process import PATIENCE, Attention
from audit.run.worker import end_with
from audit.watch import WATCH

# So many defects may end the process.
DEATHS = 12
_POLL = 0.2
_TASK, _AT = "task.json", "at"


@dataclass(frozen=True)
class Inquiry:
    """Where defects are looked for.

    Args:
        folder: of a sealed run.
        implementation: whose defects.
        patched: implementations of the run in which one primitive is repaired.
        device: ``"cpu"`` or ``"gpu"``.
        references: folder of the right values that are kept between runs.
        known: defects that are known, by id, with their shrunk inputs; they are asked again and not shrunk anew.
    """

    folder: Path
    implementation: str
    patched: Sequence[str]
    device: str
    references: Path | None
    known: Mapping[str, Any] = field(default_factory=dict)


def examined(inquiry: Inquiry, workers: int = 1) -> tuple[dict[str, Any], list[str]]:
    """Defects, missing rules and conventions as the JSON report has them, and what is contradictory, a sentence each.

    Args:
        inquiry: where they are looked for.
        workers: processes.

    Raises:
        AuditError: they cannot be found; the message has the last line of what was said.
    """
    from audit.defects.apart import apart
    from audit.defects.find import joined
    from audit.defects.subjects import registered

    rows = inquiry.folder / "rows.parquet"
    parts = apart(rows, registered())
    if inquiry.patched:
        # What the repair of one primitive makes right is listed under that one.
        parts = [sorted(index for part in parts for index in part)]
    with tempfile.TemporaryDirectory(prefix="gradaudit-") as name:
        scratch = Path(name)
        write_json(scratch / _TASK, _task(inquiry, rows, parts, scratch))
        lanes = max(min(workers, len(parts)), 1)
        with ThreadPoolExecutor(lanes) as threads:
            for done in [threads.submit(_lane, inquiry, scratch, lane) for lane in range(lanes)]:
                done.result()
        found = [json.loads(_result(scratch, index).read_text()) for index in range(len(parts))]
    return joined([part["found"] for part in found]), [text for part in found for text in part["contradictions"]]


def _task(inquiry: Inquiry, rows: Path, parts: list[list[int]], scratch: Path) -> dict[str, Any]:
    return {
        "rows": str(rows),
        "parts": parts,
        "implementation": inquiry.implementation,
        "patched": list(inquiry.patched),
        "device": inquiry.device,
        "references": str(inquiry.references) if inquiry.references else None,
        "known": dict(inquiry.known),
        "kernels": str(shared() or ""),
        "scratch": str(scratch),
    }


def _lane(inquiry: Inquiry, scratch: Path, lane: int) -> None:
    """One process, and those that take its place, until every part is claimed."""
    own = scratch / f"lane-{lane}"
    own.mkdir()
    left: list[str] = []
    for _ in range(DEATHS + 1):
        write_json(own / "left.json", left)
        status, said = _run(scratch, own)
        if status == 0:
            return
        at = own / _AT
        part, _, name = at.read_text().partition(" ") if at.exists() else ("", "", "")
        if status > 0 or not name or name in left:
            raise AuditError(f"The defects of {inquiry.folder} could not be found: {said}")
        left.append(name)
        _claim(scratch, int(part)).unlink()
    raise AuditError(f"The defects of {inquiry.folder} could not be found: MLX ended the process at {', '.join(left)}.")


def _claim(scratch: Path, part: int) -> Path:
    return scratch / f"part-{part}.claim"


def _result(scratch: Path, part: int) -> Path:
    return scratch / f"part-{part}.json"


def _run(scratch: Path, own: Path) -> tuple[int, str]:
    """Exit status of a process that does the task, negative if it died or had to be ended; and its last words."""
    # Another one for each: who dies may leave half a kernel.
    temporary = Path(tempfile.mkdtemp(dir=own))
    provide(temporary, shared())
    board, output = Board(own / "board"), own / "output"
    environment = os.environ | {"TMPDIR": str(temporary)}
    # What is printed there is no part of what this process prints.
    with output.open("wb") as file:
        command = [sys.executable, "-m", __name__, str(scratch / _TASK), str(own)]
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
    try:
        attention = Attention(board, process.pid, PATIENCE)
        while process.poll() is None and not attention.overdue():
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL)
    finally:
        process.kill()
    status = process.wait()
    lines = output.read_text(errors="replace").strip().splitlines()
    return status, (lines or [f"exit status {status}"])[-1]


def _claimed(scratch: Path, parts: int) -> Iterator[int]:
    """Parts that nobody else has, claimed one after another."""
    for part in range(parts):
        try:
            _claim(scratch, part).touch(exist_ok=False)
        except FileExistsError:
            continue
        yield part


def _main(path: Path, own: Path) -> None:
    from audit.defects import find_defects
    from audit.defects.find import stored
    from audit.defects.subjects import registered
    from audit.patches.implementations import IMPLEMENTATIONS
    from audit.reference import References

    end_with(os.getppid())
    task, left = json.loads(path.read_text()), json.loads((own / "left.json").read_text())
    scratch = Path(task["scratch"])
    WATCH.told = Board(own / "board").turn
    import mlx.core as mx

    # Of an absent device there are no rows that could be wrong.
    mx.set_default_device(mx.gpu if task["device"] == "gpu" and mx.is_available(mx.gpu) else mx.cpu)
    kernels = Kernels(Path(task["kernels"]) if task["kernels"] else None)
    subjects = registered()
    references = References(Path(task["references"]) if task["references"] else None)
    for part in _claimed(scratch, len(task["parts"])):

        def note(name: str, part: int = part) -> None:
            (own / _AT).write_text(f"{part} {name}")

        findings = find_defects(
            stored(Path(task["rows"]), task["parts"][part]),
            IMPLEMENTATIONS[task["implementation"]],
            subjects,
            references,
            patched=task["patched"],
            as_found=left,
            known=task["known"],
            progress=note,
        )
        content = {"found": findings.to_json(), "contradictions": list(findings.contradictions)}
        _result(scratch, part).write_text(json.dumps(content))
        references.keep()
        kernels.publish()


if __name__ == "__main__":
    _main(Path(sys.argv[1]), Path(sys.argv[2]))
