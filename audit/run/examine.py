"""The defects of a finished run, looked for in a process of their own.

Shrinking asks MLX at points that no run has asked, and MLX may end the process, or not answer. The one that looks for
defects writes down which it is at; where it dies, another one starts and takes that defect as it was found.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
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


def examined(
    folder: Path, implementation: str, patched: Sequence[str], device: str, references: Path | None
) -> tuple[dict[str, Any], list[str]]:
    """Defects, missing rules and conventions as the JSON report has them, and what is contradictory, a sentence each.

    Args:
        folder: of a sealed run.
        implementation: whose defects.
        patched: implementations of the run in which one primitive is repaired.
        device: ``"cpu"`` or ``"gpu"``.
        references: folder of the right values that are kept between runs.

    Raises:
        AuditError: they cannot be found; the message has the last line of what was said.
    """
    left: list[str] = []
    with tempfile.TemporaryDirectory(prefix="gradaudit-") as scratch:
        task = Path(scratch) / "task.json"
        for _ in range(DEATHS + 1):
            request = {
                "rows": str(folder / "rows.parquet"),
                "implementation": implementation,
                "patched": list(patched),
                "device": device,
                "references": str(references) if references else None,
                "as_found": left,
                "kernels": str(shared() or ""),
                "at": str(Path(scratch) / "at"),
                "result": str(Path(scratch) / "result.json"),
            }
            write_json(task, request)
            status, said = _run(task, Path(scratch))
            if status == 0:
                found = json.loads(Path(request["result"]).read_text())
                return found["found"], found["contradictions"]
            at = Path(request["at"])
            if status > 0 or not at.exists() or at.read_text() in left:
                raise AuditError(f"The defects of {folder} could not be found: {said}")
            left.append(at.read_text())
    raise AuditError(f"The defects of {folder} could not be found: MLX ended the process at {', '.join(left)}.")


def _run(task: Path, scratch: Path) -> tuple[int, str]:
    """Exit status of a process that does the task, negative if it died or had to be ended; and its last words."""
    # Another one for each: who dies may leave half a kernel.
    temporary = Path(tempfile.mkdtemp(dir=scratch))
    provide(temporary, shared())
    board, output = Board(scratch / "board"), scratch / "output"
    environment = os.environ | {"TMPDIR": str(temporary)}
    # What is printed there is no part of what this process prints.
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(task)], stdout=file, stderr=file, env=environment
        )
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


def _main(task: Path) -> None:
    from audit.defects import find_defects
    from audit.defects.find import stored
    from audit.defects.subjects import registered
    from audit.patches.implementations import IMPLEMENTATIONS
    from audit.reference import References

    end_with(os.getppid())
    request = json.loads(task.read_text())
    WATCH.told = Board(task.with_name("board")).turn
    import mlx.core as mx

    # Of an absent device there are no rows that could be wrong.
    mx.set_default_device(mx.gpu if request["device"] == "gpu" and mx.is_available(mx.gpu) else mx.cpu)
    at, kernels = Path(request["at"]), Kernels(Path(request["kernels"]) if request["kernels"] else None)

    def note(name: str) -> None:
        at.write_text(name)

    findings = find_defects(
        stored(Path(request["rows"])),
        IMPLEMENTATIONS[request["implementation"]],
        registered(),
        References(Path(request["references"]) if request["references"] else None),
        patched=request["patched"],
        as_found=request["as_found"],
        progress=note,
    )
    content = {"found": findings.to_json(), "contradictions": list(findings.contradictions)}
    Path(request["result"]).write_text(json.dumps(content))
    kernels.publish()


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
