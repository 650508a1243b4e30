"""Where the time goes."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import process_time


@dataclass
class Clock:
    """Seconds of processor time spent on each kind of work."""

    seconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=process_time)

    def start(self) -> None:
        """Begin to count."""
        self._since = process_time()

    def lap(self, kind: str) -> None:
        """Count what has passed since the last lap as this kind of work."""
        now = process_time()
        self.seconds[kind] = self.seconds.get(kind, 0.0) + now - self._since
        self._since = now
