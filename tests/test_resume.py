"""A run that is killed, whole or in part, is gone on with: nothing is lost, nothing counted twice."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from audit.run.lock import NAME as LOCK
from audit.run.outcome import Outcome

ROOT = Path(__file__).parents[1]
# Far beyond what anything here takes: a test that waits so long has failed.
PATIENCE = 120.0


class Runs:
    """Starts runs of the deadly case, all into one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.mark = folder / "run", folder / "mark"
        self.environment = {**os.environ, "GRADAUDIT_CASES": str(ROOT / "tests" / "deadly")}
        self.environment |= {"GRADAUDIT_CACHE": str(folder / "cache"), "GRADAUDIT_TEST_MARK": str(self.mark)}
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *words: str, death: str = "", only: str = "", output: Path | None = None) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "audit", "run", "-k", "deadly", "--workers", "2"]
        command += ["--output", str(output or self.folder), *words]
        environment = self.environment | {"GRADAUDIT_TEST_DEATH": death, "GRADAUDIT_TEST_FORMAT": only}
        pipe, own = subprocess.PIPE, True
        self.started.append(
            subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=own
            )
        )
        return self.started[-1]

    def finish(self, *words: str, output: Path | None = None) -> str:
        """What a run prints; it must end with status 0."""
        process = self.start(*words, output=output)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, out + err
        return out

    def waiting(self) -> int:
        """The worker that waits, once there is one."""
        until(lambda: self.mark.exists() and self.mark.read_text())
        return int(self.mark.read_text())

    def go(self) -> None:
        """Let those that wait go on."""
        self.mark.with_name(self.mark.name + ".go").touch()

    def shards(self) -> set[str]:
        return {path.stem for path in (self.folder / "shards").glob("*.arrow")}


def until(true: object) -> None:
    end = time.monotonic() + PATIENCE
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process that was killed and not yet waited for is dead.
    status = Path(f"/proc/{pid}/status")
    return not (status.exists() and "State:\tZ" in status.read_text())


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    made = Runs(tmp_path)
    yield made
    for process in made.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def undisturbed(runs: Runs) -> bytes:
    other = runs.folder.with_name("undisturbed")
    runs.finish(output=other)
    return (other / "rows.parquet").read_bytes()


def test_a_worker_killed_from_outside_loses_nothing(runs: Runs) -> None:
    process = runs.start(death="wait:7", only="float64")
    os.kill(runs.waiting(), signal.SIGKILL)
    runs.go()
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert (
        "a worker ended (SIGKILL) at plain forward, mx.square(x) + x, float64, forward; the part is done again" in out
    )
    assert (runs.folder / "rows.parquet").read_bytes() == undisturbed(runs)
    ids = pq.read_table(runs.folder / "rows.parquet", columns=["id"]).column("id").to_pylist()
    assert len(ids) == len(set(ids)) == 16 * 3 * 4


@pytest.mark.parametrize("whole", [True, False], ids=["the group", "the first process"])
def test_a_run_killed_whole_is_gone_on_with(runs: Runs, whole: bool) -> None:
    process = runs.start(death="wait:7", only="float64")
    worker = runs.waiting()
    until(lambda: len(runs.shards()) == 3)
    (os.killpg if whole else os.kill)(process.pid, signal.SIGKILL)
    process.communicate()
    # Its workers do not outlive it.
    until(lambda: not alive(worker))
    assert (runs.folder / LOCK).exists()
    (runs.folder / "shards" / ".half.arrow.1.tmp").write_text("half")
    out = runs.finish("--resume")
    assert out.count(": done before") == 3
    assert len(re.findall(r"deadly-1 \w+: 48 comparisons", out)) == 1
    assert re.search(r"mlx: 0 mismatches in 192 comparisons", out)
    assert (runs.folder / "rows.parquet").read_bytes() == undisturbed(runs)
    left = {path.name for path in runs.folder.iterdir()}
    assert left == {path.name for path in runs.folder.with_name("undisturbed").iterdir()}


def test_a_second_run_into_the_same_folder_says_who_is_there(runs: Runs) -> None:
    first = runs.start(death="wait:7", only="float16")
    runs.waiting()
    for words in ((), ("--resume",)):
        second = runs.start(*words)
        _, err = second.communicate(timeout=PATIENCE)
        assert second.returncode == 2
        assert f"is in use by process {first.pid} on " in err
        assert "name another folder with --output" in err
    runs.go()
    first.communicate(timeout=PATIENCE)
    assert first.returncode == 0
    assert not (runs.folder / LOCK).exists()
    assert (runs.folder / "rows.parquet").read_bytes() == undisturbed(runs)


