"""Run folders: where a run writes, what it was asked for, and whether it can be gone on with."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import audit
import cases
from audit.errors import AuditError
from audit.files import read_json, write_json
from audit.report.manifest import NAME as MANIFEST
from audit.run.lock import NAME as LOCK
from audit.run.plan import Plan

PLAN = "plan.json"
SCHEMA_NAME = "gradaudit/plan/1"


@dataclass(frozen=True)
class Request:
    """What a run was asked for, written into its folder before anything else.

    Args:
        plan: its plan.
        device: ``"cpu"`` or ``"gpu"``.
        before, after: the implementations that are compared; after is None if there is one only.
    """

    plan: Plan
    device: str
    before: str
    after: str | None

    def to_json(self) -> dict[str, Any]:
        """As the run folder has it."""
        selection = {name: _plain(value) for name, value in asdict(self.plan.selection).items()}
        return {
            "schema": SCHEMA_NAME,
            "selection": selection,
            "device": self.device,
            "before": self.before,
            "after": self.after,
            "mlx": _mlx_version(),
            "code": _code(),
            "shards": [shard.key for shard in self.plan.shards],
        }


def new_folder(runs: Path) -> Path:
    """A folder for a new run, named after the time (UTC), which does not exist yet."""
    name = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    tried = [runs / name] + [runs / f"{name}-{number}" for number in range(2, 1000)]
    return next(path for path in tried if not path.exists())


def begin(folder: Path, request: Request, *, resume: bool) -> None:
    """Open a run's folder.

    Args:
        folder: where the run writes.
        request: what it was asked for.
        resume: go on with the run that the folder holds.

    Raises:
        AuditError: the folder holds a run and `resume` is not set, or one that was asked for something else; or it
            cannot be written to.
    """
    path = folder / PLAN
    if not path.exists():
        if folder.exists() and any(entry.name != LOCK for entry in folder.iterdir()):
            raise AuditError(f"{folder} is not empty and holds no run. Name another folder with --output.")
        write_json(path, request.to_json())
        return
    if not resume:
        raise AuditError(f"{folder} holds a run already. Go on with it by --resume, or name another with --output.")
    found, due = read_json(path), request.to_json()
    if found != due:
        names = [name for name in due if not isinstance(found, dict) or found.get(name) != due[name]]
        if set(names) <= {"mlx", "code"}:
            changed = " and ".join({"mlx": "MLX", "code": "the audit or its cases"}[name] for name in names)
            raise AuditError(
                f"{folder} holds a run begun before {changed} changed: its rows would not be of one kind. "
                "Run again with another --output."
            )
        raise AuditError(
            f"{folder} holds a run that was asked for something else ({', '.join(names)}; see {PLAN} in it). "
            "Give the same options, or name another folder with --output."
        )


def latest(runs: Path, *, finished: bool) -> Path:
    """The newest run that is finished, or the newest that is not.

    Raises:
        AuditError: there is none.
    """
    found = [path.parent for path in sorted(runs.glob(f"*/{PLAN}")) if (path.parent / MANIFEST).exists() == finished]
    if not found:
        kind = "finished" if finished else "unfinished"
        raise AuditError(f"There is no {kind} run below {runs}. Make one with 'gradaudit audit'.")
    return found[-1]


def _mlx_version() -> str:
    try:
        return version("mlx")
    except PackageNotFoundError:
        return "none"


def _code() -> str:
    """A hash of the sources that decide what is asked and how it is judged."""
    digest = hashlib.blake2b(digest_size=16)
    for folder in (Path(audit.__file__).parent, *map(Path, cases.__path__)):
        for path in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".cpp", ".h")):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
