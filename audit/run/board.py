"""A page of memory on which a worker shows what it is doing; it can still be read when the worker is gone.

The record changes with every change of work, so that a record that stays the same is work that does not end.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass, replace
from pathlib import Path

from audit.case import Batch
from audit.run.blame import Unit

_RECORD = struct.Struct("<QqqqQ16s256s")


@dataclass(frozen=True)
class Sight:
    """What a worker does.

    Args:
        change: counts the changes so far.
        unit: the batch and implementation in work; None before the first of a shard.
        points: how many points the batch has.
        numbers: how many numbers its primals have.
        kind: the kind of work, as in `audit.watch`.
        question: the batch in words.
    """

    change: int
    unit: Unit | None
    points: int
    numbers: int
    kind: str
    question: str


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
        change, batch, implementation, points, numbers, *texts = _RECORD.unpack_from(self._page)
        unit = None if batch < 0 or not change else Unit(batch, implementation)
        kind, question = (text.rstrip(b"\0").decode(errors="replace") for text in texts)
        return Sight(change, unit, points, numbers, kind, question)

    def turn(self, kind: str) -> None:
        """Show another kind of work."""
        self._show(replace(self._sight, change=self._sight.change + 1, kind=kind))

    def begin(self, unit: Unit | None, batch: Batch | None = None) -> None:
        """Show another unit, or that there is none."""
        points = batch.points if batch else 0
        numbers = sum(primal.size for primal in batch.primals) if batch else 0
        self._show(Sight(self._sight.change + 1, unit, points, numbers, self._sight.kind, _words(batch)))

    def _show(self, sight: Sight) -> None:
        unit = sight.unit or Unit(-1, -1)
        self._sight = sight
        numbers = (unit.batch, unit.implementation, sight.points, sight.numbers)
        _RECORD.pack_into(self._page, 0, sight.change, *numbers, sight.kind.encode(), sight.question.encode())


def _words(batch: Batch | None) -> str:
    if batch is None:
        return ""
    words = (batch.group, batch.function.text, batch.format.name, batch.mode.kind, batch.wrap)
    return ", ".join(word for word in words if word)
