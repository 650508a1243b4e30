"""One shard, whatever it does to its workers: done again if one dies, with blame for the points that killed it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from audit.errors import AuditError
from audit.run.blame import Blamed, Span, Unit
from audit.run.outcome import Outcome
from audit.run.plan import Shard
from audit.run.process import Death, Process
from audit.run.search import Search
from audit.run.spool import Spool
from audit.run.worker import Finished, Refused, Setting, Task
from audit.store import Store

# A worker that holds more than this after a shard is replaced before the next.
MEMORY_BYTES = 2**30
# While points are sought, MLX is waited for only this share of the time; what seems to hang is waited for in full.
HASTE = 1 / 6
# After so many units of a shard were searched, those that die are blamed as a whole.
SEARCHES = 50
# A worker may end so many times while it does not ask MLX, or be killed from outside, before its shard is given up.
CHANCES = 5
# So many units of a shard may kill once and not again, and are told in a note; more are blamed.
RARE = 2


@dataclass
class Lane:
    """Workers, one after another.

    Args:
        setting: what they need to know.
        patience: seconds in which MLX has to answer for a batch of ordinary size.
        stopped: whether the run is to end at once.
    """

    setting: Setting
    patience: float
    stopped: Callable[[], bool]
    _process: Process | None = None

    def ask(self, task: Task, haste: float = 1.0) -> Finished | Death:
        """Have a task done, by a new worker if there is none.

        Args:
            task: what to do.
            haste: share of the patience after which MLX hangs.

        Raises:
            AuditError: it is refused.
            Stop: the run is to end.
        """
        if self._process is None:
            self._process = Process(self.setting, self.patience, self.stopped)
        answer = self._process.ask(task, self.patience * haste)
        if isinstance(answer, Refused):
            raise AuditError(answer.message)
        if isinstance(answer, Death):
            self._process = None
        elif answer.memory > MEMORY_BYTES:
            self.close()
        return answer

    def close(self) -> None:
        """End the worker, if there is one."""
        if self._process is not None:
            self._process.end()
            self._process = None


@dataclass
class Settling:
    """Does one shard.

    Args:
        shard: which.
        lane: its workers.
        noted: is told what the user should know.
    """

    shard: Shard
    lane: Lane
    noted: Callable[[str], None]
    _blame: dict[Unit, tuple[Blamed, ...]] = field(default_factory=dict)
    _unexplained: dict[Unit, Death] = field(default_factory=dict)
    _searches: int = 0

    def run(self) -> Outcome:
        """What came of it; its rows are in the store, unless the outcome has a failure.

        Raises:
            AuditError: nothing can be done: the disk is full, or the worker's plan is another one.
            Stop: the run is to end.
        """
        spool = Spool(Store(self.lane.setting.folder).spool(self.shard.key))
        try:
            return self._run(spool)
        finally:
            spool.clear()

    def _run(self, spool: Spool) -> Outcome:
        lost = 0
        # Nearly all shards do not kill: only one that did is worth the writing.
        keep: Spool | None = None
        while True:
            end = self.lane.ask(Task(self.shard.key, dict(self._blame), keep))
            if isinstance(end, Finished):
                end.outcome.notes += self._notes()
                return end.outcome
            at = f" at {end.sight.question}" if end.sight.question else ""
            self.noted(f"{self.shard.label}: a worker ended ({end.message}){at}; the part is done again")
            explained = end.sight.unit is not None and self._explain(end.sight.unit, end)
            keep = replace(spool, fresh=not explained)
            if not explained:
                lost += end.sight.kind != "mlx" or end.outside
                # The reason may lie in what was asked before: all is asked again, by a worker that asked nothing yet.
                self.lane.close()
                if lost == CHANCES:
                    doing = end.sight.kind or "starting"
                    message = f"its workers ended {lost} times, the last while {doing}{at}: {end.message}"
                    return Outcome(failures=[f"{self.shard.label} could not be run: {message}"])

    def _explain(self, unit: Unit, end: Death) -> bool:
        """Blame points of the unit at which a worker died, if there is reason to."""
        points, own = end.sight.points, end.sight.kind == "mlx" and not end.outside
        if unit in self._blame:
            found = [self._whole(end, "; with the points that were not blamed alone")] if own else []
        elif self._searches >= SEARCHES:
            found = [self._whole(end, f"; asked with {points - 1} others, not singled out")] if own else []
        else:
            self._searches += 1
            found = self._search(unit, points)
            if not found and own:
                if unit in self._unexplained or len(self._unexplained) == RARE:
                    found = [self._whole(end, "; not when it was asked alone")]
                self._unexplained[unit] = end
        if found:
            self._blame[unit] = tuple(found)
        return bool(found)

    def _notes(self) -> list[str]:
        """What the library did once, and not again."""
        once = [end for unit, end in self._unexplained.items() if unit not in self._blame]
        what = "and did not when all was asked again"
        return [f"{self.shard.label}: a worker ended ({end.message}) at {end.sight.question}, {what}." for end in once]

    def _whole(self, end: Death, circumstances: str) -> Blamed:
        return Blamed(Span(0, end.sight.points), end.verdict, end.message + circumstances)

    def _search(self, unit: Unit, points: int) -> list[Blamed]:
        def trying(haste: float) -> Callable[[Span], Death | None]:
            def try_out(span: Span) -> Death | None:
                end = self.lane.ask(Task(self.shard.key, only=(unit, span)), haste)
                # What dies of its reference, or before it asks, is no finding about MLX.
                return end if isinstance(end, Death) and end.sight.kind == "mlx" else None

            return try_out

        spans = {blamed.span: None for found in self._blame.values() for blamed in found if blamed.span.points == 1}
        return Search(trying(HASTE), trying(1.0), points, list(spans)).run()
