"""Files written whole or not at all, and digests of files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from audit.errors import AuditError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well, and is removed when it does not.

    Raises:
        AuditError: the folder is not writable or the disk is full; nothing is left under either name then.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        advice = "Free some space or name a folder that can be written to with --output."
        raise AuditError(f"{path} cannot be written: {reason}. {advice}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all.

    Raises:
        AuditError: as `replacing`.
    """
    data = content.encode() if isinstance(content, str) else content
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def write_json(path: Path, content: Any) -> None:
    """Write JSON with keys in the order given, two spaces of indentation, and floats to their shortest exact digits.

    Raises:
        AuditError: as `replacing`.
        ValueError: a float is not finite, which JSON cannot hold.
    """
    write(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """The content of a JSON file.

    Raises:
        AuditError: absent, unreadable, truncated or not JSON; the message names the file and what is wrong.
    """
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise AuditError(f"There is no file {path}.") from None
    except OSError as error:
        raise AuditError(f"{path} cannot be read: {error.strerror}.") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise AuditError(f"{path} is not JSON, or was cut short: {error}. Write it again with the audit.") from error


def digest(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal.

    Raises:
        AuditError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise AuditError(f"{path} cannot be read: {error.strerror}.") from error
