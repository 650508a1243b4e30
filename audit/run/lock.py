"""One run at a time in a folder: a lock that ends with the process that holds it, however that ends."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from audit.errors import AuditError

NAME = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder's lock; the folder is made if it is not there, and removed again if nothing else came into it.

    The system gives the lock up when its process ends, killed or not, so that there is none to be taken over: the file
    only says who holds it.

    Raises:
        AuditError: another process works in the folder, or the folder cannot be written to.
    """
    path = folder / NAME
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = _take(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise AuditError(f"{folder} cannot be written: {reason}. Name another folder with --output.") from error
    try:
        about = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
        }
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(about).encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)
        if made:
            with suppress(OSError):
                folder.rmdir()


def _take(path: Path) -> int:
    """The descriptor of the locked file."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held = os.pread(descriptor, 1000, 0)
            os.close(descriptor)
            raise AuditError(f"{path.parent} is in use by {_holder(held)}. {_ADVICE}") from None
        except OSError:
            os.close(descriptor)
            raise
        # Who held it may have removed the file after it was opened here: then the lock is on a file that is gone.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)


_ADVICE = "Wait until it ends or stop it, then go on with --resume; or name another folder with --output."


def _holder(content: bytes) -> str:
    try:
        about = json.loads(content)
        return f"process {about['pid']} on {about['host']} since {about['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
