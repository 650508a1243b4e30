"""What a run tells whoever watches it."""

from __future__ import annotations

from typing import Protocol

from audit.run.outcome import Outcome
from audit.run.plan import Shard


class Progress(Protocol):
    """Is told what happens, in the thread that started the run."""

    def kept(self, shard: Shard) -> None:
        """A shard was done before, and is not run again."""
        ...

    def begun(self, shard: Shard) -> None:
        """A shard is being worked on."""
        ...

    def done(self, shard: Shard, rows: int, mismatches: int) -> None:
        """A shard is finished."""
        ...

    def failed(self, shard: Shard) -> None:
        """A shard could not be run."""
        ...

    def noted(self, text: str) -> None:
        """Something happened that the user should know now: a worker died and is replaced."""
        ...


class Silent:
    """Tells nobody."""

    def kept(self, shard: Shard) -> None:
        """As `Progress.kept`."""

    def begun(self, shard: Shard) -> None:
        """As `Progress.begun`."""

    def done(self, shard: Shard, rows: int, mismatches: int) -> None:
        """As `Progress.done`."""

    def failed(self, shard: Shard) -> None:
        """As `Progress.failed`."""

    def noted(self, text: str) -> None:
        """As `Progress.noted`."""


def tell(progress: Progress, shard: Shard, outcome: Outcome) -> None:
    """Tell that work on a shard has ended."""
    if outcome.failures:
        progress.failed(shard)
    else:
        progress.done(shard, outcome.rows, outcome.mismatches)
