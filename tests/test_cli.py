from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rows_by_hand import row, table
from typer.main import get_command
from typer.testing import CliRunner

import audit.__main__ as entry
from audit.cli import app
from audit.commands import options, reporting, running
from audit.commands.terminal import Lines, console
from audit.errors import AuditError
from audit.report.folder import Remarks, write_reports
from audit.report.json_report import Series, read_report
from audit.run import execute as real_execute
from audit.run import job
from audit.store import Store

COMMANDS: dict[str, Any] = getattr(get_command(app), "commands", {})
PLACE: dict[str, str] = dict.fromkeys(("mlx", "wheel", "device", "platform", "python", "compiler", "commit"), "none")
SMALL = ["--quick", "-k", "1328 and traps", "--format", "float16", "--workers", "0"]


def call(*arguments: str) -> tuple[int, str]:
    """Exit status and output of a command."""
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    store = Store(tmp_path / "run")
    stock = [row(1), row(2)]
    repaired = [row(1, verdict="match"), row(2)]
    store.write("all", table([*stock, *(entry | {"implementation": "python"} for entry in repaired)]))
    store.seal(["all"])
    write_reports(store, Series("divide-1328", "1"), "mlx", "python", Remarks(PLACE))
    return store.folder


def test_the_commands_are_those_that_are_promised() -> None:
    promised = {"audit", "run", "list", "show", "compare", "verify", "coverage", "defects", "patch", "readme"}
    assert set(COMMANDS) == promised


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_has_help(name: str) -> None:
    command = COMMANDS[name]
    assert (command.help or "").strip().endswith(".")
    assert len(command.get_short_help_str(80)) <= 64
    assert not command.get_short_help_str(80).endswith("...")
    for parameter in command.params:
        assert getattr(parameter, "help", ""), f"{name}: {parameter.name}"
    status, text = call(name, "--help")
    assert status == 0
    assert "Usage: " in text


def test_help_does_not_load_mlx() -> None:
    source = "import sys, audit.cli; sys.exit('mlx.core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", source], check=False).returncode == 0


def test_a_run_of_stock_alone(tmp_path: Path) -> None:
    status, text = call("run", *SMALL, "--output", str(tmp_path / "run"))
    assert re.search(r"mlx: \d+ mismatches in 28 comparisons, 0 in 0 of the scale families", text)
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        *("plan.json", "rows.parquet", "before.json", "summary.md", "costs.json", "manifest.json")
    }
    assert status in (0, 1)
    assert call("verify", str(tmp_path / "run"))[0] == 0


def test_two_runs_differ_in_nothing_but_the_environment(tmp_path: Path) -> None:
    for name in ("first", "second"):
        call("run", *SMALL, "--seed", "3", "--output", str(tmp_path / name))
    first, second = (read_report(tmp_path / name / "before.json") for name in ("first", "second"))
    assert list(first) == list(second)
    assert {**first, "environment": None} == {**second, "environment": None}
    same = ("rows.parquet", "plan.json")
    assert all((tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes() for name in same)


def test_a_rule_without_mismatch_gives_status_0(tmp_path: Path) -> None:
    status, text = call("run", *SMALL, "--implementation", "python", "--output", str(tmp_path / "run"))
    assert status == 0
    assert "python: 0 mismatches in 28 comparisons" in text


def test_stock_is_as_expected_when_its_mismatches_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "BASELINE", tmp_path / "absent.json")
    status, text = call("run", *SMALL, "--output", str(tmp_path / "first"))
    assert status == 1
    assert " not listed: " in text
    monkeypatch.setattr(running, "BASELINE", tmp_path / "first" / "before.json")
    status, text = call("audit", *SMALL, "--output", str(tmp_path / "second"))
    assert status == 0
    assert re.fullmatch(
        r"As expected: mlx is wrong at exactly the \d+ listed comparisons, (mlx\+divide|python) at none.",
        text.splitlines()[-1],
    )


def test_a_silent_repair_is_not_as_expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call("run", *SMALL, "--output", str(tmp_path / "first"))
    monkeypatch.setattr(running, "BASELINE", tmp_path / "first" / "before.json")
    monkeypatch.setattr(job, "judge_reports", _with_a_right_row_listed)
    status, text = call("audit", *SMALL, "--output", str(tmp_path / "second"))
    assert status == 1
    assert "1 listed, but right now" in text


def _with_a_right_row_listed(reports: Any, rows: Any, baseline: frozenset[str]) -> Any:
    from audit.run.expected import judge_reports

    right = next(r for r in rows.to_pylist() if r["verdict"] == "match" and r["implementation"] == "mlx")
    return judge_reports(reports, rows, baseline | {f"{right['id']:016x}"})


