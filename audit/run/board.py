"""A page of memory on which a worker shows what it is doing; it can still be read when the worker is gone.

The record changes with every change of work, so that a record that stays the same is work that does not end.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

from audit.case import Batch
from audit.run.blame import Unit

_RECORD = struct.Struct("<QqqqQ16s")


@dataclass(frozen=True)
class Sight:
    """What a worker does.

    Args:
        change: counts the changes so far.
        unit: the batch and implementation in work; None before the first of a shard.
        points: how many points the batch has.
        numbers: how many numbers its primals have.
        kind: the kind of work, as in `audit.watch`.
    """

    change: int
    unit: Unit | None
    points: int
    numbers: int
    kind: str


class Board:
    """The worker writes, whoever started it reads.

    Args:
        path: the file that both map; it is made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(mmap.PAGESIZE))
        with path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        self._sight = self.read()

    def read(self) -> Sight:
        """What is shown."""
        change, batch, implementation, points, numbers, kind = _RECORD.unpack_from(self._page)
        unit = None if batch < 0 or not change else Unit(batch, implementation)
        return Sight(change, unit, points, numbers, kind.rstrip(b"\0").decode())

    def turn(self, kind: str) -> None:
        """Show another kind of work."""
        seen = self._sight
        self._show(Sight(seen.change + 1, seen.unit, seen.points, seen.numbers, kind))

    def begin(self, unit: Unit | None, batch: Batch | None = None) -> None:
        """Show another unit, or that there is none."""
        points = batch.points if batch else 0
        numbers = sum(primal.size for primal in batch.primals) if batch else 0
        self._show(Sight(self._sight.change + 1, unit, points, numbers, self._sight.kind))

    def _show(self, sight: Sight) -> None:
        unit = sight.unit or Unit(-1, -1)
        self._sight = sight
        numbers = (sight.points, sight.numbers, sight.kind.encode())
        _RECORD.pack_into(self._page, 0, sight.change, unit.batch, unit.implementation, *numbers)
