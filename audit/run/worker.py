"""A process that runs shards for another one: the only place in which MLX is asked, so that it may die of it.

It is told what to run by messages, finds shards by their keys, writes finished ones into the store itself, and ends
when the process that started it does.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from audit.case import Batch
from audit.errors import AuditError
from audit.run.blame import Blamed, Span, Unit
from audit.run.board import Board
from audit.run.outcome import Outcome
from audit.run.plan import Selection
from audit.run.spool import Spool

_PARENT_DIED = 1


@dataclass(frozen=True)
class Setting:
    """What a worker needs to know once.

    Args:
        selection: the plan is made from it.
        device: ``"cpu"`` or ``"gpu"``.
        folder: of the run.
        references: folder of the right values that are kept between runs.
        kernels: folder of compiled kernels that all workers share; None if each compiles its own.
        board: file of the page on which the worker shows what it does; each has its own.
    """

    selection: Selection
    device: str
    folder: Path
    references: Path | None
    kernels: Path | None = None
    board: Path = Path()


@dataclass(frozen=True)
class Task:
    """One shard to run, or one unit of it to try out.

    Args:
        shard: its key.
        blame: points that get their verdict without being asked.
        spool: keeps what is finished of the shard, in case that the worker dies.
        only: a unit, and the points of it that are asked for nothing but whether the worker survives.
    """

    shard: str
    blame: Mapping[Unit, tuple[Blamed, ...]] = field(default_factory=dict)
    spool: Spool | None = None
    only: tuple[Unit, Span] | None = None


@dataclass(frozen=True)
class Finished:
    """A task is done.

    Args:
        outcome: what came of it; the rows are in the store.
        memory: bytes that the worker holds now.
    """

    outcome: Outcome
    memory: int


@dataclass(frozen=True)
class Refused:
    """A task cannot be done, nor can any other: the disk is full, or the plan is not the same here."""

    message: str


def main(descriptor: int) -> None:
    """Serve the process at the other end of a socket until it closes it."""
    os.set_inheritable(descriptor, False)
    # An interrupt from the terminal reaches the whole group; who started the worker decides what becomes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    connection = Connection(descriptor)
    setting: Setting = connection.recv()
    end_with(os.getppid())
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        _serve(connection, setting)


def _serve(connection: Connection, setting: Setting) -> None:
    from audit.reference import References
    from audit.run.device import choose_device
    from audit.run.execute import Session, run_and_write
    from audit.run.kernels import Kernels, compiler_seconds
    from audit.run.plan import plan
    from audit.store import Store
    from audit.watch import WATCH

    chosen = choose_device(plan(setting.selection), setting.device)
    shards = {shard.key: shard for shard in chosen.shards}
    board, store, kernels = Board(setting.board), Store(setting.folder), Kernels(setting.kernels)
    compiling = compiler_seconds()

    def told(unit: Unit, batch: Batch) -> None:
        nonlocal compiling
        board.begin(unit, batch)
        # Should this process die, what it compiled so far is not lost with it.
        if (now := compiler_seconds()) != compiling:
            compiling = now
            kernels.publish()

    WATCH.told = board.turn
    session = Session(chosen.implementations, References(setting.references), told, kernels)
    while True:
        task: Task = connection.recv()
        board.begin(None)
        # gmpy2 takes a division by zero, whoever's it is, for an overflow of its own.
        signal.signal(signal.SIGFPE, signal.SIG_DFL)
        shard = shards.get(task.shard)
        if shard is None:
            connection.send(Refused(f"A worker does not know the part {task.shard!r}: the cases changed. Run again."))
            continue
        try:
            if task.only:
                # Only death tells anything: what is raised is a row, or a failure, of the run itself.
                with suppress(Exception):
                    session.try_out(shard, *task.only)
                connection.send(Finished(Outcome(), _memory()))
            else:
                outcome = run_and_write(session, shard, store, task.blame, task.spool)
                connection.send(Finished(outcome, _memory()))
        except AuditError as error:
            connection.send(Refused(str(error)))


def _memory() -> int:
    """Bytes of memory that this process holds."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, ValueError):
        # In bytes on macOS, the only other system; the peak is the nearest that it tells.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def end_with(parent: int) -> None:
    """End this process when the one that started it has ended, whatever it is doing then."""
    if sys.platform == "linux":
        import ctypes

        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
        if os.getppid() == parent:
            return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(_PARENT_DIED)

    threading.Thread(target=watch, daemon=True).start()
