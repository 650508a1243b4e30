"""The manifest of a run: digests of its files, of MLX's library, and of the compiled patches and their sources."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from audit.errors import AuditError
from audit.files import digest, read_json, write_json

NAME = "manifest.json"
SCHEMA_NAME = "gradaudit/manifest/1"


def write_manifest(folder: Path, library: Path | None, patches: Sequence[Path] = ()) -> None:
    """Write the manifest of a run: its last file, so that a run without one is not complete.

    Args:
        folder: the run's folder.
        library: MLX's compiled library, if there is one.
        patches: compiled patches and their sources.

    Raises:
        AuditError: a file cannot be read, or the manifest cannot be written.
    """
    content: dict[str, Any] = {
        "schema": SCHEMA_NAME,
        "files": [_entry(path, path.relative_to(folder).as_posix()) for path in contents(folder)],
        "mlx_library": None if library is None else _entry(library, library.name),
        "patches": [_entry(path, path.name) for path in sorted(patches)],
    }
    write_json(folder / NAME, content | {"digest": _digest(content)})


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a run.

    Raises:
        AuditError: absent, truncated, foreign, or changed after it was written.
    """
    path = folder / NAME
    if not folder.is_dir():
        raise AuditError(f"There is no folder {folder}. Name a run, such as one below reports/runs.")
    if not path.exists():
        raise AuditError(f"{folder} has no {NAME}: it is no run, or an unfinished one. Finish it with --resume.")
    content = read_json(path)
    if not isinstance(content, dict) or content.get("schema") != SCHEMA_NAME:
        raise AuditError(f"{path} is no manifest of this audit. Name the folder of a run.")
    claimed = content.pop("digest", None)
    if claimed != _digest(content):
        raise AuditError(f"{path} was changed after it was written, so it proves nothing. Run the audit again.")
    return content


def contents(folder: Path) -> list[Path]:
    """The files of a run by name, the manifest left out, and hidden files, which belong to runs that go on."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return sorted(path for path in found if path != folder / NAME)


def _entry(path: Path, name: str) -> dict[str, Any]:
    return {"name": name, "bytes": path.stat().st_size, "sha256": digest(path)}


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
