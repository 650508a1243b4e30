"""Defects in reports: the schema, the pages, the picture and the index."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from defect_examples import EXAMPLES, found_in, rows_of

from audit.files import write_json
from audit.report.defect_pages import index, index_page, missing_index, table, write_pages
from audit.report.defect_strip import COLOURS, strip
from audit.report.folder import Remarks, write_reports
from audit.report.json_report import FOUND, SCHEMA_NAME, Series, json_report, read_report
from audit.report.verify import verify
from audit.store import Store

SCHEMA = json.loads((Path(__file__).parents[1] / "reports" / "schema.json").read_text())
PLACE: dict[str, str] = dict.fromkeys(
    ("mlx", "wheel", "device", "platform", "python", "compiler", "commit"), "none"
) | {"mlx": "0.1.2", "device": "cpu"}
SERIES = Series("none", "none")


@pytest.fixture(scope="module")
def reports() -> dict[str, dict[str, Any]]:
    made = {}
    for name, example in EXAMPLES.items():
        batches = list(example.batches())
        found = found_in(batches).to_json()
        made[name] = json_report(rows_of(batches), "mlx", SERIES, PLACE, found=found)
    return made


@pytest.mark.parametrize("name", EXAMPLES)
def test_reports_with_defects_keep_to_the_schema(name: str, reports: dict[str, Any]) -> None:
    jsonschema.validate(reports[name], SCHEMA)
    # As it is when it was written and read again.
    jsonschema.validate(json.loads(json.dumps(reports[name], allow_nan=False)), SCHEMA)


@pytest.mark.parametrize("field", ["id", "operation", "class", "right", "got", "seen_in", "reproducer", "safe_band"])
def test_a_defect_without_what_was_promised_is_refused(field: str, reports: dict[str, Any]) -> None:
    changed = json.loads(json.dumps(reports["range"]))
    del changed["defects"][0][field]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(changed, SCHEMA)


def test_a_report_of_the_first_schema_is_read_as_one_without_defects(tmp_path: Path, reports: dict[str, Any]) -> None:
    old = {name: value for name, value in reports["range"].items() if name not in FOUND}
    write_json(tmp_path / "old.json", old | {"schema": "gradaudit/report/1"})
    assert read_report(tmp_path / "old.json")["defects"] == []
    write_json(tmp_path / "new.json", old)
    assert old["schema"] == SCHEMA_NAME
    with pytest.raises(Exception, match="lacks defects"):
        read_report(tmp_path / "new.json")


def test_a_run_with_defects_verifies_and_one_that_lost_some_does_not(tmp_path: Path) -> None:
    batches = list(EXAMPLES["range"].batches())
    store = Store(tmp_path / "run")
    store.write("all", rows_of(batches))
    store.seal(["all"])
    found = found_in(batches).to_json()
    write_reports(store, SERIES, "mlx", None, Remarks(PLACE), found={"mlx": found})
    assert verify(store.folder) == []
    found["defects"][0]["counts"]["mismatches"] -= 1
    other = Store(tmp_path / "other")
    other.write("all", rows_of(batches))
    other.seal(["all"])
    write_reports(other, SERIES, "mlx", None, Remarks(PLACE), found={"mlx": found})
    (problem,) = verify(other.folder)
    assert "1 wrong rows belong to no defect" in problem


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_page_tells_what_a_reader_needs(name: str, reports: dict[str, Any], tmp_path: Path) -> None:
    report = reports[name]
    written = write_pages(tmp_path, report)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in written}
    for defect in report["defects"]:
        text = (tmp_path / f"{defect['id']}.md").read_text()
        assert text.startswith(f"# {defect['id']}\n\n{defect['sentence']}\n")
        assert defect["reproducer"].strip() in text
        for part in defect["right"] or []:
            assert part["value"] in text
            assert part["decimal"] in text
        for method in defect["second_method"]:
            assert method["name"] in text
        pictured = f"{defect['id']}.svg" in text
        assert pictured == bool(defect["safe_band"]) == (tmp_path / f"{defect['id']}.svg").exists()
    listed = (tmp_path / "missing.md").read_text()
    assert all(lack["operation"] in listed and lack["message"] in listed for lack in report["missing"])


def test_pages_of_defects_that_are_gone_are_removed(tmp_path: Path, reports: dict[str, Any]) -> None:
    write_pages(tmp_path, reports["range"])
    (tmp_path / "notes.txt").write_text("kept")
    write_pages(tmp_path, reports["nothing"])
    assert {path.name for path in tmp_path.iterdir()} == {
        "index.md",
        "missing.md",
        "conventions.md",
        "notes.txt",
    }


def test_pages_are_the_same_every_time(tmp_path: Path, reports: dict[str, Any]) -> None:
    first = {path.name: path.read_bytes() for path in write_pages(tmp_path / "a", reports["range"])}
    second = {path.name: path.read_bytes() for path in write_pages(tmp_path / "b", reports["range"])}
    assert first == second


def test_the_picture_shows_each_run_at_its_place() -> None:
    band = {"low": -2, "high": 1, "reached": [-4, 3], "strip": [[-4, -3, "nan"], [-2, 1, "match"], [2, 3, "wrong"]]}
    picture = strip({"float16": band})
    found = re.findall(r'<rect x="([\d.]+)" y="26" width="([\d.]+)" height="16" fill="(#\w+)"/>', picture)
    assert [(float(x), float(w), colour) for x, w, colour in found] == [
        (74.0, 180.0, COLOURS["nan"]),
        (254.0, 360.0, COLOURS["right"]),
        (614.0, 180.0, COLOURS["another wrong number"]),
    ]
    # Between exponents that were asked, a run reaches up to the next.
    sparse = strip({"float16": band | {"strip": [[-4, -4, "nan"], [0, 3, "match"]]}})
    assert f'width="360.0" height="16" fill="{COLOURS["nan"]}"' in sparse


def test_tables_and_indices() -> None:
    assert table(["a"], [["x|y"]]) == "| a |\n| --- |\n| x\\|y |"
    entry = {
        "id": "mx.a-vjp-x-range",
        "operation": "mx.a",
        "mode": ["vjp"],
        "argument": "x",
        "class": "range",
        "formats": ["float32", "float16"],
        "safe_band": {"float32": {"low": -3, "high": 4}},
    }
    other = entry | {"id": "mx.a-forward-value", "mode": ["forward"], "argument": "", "class": "value"}
    line = "| `mx.a` | vjp of x: [range](pages/mx.a-vjp-x-range.md); value: [value](pages/mx.a-forward-value.md) |"
    assert index([entry, other], "pages").splitlines()[2:] == [line]
    assert index([], "pages") == "None."
    line = "| [`mx.a`](mx.a-vjp-x-range.md) | vjp | x | range | float32, float16 | 2^-3 and 2^4 (float32) |"
    assert index_page([entry], PLACE).splitlines()[-1] == line
    lacks = [entry | {"mode": ["jvp"], "argument": None}, entry | {"mode": ["vjp"], "argument": "y"}]
    assert missing_index(lacks).splitlines()[-1] == "| `mx.a` | jvp, vjp (y) |"
