"""What this process is doing at the moment, and how long it did so: references, MLX, judging ...

Work of one kind interrupts the work around it: seconds are wall time, counted once. Whoever has to know whether the
process still makes progress (`audit.run.board`) is told of every change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal

Kind = Literal["points", "references", "mlx", "judging", "witnesses", "writing", "idle"]


@dataclass
class Watch:
    """The kinds of work that are going on, the innermost last.

    Args:
        seconds: wall time by kind of work.
        told: called with the new kind whenever it changes.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    told: Callable[[Kind], None] | None = None
    _kinds: list[Kind] = field(default_factory=lambda: ["idle"])
    _since: float = field(default_factory=perf_counter)

    def enter(self, kind: Kind) -> None:
        """Begin work of a kind; what went on before waits."""
        self._count()
        self._kinds.append(kind)
        if self.told:
            self.told(kind)

    def leave(self) -> None:
        """Go back to the work that was interrupted."""
        self._count()
        self._kinds.pop()
        if self.told:
            self.told(self._kinds[-1])

    def taken(self) -> dict[str, float]:
        """Seconds by kind of work since this was asked last; idle time is left out."""
        self._count()
        seconds, self.seconds = self.seconds, {}
        return {kind: spent for kind, spent in seconds.items() if kind != "idle"}

    def _count(self) -> None:
        now, kind = perf_counter(), self._kinds[-1]
        self.seconds[kind] = self.seconds.get(kind, 0.0) + now - self._since
        self._since = now


WATCH = Watch()


@contextmanager
def during(kind: Kind) -> Iterator[None]:
    """A block, or by ``@during(kind)`` a function, that is work of a kind."""
    WATCH.enter(kind)
    try:
        yield
    finally:
        WATCH.leave()