def test_ctrl_c_keeps_what_is_finished_and_resuming_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(tmp_path / "run")
    arguments = ["run", "-k", "1328 and traps", "--quick", "--implementation", "python", "--workers", "0"]
    arguments += ["--output", folder]

    def interrupted(plan: Any, store: Store, references: Any, _: Any = None) -> Any:
        class Interrupting(Lines):
            def done(self, shard: Any, rows: int, mismatches: int) -> None:
                super().done(shard, rows, mismatches)
                raise KeyboardInterrupt

        return real_execute(plan, store, references, Interrupting(console()))

    monkeypatch.setattr(job, "execute", interrupted)
    status, text = call(*arguments)
    assert status == 130
    assert "is partial. 1 of 4 shards are finished and kept" in text
    assert not (tmp_path / "run" / "manifest.json").exists()
    with pytest.raises(AuditError, match="unfinished"):
        call("verify", folder)
    monkeypatch.setattr(job, "execute", real_execute)
    with pytest.raises(AuditError, match="holds a run already"):
        call(*arguments)
    with pytest.raises(AuditError, match="asked for something else .selection"):
        call(*arguments, "--resume", "--seed", "7")
    status, text = call(*arguments, "--resume")
    assert status == 0
    assert text.count(": done before") == 1
    assert call("verify", folder)[0] == 0


def test_a_part_of_the_series_is_not_accepted(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="Only a whole run can be accepted"):
        call("audit", *SMALL, "--accept", "--output", str(tmp_path / "run"))


def test_an_absent_device_is_not_run(tmp_path: Path) -> None:
    import mlx.core as mx

    if mx.is_available(mx.gpu):
        pytest.skip("there is a GPU")
    status, text = call("run", *SMALL, "--device", "gpu", "--output", str(tmp_path / "run"))
    assert "28 could not be judged" in text
    assert "note: mlx was not run: There is no GPU that MLX can use here." in text
    assert status == 1 if "listed" in text else status == 0
    with pytest.raises(AuditError, match="could not be judged"):
        call("audit", *SMALL, "--device", "gpu", "--output", str(tmp_path / "other"))


def test_compare(finished: Path) -> None:
    status, text = call("compare", str(finished / "before.json"), str(finished / "after.json"))
    assert status == 0
    assert "        1 fixed" in text
    status, text = call("compare", f"{finished}@python", f"{finished}@mlx", "--ids")
    assert status == 1
    assert "newly wrong: 0000000000000001" in text
    assert "still wrong: 0000000000000002" in text
    assert call("compare", str(finished), str(finished))[0] == 0


def test_verify_names_the_changed_file(finished: Path) -> None:
    (finished / "summary.md").write_text("nothing")
    status, text = call("verify", str(finished))
    assert status == 1
    assert "summary.md" in text


def test_show(finished: Path) -> None:
    status, text = call("show", "0000000000000001", "--run", str(finished))
    assert status == 0
    assert text.splitlines()[0] == "0000000000000001  divide / grid"
    assert "import mlx.core as mx" in text


def test_list_names_everything() -> None:
    status, text = call("list")
    assert status == 0
    for word in ("divide", "grid", "float16", "common scale", "mlx+divide", "python"):
        assert word in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--format", "float8"], "no format 'float8'.*bfloat16"),
        (["run", "--implementation", "mlxx"], "no implementation 'mlxx'. Did you mean 'mlx'"),
        (["run", "--device", "tpu"], "no device 'tpu'"),
        (["run", "-k", "nothing"], "Nothing is selected"),
        (["run", "-k", "a or or b"], "cannot be read"),
        (["run", "--quick", "--nightly"], "exclude each other"),
        (["patch", "power"], "no patch 'power'"),
        (["show", "zz", "--run", "."], "is no row"),
        (["verify", "nowhere"], "no folder nowhere"),
        (["compare", "nowhere.json", "nowhere.json"], "no file nowhere.json"),
    ],
)
def test_bad_input_says_what_to_write_instead(arguments: list[str], message: str) -> None:
    with pytest.raises(AuditError, match=message):
        call(*arguments)


def test_an_unwritable_output_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AuditError, match="cannot be written"):
        call("run", *SMALL, "--output", str(tmp_path / "file" / "run"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("")
    with pytest.raises(AuditError, match="not empty and holds no run"):
        call("run", *SMALL, "--output", str(tmp_path / "other"))


def test_errors_end_in_one_message_and_status_2(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["gradaudit", "verify", "nowhere"])
    with pytest.raises(SystemExit) as stopped:
        entry.main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith("gradaudit: There is no folder nowhere.")


@pytest.fixture
def readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(reporting, "ROOT", tmp_path)
    return tmp_path / "README.md"


def test_tables_of_the_readme(readme: Path) -> None:
    readme.write_text("# a\n\n<!-- table:commands -->\n<!-- end -->\n\nend\n")
    status, text = call("readme", "--check")
    assert (status, text.strip()) == (1, "README.md: table commands is stale. Write it with: gradaudit readme")
    assert call("readme")[0] == 0
    assert "| `gradaudit verify` | Check that a run is as it was written. |" in readme.read_text()
    assert call("readme", "--check") == (0, "")


@pytest.mark.parametrize(
    ("text", "message"),
    [("<!-- table:nothing -->\n<!-- end -->", "no table|nothing"), ("<!-- table:commands -->\n", "needs an <!-- end")],
)
def test_bad_markers_are_said(readme: Path, text: str, message: str) -> None:
    readme.write_text(text)
    with pytest.raises(AuditError, match=message):
        call("readme")


def test_places_are_those_of_the_clone() -> None:
    assert Path(__file__).parents[1] / "reports" / "divide-before.json" == options.BASELINE
