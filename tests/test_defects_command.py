"""`gradaudit run --baseline` and `gradaudit defects`: what they say, and their exit status."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from audit.cli import app
from audit.commands import defects as command
from audit.errors import AuditError
from audit.files import read_json, write_json
from audit.report.json_report import read_report
from audit.run.baseline import read_baseline, to_baseline

SMALL = ["--quick", "-k", "divide and families and common", "--format", "float32", "--workers", "0"]
WHOLE = {"keyword": "", "formats": [], "size": "default"}
NAME = "mx.divide-vjp-range"


def call(*arguments: str) -> tuple[int, str]:
    """Exit status and output of a command."""
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    call("run", *SMALL, "--output", str(folder))
    return folder


@pytest.fixture
def baseline(run: Path, tmp_path: Path) -> Path:
    path = tmp_path / "known.json"
    write_json(path, to_baseline(read_report(run / "before.json")))
    return path


def changed(path: Path, **changes: Any) -> None:
    known = read_json(path)
    known["defects"][0] |= changes
    write_json(path, known)


def test_a_run_tells_its_defects(run: Path) -> None:
    status, text = call("defects", str(run))
    assert status == 0
    assert text.splitlines()[0] == "1 defects, 0 missing rules, 0 conventions in 1 operations"
    assert f"  {NAME}: float32" in text
    assert call("verify", str(run))[0] == 0


def test_known_defects_are_no_failure(run: Path, baseline: Path, tmp_path: Path) -> None:
    assert call("defects", str(run), "--baseline", str(baseline))[0] == 0
    status, text = call("run", *SMALL, "--output", str(tmp_path / "again"), "--baseline", str(baseline))
    assert status == 0
    assert "1 known defects found, 0 new, 0 gone" in text


def test_new_ones_are(run: Path, baseline: Path) -> None:
    changed(baseline, mode=["forward"], id="mx.divide-forward-range")
    status, text = call("defects", str(run), "--baseline", str(baseline))
    assert status == 1
    assert f"new: {NAME}: The vjp of mx.divide is right near 1" in text
    # A quick run is a sample: another class of what is known is not new, and nothing is gone.
    assert "0 gone, 1 not asked for" in text
    changed(baseline, **{"class": "poison", "id": "mx.divide-vjp-b-poison", "mode": ["vjp"]})
    assert call("defects", str(run), "--baseline", str(baseline))[0] == 0


def test_compositions_alone_are_known_by_the_defect_of_their_operation(run: Path, baseline: Path) -> None:
    changed(baseline, argument="b", id="mx.divide-vjp-jvp-b-range", mode=["vjp", "jvp"])
    assert call("defects", str(run), "--baseline", str(baseline))[0] == 0


def test_an_entry_that_nothing_can_produce_is_an_error(run: Path, baseline: Path) -> None:
    changed(baseline, operation="mx.undivide")
    with pytest.raises(AuditError, match="no case can produce"):
        call("defects", str(run), "--baseline", str(baseline))


def test_a_baseline_that_is_not_there_is_said_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "BASELINES", tmp_path)
    with pytest.raises(AuditError, match="There is no baseline .* These exist: none"):
        call("run", *SMALL, "--output", str(tmp_path / "run"), "--baseline", "auto")
    assert not (tmp_path / "run").exists()


def test_a_part_of_a_run_is_not_written(run: Path) -> None:
    with pytest.raises(AuditError, match="Only a whole run makes a baseline"):
        call("defects", str(run), "--write")
    with pytest.raises(AuditError, match="Name the folder"):
        call("defects", str(run / "before.json"), "--write")


def test_only_an_untouched_run_of_mlx_is_trusted(run: Path, tmp_path: Path) -> None:
    report = read_json(run / "before.json")
    command._trusted(run, report)
    with pytest.raises(AuditError, match="asked mlx.divide: only a run of mlx makes a baseline"):
        command._trusted(run, report | {"implementation": "mlx+divide"})
    changed = tmp_path / "changed"
    shutil.copytree(run, changed)
    plan = read_json(run / "plan.json")
    write_json(changed / "plan.json", plan | {"selection": plan["selection"] | {"keyword": ""}})
    with pytest.raises(AuditError, match="is not as it was written: "):
        command._trusted(changed, report)


def test_an_edited_report_is_refused(run: Path, tmp_path: Path) -> None:
    report = read_json(run / "before.json")
    for changes in ({"defects": None}, {"operations": 5}, {"defects": [{"id": "x"}]}):
        write_json(tmp_path / "edited.json", report | changes)
        with pytest.raises(AuditError, match="is not as the audit writes it"):
            call("defects", str(tmp_path / "edited.json"))


def test_a_whole_run_writes_its_baseline_and_pages(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "BASELINES", tmp_path / "baselines")
    monkeypatch.setattr(command, "_trusted", lambda *_: None)
    monkeypatch.setattr(command, "PAGES", tmp_path / "pages")
    plan = read_json(run / "plan.json")
    whole = tmp_path / "whole"
    write_json(whole / "before.json", read_json(run / "before.json"))
    write_json(
        whole / "plan.json", plan | {"selection": plan["selection"] | {"keyword": "", "formats": [], "size": "default"}}
    )
    status, text = call("defects", str(whole), "--write")
    assert status == 0
    (written,) = (tmp_path / "baselines").iterdir()
    environment = read_report(run / "before.json")["environment"]
    assert written.name == f"{environment['mlx']}-cpu.json"
    assert [entry["id"] for entry in read_baseline(written)["defects"]] == [NAME]
    assert {path.name for path in (tmp_path / "pages").iterdir()} == {
        *(f"{NAME}.md", f"{NAME}.svg", "index.md", "missing.md", "conventions.md")
    }
    assert "gradaudit readme" in text
    assert call("defects", str(whole), "--baseline", "auto")[0] == 0


def test_a_reproducer_that_shows_nothing_keeps_everything_from_being_written(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "BASELINES", tmp_path / "baselines")
    monkeypatch.setattr(command, "_trusted", lambda *_: None)
    report, plan = read_json(run / "before.json"), read_json(run / "plan.json")
    report["defects"][0]["reproducer"] = 'print("got  ", "0x1p+0")\nprint("right", "0x1p+0")\n'
    whole = tmp_path / "whole"
    write_json(whole / "before.json", report)
    write_json(
        whole / "plan.json", plan | {"selection": plan["selection"] | {"keyword": "", "formats": [], "size": "default"}}
    )
    with pytest.raises(AuditError, match="1 reproducers show nothing wrong"):
        call("defects", str(whole), "--write")
    assert not (tmp_path / "baselines").exists()
