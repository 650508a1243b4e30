from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from rows_by_hand import row, table

from audit.errors import AuditError
from audit.formats import FLOAT16, FLOAT32
from audit.report.counts import counts, counts_by
from audit.report.environment import environment
from audit.report.folder import Remarks, write_reports
from audit.report.json_report import Series, json_report, read_report
from audit.report.manifest import write_manifest
from audit.report.markdown import ProbeRow, summary
from audit.report.record import Enclosure
from audit.report.verify import verify
from audit.store import Store

SCHEMA = json.loads((Path(__file__).parents[1] / "reports" / "schema.json").read_text())
SERIES = Series("divide-1328", "1")
PLACE = environment("cpu")


def rows() -> pa.Table:
    """Two implementations of four comparisons of the series and two of a family; stock fails at two and one."""
    stock = [
        row(1),
        row(2, verdict="match", got=-(2.0**-80), error=0.0),
        row(3, format="complex64", group="complex", verdict="nan", error=None, witness=None, absolute_mismatch=True)
        | {"primals": [0, 0, 0, 0], "weights": [0, 0], "got_imag": 0, "right_imag": 1.0, "residual_imag": 0.1}
        | {"radius_imag": 1e-9},
        row(4, format="float16", verdict="undefined", right=None, error=None, primals=[1.0, 0.0]),
        row(5, series="families", group="common scale", verdict="wrong"),
        row(6, series="families", group="common scale", verdict="outside"),
    ]
    patched = [entry | {"implementation": "mlx+divide"} for entry in stock]
    for entry in patched:
        if entry["verdict"] in ("vanished", "nan", "wrong"):
            entry["verdict"] = "match"
    return table([*stock, *patched])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    store = Store(tmp_path / "run")
    store.write("all", rows())
    store.seal(["all"])
    write_reports(store, SERIES, "mlx", "mlx+divide", Remarks(PLACE))
    return store.folder


def test_counts_add_up() -> None:
    named = json_report(rows(), "mlx", SERIES, PLACE)
    for part in (named["totals"], *named["by_format"].values(), *named["by_group"].values()):
        assert sum(part["verdicts"].values()) == part["comparisons"]
    assert named["totals"]["comparisons"] == named["series"]["count"] == 4
    assert named["totals"]["mismatches"] == len(named["rows"]) == 2
    assert named["totals"]["absolute_mismatches"] == 1
    assert list(named["by_format"]) == ["float32", "complex64", "float16"]
    assert named["by_group"]["complex"]["mismatches"] == 1
    assert named["families"]["by_group"]["common scale"]["comparisons"] == 2
    assert named["families"]["totals"]["mismatches"] == 1


def test_counts_of_nothing() -> None:
    empty = rows().slice(0, 0)
    assert counts(empty)["comparisons"] == 0
    assert counts_by(empty, "format") == {}


def test_reports_keep_to_the_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for name in ("mlx", "mlx+divide"):
        jsonschema.validate(json_report(rows(), name, SERIES, PLACE), SCHEMA)


def test_every_field_of_the_schema_is_described() -> None:
    def walk(node: Any, path: str) -> None:
        if isinstance(node, dict):
            for name, child in node.get("properties", {}).items():
                assert "description" in child or path.endswith("verdicts"), f"{path}/{name}"
            for name, child in node.items():
                walk(child, f"{path}/{name}")

    walk(SCHEMA, "")


def test_the_schema_refuses_what_the_report_never_has() -> None:
    good = json_report(rows(), "mlx", SERIES, PLACE)
    for path, value in [
        (("rows", 0, "verdict"), "bad"),
        (("rows", 0, "got"), [0.5]),
        (("rows", 0, "id"), "12"),
        (("totals", "mismatches"), -1),
        (("series", "hash"), ""),
        (("extra",), 1),
    ]:
        changed: Any = copy.deepcopy(good)
        node = changed
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = value
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(changed, SCHEMA)


def test_rows_are_exact() -> None:
    first, second = json_report(rows(), "mlx", SERIES, PLACE)["rows"]
    assert first["id"] == "0000000000000001"
    assert first["primals"] == {"a": ["0x1p+80"], "b": ["0x1p+80"]}
    assert first["weights"] == [["0x1p+0"]]
    assert first["got"] == ["-0x0p+0"]
    assert first["right"] == [
        {"value": "-0x1p-80", "residual": 0.0, "radius": 0.0, "decimal": "-8.271806125530276748714087e-25"}
    ]
    assert second["right"][1]["value"] == "0x1p+0"
    assert second["right"][1]["decimal"].startswith("1.0000000119209289550781")
    assert second["error_ulps"] is None


