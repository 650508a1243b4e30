"""What kills or stops MLX becomes rows of the points that do it; every other row is there as ever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cases
from audit.formats import lookup
from audit.reference import References
from audit.registry import find_cases
from audit.run import Outcome, Plan, Selection, collect, plan
from audit.run.pool import execute_in_workers
from audit.run.worker import Setting
from audit.store import Store

FOLDER = Path(__file__).parent / "deadly"
FORMATS = ("float16", "float32", "bfloat16", "float64")
MODES = ("forward", "vjp", "jvp")
Run = Callable[..., tuple[list[dict[str, Any]], Outcome]]


class Notes:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.kept_shards: list[str] = []
        self.failed_shards: list[str] = []
        self.begun_shards: list[str] = []
        self.done_shards: dict[str, tuple[int, int]] = {}
        self.notes: list[str] = []

    def kept(self, shard: Any) -> None:
        self.kept_shards.append(shard.key)

    def begun(self, shard: Any) -> None:
        self.begun_shards.append(shard.key)

    def done(self, shard: Any, rows: int, mismatches: int) -> None:
        assert shard.key not in self.done_shards
        self.done_shards[shard.key] = (rows, mismatches)

    def failed(self, shard: Any) -> None:
        self.failed_shards.append(shard.key)

    def noted(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture(autouse=True)
def deadly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The deadly case is found, here and in workers."""
    monkeypatch.setenv("GRADAUDIT_CASES", str(FOLDER))
    monkeypatch.setattr(cases, "__path__", [*cases.__path__, str(FOLDER)])
    find_cases.cache_clear()
    yield
    find_cases.cache_clear()


def selected(keyword: str = "deadly", formats: tuple[str, ...] = ("float32",)) -> Plan:
    return plan(Selection(keyword, formats))


def perform(folder: Path, made: Plan, *, patience: float = 60.0, notes: Notes | None = None) -> Outcome:
    setting = Setting(made.selection, "cpu", folder, folder / "references")
    return execute_in_workers(made, setting, 2, notes, patience)


def rows_of(folder: Path, made: Plan) -> list[dict[str, Any]]:
    table = Store(folder).read([shard.key for shard in made.shards])
    return table.to_pylist()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    def run(death: str = "", **options: Any) -> tuple[list[dict[str, Any]], Outcome]:
        monkeypatch.setenv("GRADAUDIT_TEST_DEATH", death)
        monkeypatch.setenv("GRADAUDIT_TEST_MARK", str(tmp_path / "mark"))
        made = selected(options.pop("keyword", "deadly"), options.pop("formats", ("float32",)))
        folder = tmp_path / (death or "undisturbed").replace(":", " ")
        outcome = perform(folder, made, **options)
        return rows_of(folder, made), outcome

    return run


def x_of(row: dict[str, Any]) -> float:
    """The primal of a row."""
    return float(lookup(row["format"]).from_bits(np.array(row["primals"], np.uint64))[0])


def test_without_deaths_workers_write_the_rows_that_one_process_does(run: Run) -> None:
    rows, outcome = run(formats=FORMATS)
    here, _ = collect(selected(formats=FORMATS), References())
    assert rows == here.to_pylist()
    assert len(rows) == outcome.rows == 16 * 3 * 4
    assert {row["verdict"] for row in rows} == {"match"}
    assert (outcome.mismatches, outcome.failures, outcome.contradictions) == (0, [], [])
    assert outcome.references["computed"] > 0
    assert {"references", "mlx", "judging", "writing"} <= set(outcome.seconds)


@pytest.mark.parametrize(
    ("death", "verdict", "message", "modes"),
    [
        ("abort:1,16", "crash", "SIGABRT: libc++abi: terminating due to uncaught exception", 3),
        ("segfault:9", "crash", "SIGSEGV", 1),
        ("end:3", "crash", "exit status 3", 1),
        ("killed:12", "crash", "SIGKILL", 1),
        ("hang:8", "hang", "no answer in 10 s", 1),
    ],
)
def test_the_points_that_kill_are_named_and_all_others_judged(
    run: Run, death: str, verdict: str, message: str, modes: int
) -> None:
    keyword = "deadly" if modes == 3 else "deadly and vjp"
    due, _ = run(keyword=keyword)
    rows, outcome = run(death, keyword=keyword, patience=10.0 if verdict == "hang" else 60.0)
    killers = {float(number) for number in death.partition(":")[2].split(",")}
    assert len(rows) == 16 * modes
    for row, undisturbed in zip(rows, due, strict=True):
        if x_of(row) in killers:
            assert (row["verdict"], row["message"], row["got"]) == (verdict, message, None)
            # The inputs, and what was due, are known all the same.
            same = ("id", "primals", "weights", "right", "point", "element")
            assert all(row[name] == undisturbed[name] for name in same)
        else:
            assert row == undisturbed
    assert outcome.failures == []
    assert outcome.mismatches == modes * len(killers)
    assert outcome.rows == len(due)


@pytest.mark.parametrize("death", ["raise:5", "leave:5"])
def test_what_is_raised_fails_its_batch_and_no_other(run: Run, death: str) -> None:
    rows, outcome = run(death)
    assert Counter(row["verdict"] for row in rows) == {"raises": 48}
    assert outcome.failures == []


def test_a_worker_killed_once_from_outside_makes_no_crash(run: Run) -> None:
    due, _ = run()
    notes = Notes()
    rows, outcome = run("killed once:7", notes=notes)
    assert rows == due
    assert outcome.rows == 48
    assert outcome.failures == []
    assert any("SIGKILL" in note for note in notes.notes)


def test_a_crash_that_does_not_happen_again_is_told(run: Run) -> None:
    due, _ = run()
    rows, outcome = run("segfault once:7")
    assert rows == due
    assert outcome.failures == []
    told = "a worker ended (SIGSEGV) at plain forward, mx.square(x) + x, float32, forward, and did not when all was"
    assert [told in note for note in outcome.notes] == [True]


def test_a_batch_that_kills_only_after_others_is_blamed(run: Run) -> None:
    due, _ = run()
    rows, outcome = run("third:7")
    assert [row["verdict"] for row in rows] == ["match"] * 32 + ["crash"] * 16
    assert rows[:32] == due[:32]
    said = "SIGABRT: libc++abi: terminating due to uncaught exception; not when it was asked alone"
    assert {row["message"] for row in rows[32:]} == {said}
    assert (outcome.failures, outcome.notes) == ([], [])


def test_points_that_kill_only_together_are_blamed_together(run: Run) -> None:
    rows, _ = run("together:4,5", keyword="deadly and vjp")
    # The smallest span of halving that holds both.
    assert [x_of(row) for row in rows if row["verdict"] == "crash"] == list(range(1, 9))
    assert {row["message"] for row in rows if row["verdict"] == "crash"} == {
        "SIGABRT: libc++abi: terminating due to uncaught exception; the halves of these 8 points did not"
    }
    assert {row["verdict"] for row in rows} == {"crash", "match"}


def test_the_user_is_told_of_each_shard_once(tmp_path: Path) -> None:
    notes, made = Notes(), selected(formats=FORMATS)
    perform(tmp_path, made, notes=notes)
    keys = [shard.key for shard in made.shards]
    assert sorted(notes.begun_shards) == sorted(keys)
    assert notes.done_shards == dict.fromkeys(keys, (48, 0))
    again = Notes()
    outcome = perform(tmp_path, made, notes=again)
    assert (again.kept_shards, again.begun_shards, again.done_shards) == (keys, [], {})
    # What was done before counts as done, once.
    assert outcome.rows == 48 * 4
