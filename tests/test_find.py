from __future__ import annotations

from pathlib import Path

import pytest
from rows_by_hand import row, table

from audit.errors import AuditError
from audit.files import write_json
from audit.report.find import find_row
from audit.report.json_report import Series, json_report
from audit.store import Store

ENTRIES = [
    row(0x1111111111111111, verdict="match"),
    row(0x1111111122222222, format="float64", primals=[-(1 + 2.0**-52), 3.0], error=float("inf")),
    row(0xFFFFFFFFFFFFFFFF, format="complex64", group="complex", primals=[1, 2, 3, 4], weights=[5, 6])
    | {"got_imag": 7, "right_imag": 1.0, "residual_imag": 0.25, "radius_imag": 0.125},
    row(0x0000000000000ABC, got=None, right=None, residual=None, radius=None, verdict="raises", message="no"),
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    store = Store(tmp_path)
    others = [entry | {"implementation": "python", "verdict": "wrong"} for entry in ENTRIES]
    store.write("all", table([*ENTRIES, *others]))
    store.seal(["all"])
    return tmp_path


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "before.json"
    none = dict.fromkeys(["mlx"], "none")
    write_json(path, json_report(table(ENTRIES), "mlx", Series("divide-1328", "1"), none))
    return path


def test_a_beginning_is_enough(run: Path) -> None:
    assert find_row(run, "ffff")["id"] == 2**64 - 1
    assert find_row(run, "0000000000000abc", "mlx")["message"] == "no"


def test_the_wrong_implementation_comes_first(run: Path) -> None:
    assert find_row(run, "1111111111111111")["implementation"] == "python"
    assert find_row(run, "1111111111111111", "mlx")["verdict"] == "match"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("1111", "1111 begins 2 rows .*: 1111111111111111, 1111111122222222"),
        ("abcd", "has no row abcd"),
        ("grid", "'grid' is no row: an id has 16 hexadecimal digits"),
        ("", "is no row"),
    ],
)
def test_what_cannot_be_found_is_said(run: Path, name: str, message: str) -> None:
    with pytest.raises(AuditError, match=message):
        find_row(run, name)


def test_an_absent_implementation_is_named(run: Path) -> None:
    with pytest.raises(AuditError, match="of implementation 'metal'"):
        find_row(run, "ffff", "metal")


@pytest.mark.parametrize("entry", ENTRIES[1:], ids=lambda entry: entry["format"])
def test_a_json_report_gives_back_the_row(report: Path, entry: dict) -> None:
    assert find_row(report, f"{entry['id']:016x}") == entry


def test_a_json_report_says_that_it_has_mismatches_only(report: Path) -> None:
    with pytest.raises(AuditError, match="mismatches only"):
        find_row(report, "1111111111111111")