@pytest.mark.parametrize(
    ("enclosure", "text"),
    [
        (Enclosure(-1.0, 0.0, 0.0, FLOAT32), "-1"),
        (Enclosure(1.0, 0.5, 0.25, FLOAT16), "1.00048828125 ± 0.00025"),
        (Enclosure(0.0, 0.25, 0.0, FLOAT16), "1.490116119384765625e-8"),
        (Enclosure(float("-inf"), 0.0, 0.0, FLOAT16), "beyond 65504 in magnitude, negative"),
        (Enclosure(0.0, 0.0, 0.0, FLOAT16), "0"),
    ],
)
def test_enclosures_in_decimal(enclosure: Enclosure, text: str) -> None:
    assert enclosure.decimal() == text


def test_unknown_implementation_lists_those_there_are() -> None:
    with pytest.raises(AuditError, match="no rows of implementation 'metal'. It has those of: mlx, mlx\\+divide"):
        json_report(rows(), "metal", SERIES, PLACE)


def test_two_writings_are_identical(run: Path, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    other.write("all", rows())
    other.seal(["all"])
    write_reports(other, SERIES, "mlx", "mlx+divide", Remarks(PLACE))
    for name in ("before.json", "after.json", "comparison.json", "summary.md", "rows.parquet", "manifest.json"):
        assert (run / name).read_bytes() == (other.folder / name).read_bytes(), name


def test_reports_survive_the_disk(run: Path) -> None:
    assert read_report(run / "before.json") == json_report(rows(), "mlx", SERIES, PLACE)


@pytest.mark.parametrize("text", ["[]", '{"schema": "gradaudit/report/0"}', '{"schema": "gradaudit/report/1"}'])
def test_foreign_reports_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(AuditError, match="a.json"):
        read_report(tmp_path / "a.json")


def test_a_fresh_run_verifies(run: Path) -> None:
    assert verify(run) == []


@pytest.mark.parametrize("name", ["before.json", "after.json", "comparison.json", "summary.md", "rows.parquet"])
def test_a_changed_byte_is_found(run: Path, name: str) -> None:
    content = bytearray((run / name).read_bytes())
    content[len(content) // 2] ^= 1
    (run / name).write_bytes(content)
    (problem,) = verify(run)
    assert problem.startswith(f"{run / name} was changed")


def test_a_changed_manifest_is_found(run: Path) -> None:
    path = run / "manifest.json"
    path.write_text(path.read_text().replace('"bytes": ', '"bytes": 1', 1))
    with pytest.raises(AuditError, match="manifest.json was changed"):
        verify(run)


def test_missing_cut_and_foreign_files_are_found(run: Path) -> None:
    (run / "after.json").unlink()
    (run / "before.json").write_text((run / "before.json").read_text()[:-5])
    (run / "notes.txt").write_text("")
    missing, cut, foreign = sorted(verify(run))
    assert "after.json is missing" in missing
    assert "before.json has" in cut
    assert "notes.txt is not part of the run" in foreign


def test_counts_that_do_not_follow_from_the_rows_are_found(run: Path) -> None:
    report = json.loads((run / "before.json").read_text())
    report["totals"]["mismatches"] = 0
    (run / "before.json").write_text(json.dumps(report))
    (run / "manifest.json").unlink()
    write_manifest(run, None)
    (problem,) = verify(run)
    assert problem.startswith(f"{run / 'before.json'}: totals do not follow from rows.parquet")


def test_a_run_without_manifest_is_not_finished(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="unfinished"):
        verify(tmp_path)
    with pytest.raises(AuditError, match="no folder"):
        verify(tmp_path / "absent")


def test_the_summary_has_both_counts_beside_the_original() -> None:
    reports = [json_report(rows(), name, SERIES, PLACE) for name in ("mlx", "mlx+divide")]
    probe = [ProbeRow("float32", "mlx", "2^80", ("-0", "nan", "nan"), "-1.00024604797")]
    text = summary(*reports, comparison=["2 fixed"], probe=probe, notes=["complex64 has no families."])
    for line in (
        "| float32 | 2 | 1 | 0 | 182 | 0 | 0 | 0 |",
        "| all | 4 | 2 | 1 | 296 | 0 | 1 | 0 |",
        "| grid | 3 | 1 | 0 |",
        "| common scale | 2 | 1 | 0 |",
        "| vanished | 1 | 0 |",
        "| float32 | mlx | 2^80 | -0 | nan | nan | -1.00024604797 |",
        "2 fixed",
        "- complex64 has no families.",
    ):
        assert line in text.splitlines(), text


def test_the_summary_of_one_implementation() -> None:
    text = summary(json_report(rows(), "mlx", SERIES, PLACE))
    assert "| float32 | 2 | 1 | 0 | 182 |" in text.splitlines()
    assert "after" not in text
