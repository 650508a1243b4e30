"""Run a plan in worker processes that may die of it.

One thread a worker hands it shards and settles what happens; the thread that started the run tells the user.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event

from audit.run.execute import remembered
from audit.run.outcome import Outcome
from audit.run.plan import Plan, Shard
from audit.run.process import PATIENCE, Stop
from audit.run.progress import Progress, Silent, tell
from audit.run.settle import Lane, Settling
from audit.run.worker import Setting
from audit.store import Store

_POLL = 0.2

Telling = Callable[[Progress], None]


def cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def execute_in_workers(
    plan: Plan, setting: Setting, workers: int, progress: Progress | None = None, patience: float = PATIENCE
) -> Outcome:
    """Run all shards that the store does not hold yet, several at a time.

    Args:
        plan: what to do; workers make it again from its selection.
        setting: what every worker needs to know.
        workers: how many processes.
        progress: is told of each shard.
        patience: seconds in which MLX has to answer for a batch of ordinary size.

    Returns:
        What came of all shards of the plan, in plan order, those that were there included.

    Raises:
        AuditError: the store cannot be written to, or workers do not find the same plan.
    """
    progress, store = progress or Silent(), Store(setting.folder)
    there = store.finished()
    outcomes = {shard.key: remembered(store, shard) for shard in plan.shards if shard.key in there}
    for shard in plan.shards:
        if shard.key in there:
            progress.kept(shard)
    todo = [shard for shard in plan.shards if shard.key not in there]
    if todo:
        pool = _Pool(setting, patience, iter(todo))
        outcomes |= pool.run(min(workers, len(todo)), progress)
    return Outcome.merged(outcomes[shard.key] for shard in plan.shards)


@dataclass
class _Pool:
    """Threads that share the shards and one queue of what is to be told."""

    setting: Setting
    patience: float
    shards: Iterator[Shard]
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    stop: Event = field(default_factory=Event)
    told: SimpleQueue[Telling] = field(default_factory=SimpleQueue)

    def run(self, lanes: int, progress: Progress) -> dict[str, Outcome]:
        """What came of every shard."""
        with ThreadPoolExecutor(lanes) as threads:
            try:
                self._tell([threads.submit(self._work) for _ in range(lanes)], progress)
            finally:
                # Whatever ended this thread ends the others, before the executor waits for them.
                self.stop.set()
        return self.outcomes

    def _tell(self, futures: list[Future[None]], progress: Progress) -> None:
        while True:
            ended = [future for future in futures if future.done()]
            for future in ended:
                future.result()
            try:
                self.told.get(timeout=_POLL)(progress)
            except Empty:
                if len(ended) == len(futures):
                    return

    def _work(self) -> None:
        lane = Lane(self.setting, self.patience, self.stop.is_set)
        try:
            while (shard := next(self.shards, None)) is not None and not self.stop.is_set():
                self._do(shard, lane)
        except Stop:
            return
        finally:
            lane.close()

    def _do(self, shard: Shard, lane: Lane) -> None:
        def noted(text: str) -> None:
            self.told.put(lambda progress: progress.noted(text))

        self.told.put(lambda progress: progress.begun(shard))
        outcome = Settling(shard, lane, noted).run()
        self.outcomes[shard.key] = outcome
        self.told.put(lambda progress: tell(progress, shard, outcome))
