"""The defects of a finished run, looked for in a process of their own.

Shrinking asks MLX at points that no run has asked, and MLX may end the process. The one that looks for defects writes
down which it is at; where it dies, another one starts and takes that defect as it was found.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from audit.errors import AuditError
from audit.files import write_json

# So many defects may end the process.
DEATHS = 12


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
                "at": str(Path(scratch) / "at"),
                "result": str(Path(scratch) / "result.json"),
            }
            write_json(task, request)
            # What is printed there is no part of what this process prints.
            done = subprocess.run(
                [sys.executable, "-m", __name__, str(task)], capture_output=True, text=True, check=False
            )
            if done.returncode == 0:
                found = json.loads(Path(request["result"]).read_text())
                return found["found"], found["contradictions"]
            at = Path(request["at"])
            if done.returncode > 0 or not at.exists() or at.read_text() in left:
                said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
                raise AuditError(f"The defects of {folder} could not be found: {said}")
            left.append(at.read_text())
    raise AuditError(f"The defects of {folder} could not be found: MLX ended the process at {', '.join(left)}.")


def _main(task: Path) -> None:
    from audit.defects import find_defects
    from audit.defects.find import stored
    from audit.defects.subjects import registered
    from audit.patches.implementations import IMPLEMENTATIONS
    from audit.reference import References

    request = json.loads(task.read_text())
    import mlx.core as mx

    # Of an absent device there are no rows that could be wrong.
    mx.set_default_device(mx.gpu if request["device"] == "gpu" and mx.is_available(mx.gpu) else mx.cpu)
    at = Path(request["at"])

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


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