def test_a_shard_that_a_loss_of_power_damaged_is_done_again(runs: Runs) -> None:
    process = runs.start(death="wait:7", only="float64")
    runs.waiting()
    until(lambda: len(runs.shards()) == 3)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    damaged = runs.folder / "shards" / "deadly-1.float16.arrow"
    damaged.write_bytes(damaged.read_bytes()[:-100])
    out = runs.finish("--resume")
    assert out.count(": done before") == 2
    assert "note: The rows of deadly-1.float16 could not be read and were made again." in out
    assert (runs.folder / "rows.parquet").read_bytes() == undisturbed(runs)


def told(folder: Path) -> dict[str, bytes]:
    """The files of a run without the seconds of its last step, which is done again, and the digests that follow."""
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "manifest.json"}
    files["summary.md"] = re.sub(rb"\| seconds, looking for defects \|.*", b"", files["summary.md"])
    assert (folder / "manifest.json").exists()
    return files


def test_reports_that_were_not_written_are_written(runs: Runs) -> None:
    runs.finish()
    before = told(runs.folder)
    for name in ("manifest.json", "summary.md", "before.json"):
        (runs.folder / name).unlink()
    runs.finish("--resume")
    assert told(runs.folder) == before


def test_an_interrupt_from_the_terminal_ends_all_and_keeps_what_is_done(runs: Runs) -> None:
    process = runs.start(death="wait:7", only="float64")
    worker = runs.waiting()
    until(lambda: len(runs.shards()) == 3)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "3 of 4 shards are finished and kept" in out
    until(lambda: not alive(worker))
    assert runs.finish("--resume").count(": done before") == 3


def test_what_came_of_a_shard_survives_as_text() -> None:
    outcome = Outcome(seconds={"mlx": 1.5}, compilations=2, contradictions=["a"], failures=["b"], unkept="c")
    outcome.verdicts["mlx", "families", "match"] = 3
    outcome.verdicts["mlx", "families", "nan"] = 1
    outcome.references["computed"] = 4
    again = Outcome.from_text(outcome.to_text())
    assert again == outcome
    both = Outcome.merged([outcome, again])
    assert (both.rows, both.mismatches, both.seconds, both.contradictions) == (8, 2, {"mlx": 3.0}, ["a", "a"])
    assert Outcome.from_text(outcome.remarks()) == Outcome(verdicts=outcome.verdicts, contradictions=["a"])


def test_a_run_is_not_gone_on_with_by_other_code(runs: Runs) -> None:
    process = runs.start(death="wait:7", only="float64")
    runs.waiting()
    until(lambda: len(runs.shards()) == 3)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    plan = runs.folder / "plan.json"
    text = plan.read_text()
    for name, said in (("code", "before the audit or its cases changed"), ("mlx", "before MLX changed")):
        plan.write_text(re.sub(rf'"{name}": "[^"]*"', f'"{name}": "other"', text))
        other = runs.start("--resume")
        _, err = other.communicate(timeout=PATIENCE)
        assert other.returncode == 2
        assert said in err
    plan.write_text(text)
    runs.finish("--resume")


@pytest.mark.skipif(not shutil.which("g++"), reason="MLX compiles by g++")
def test_kernels_are_compiled_once_and_shared_by_all_workers(runs: Runs) -> None:
    temporary = runs.folder.with_name("tmp")
    temporary.mkdir()
    runs.environment["TMPDIR"] = str(temporary)
    costs = []
    for name in ("first", "second"):
        output = runs.folder.with_name(name)
        runs.finish("--implementation", "mlx:compiled", output=output)
        costs.append(json.loads((output / "costs.json").read_text()))
    assert "seconds, compiling (4 kernels)" in costs[0]
    assert not any("compiling" in name for name in costs[1])
    whole = [path for path in temporary.glob("gradaudit-kernels-*/*/*.so") if path.stat().st_size]
    assert len(whole) == 4
    # Nothing of a worker stays behind.
    assert not list(temporary.glob("gradaudit-[!k]*"))
