"""A worker process as seen by who started it: asked, watched, and ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

from audit.run.board import Board, Sight
from audit.run.kernels import compiling, provide
from audit.run.worker import Finished, Refused, Setting, Task
from audit.verdict import Verdict

# Seconds in which MLX has to answer for a batch of ordinary size, compilation included.
PATIENCE = 60.0
# So many numbers in the primals of a batch double it.
ORDINARY = 2**20
# Seconds after which any other work without a change counts as a fault of the audit.
SILENCE = 1800.0
_POLL = 0.2
_LAST_BREATH = 10.0
# Sent by others: people, the system when it shuts down, or the kernel when memory is short.
OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT})


class Stop(Exception):
    """The run is to end at once."""


@dataclass(frozen=True)
class Death:
    """How a worker ended.

    Args:
        verdict: ``"crash"``, or ``"hang"`` if it had to be killed because it did not answer.
        message: signal or exit status, and the last line that it printed; or for how long there was no answer.
        sight: what it was doing.
        outside: whether it may have been killed by others.
    """

    verdict: Verdict
    message: str
    sight: Sight
    outside: bool


class Attention:
    """Notices that a process does not get on.

    Args:
        board: shows what it does.
        pid: the process.
        patience: seconds in which MLX has to answer for a batch of ordinary size.
    """

    def __init__(self, board: Board, pid: int, patience: float) -> None:
        self._board, self._pid, self._patience = board, pid, patience
        self._seen, self._since = board.read(), time.monotonic()

    def overdue(self) -> float:
        """The seconds after which it should have got on, once they are over; 0 as long as they are not."""
        sight, now = self._board.read(), time.monotonic()
        if sight != self._seen:
            self._seen, self._since = sight, now
            return 0.0
        due = self._patience * (1 + sight.numbers / ORDINARY) if sight.kind == "mlx" else SILENCE
        waited = now - self._since
        # A compiler at work is no MLX that hangs.
        return due if waited > due and (waited > SILENCE or not compiling(self._pid)) else 0.0


class Process:
    """A worker.

    Args:
        setting: what it needs to know; the board is its own and need not be given.
        patience: seconds in which MLX has to answer for a batch of ordinary size.
        stopped: asked again and again while it works; the worker is killed once it says so.
    """

    def __init__(self, setting: Setting, patience: float, stopped: Callable[[], bool]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gradaudit-")
        here, there = socket.socketpair()
        board = Path(self._folder.name) / "board"
        self._board = Board(board)
        self._output = Path(self._folder.name) / "output"
        self._patience, self._stopped = patience, stopped
        command = f"import sys; sys.path[:] = {sys.path!r}; from audit.run.worker import main; main({there.fileno()})"
        # What a Python of its own prints about a fatal error would hide the library's last words.
        environment = {name: text for name, text in os.environ.items() if name != "PYTHONFAULTHANDLER"}
        # There are as many workers as cores.
        environment.setdefault("OMP_NUM_THREADS", "1")
        temporary = Path(self._folder.name) / "tmp"
        temporary.mkdir()
        provide(temporary, setting.kernels)
        environment["TMPDIR"] = str(temporary)
        with there, self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-c", command],
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
            )
        self._connection = Connection(here.detach())
        with suppress(OSError):
            self._connection.send(replace(setting, board=board))

    def ask(self, task: Task, patience: float | None = None) -> Finished | Refused | Death:
        """Have a task done.

        Args:
            task: what to do.
            patience: seconds for a batch of ordinary size, if other than usual.

        Raises:
            Stop: the run is to end; the worker has ended.
        """
        try:
            self._connection.send(task)
            return self._await(patience or self._patience)
        except (EOFError, OSError):
            return self._buried()

    def end(self) -> None:
        """End it, at once."""
        self._connection.close()
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def _await(self, patience: float) -> Finished | Refused | Death:
        attention = Attention(self._board, self._process.pid, patience)
        while not self._connection.poll(_POLL):
            if self._stopped():
                self.end()
                raise Stop
            due = attention.overdue()
            if due:
                sight = self._board.read()
                self.end()
                return Death(Verdict.HANG, f"no answer in {due:.0f} s", sight, outside=False)
        return self._connection.recv()

    def _buried(self) -> Death:
        try:
            status = self._process.wait(_LAST_BREATH)
        except subprocess.TimeoutExpired:
            # It closed the connection and lives on: that is no end either.
            self._process.kill()
            status = self._process.wait()
        last = self._last_line()
        sight = self._board.read()
        self.end()
        told = f": {last}" if last else ""
        if status >= 0:
            return Death(Verdict.CRASH, f"exit status {status}{told}"[:300], sight, outside=False)
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        return Death(Verdict.CRASH, f"{name}{told}"[:300], sight, outside=-status in OUTSIDE)

    def _last_line(self) -> str:
        lines = self._output.read_text(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""
