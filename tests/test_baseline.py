"""Baselines: what is new, gone, known and not asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from defect_examples import EXAMPLES, found_in
from test_defect_pages import PLACE

from audit.errors import AuditError
from audit.files import write_json
from audit.run.baseline import Against, against, name_of, newest, read_baseline, to_baseline, write_baseline

CATALOGUE = {"mx.a", "mx.b"}


def entry(**changes: Any) -> dict[str, Any]:
    made = {
        "id": "mx.a-vjp-jvp-x-range",
        "operation": "mx.a",
        "mode": ["vjp", "jvp"],
        "argument": "x",
        "class": "range",
        "formats": ["float32", "float16"],
        "sentence": "It is wrong.",
    }
    return made | changes


def held(
    found: list[dict[str, Any]], known: list[dict[str, Any]], asked: dict[str, list[str]] | None = None
) -> Against:
    report = {"defects": found, "missing": [], "operations": asked or {"mx.a": ["float32", "float16"]}}
    return against(report, {"defects": known, "missing": []}, CATALOGUE)


def test_what_is_known_is_not_new() -> None:
    found = held([entry()], [entry()])
    assert (found.new, found.gone, found.known, found.skipped) == ([], [], ["mx.a-vjp-jvp-x-range"], 0)
    assert found.exit_status == 0


@pytest.mark.parametrize(
    "changes",
    [{"argument": "y"}, {"class": "poison"}, {"operation": "mx.b"}, {"mode": ["forward"]}, {"mode": ["second"]}],
    ids=str,
)
def test_another_cause_is_new(changes: dict[str, Any]) -> None:
    found = held([entry(id="other", **changes)], [entry()], {"mx.a": ["float32"], "mx.b": ["float32"]})
    assert found.new == ["other: It is wrong."]
    assert found.gone == ["mx.a-vjp-jvp-x-range"]
    assert found.exit_status == 1


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"formats": ["float32", "float64"]}, "float64"),
        ({"mode": ["vjp"]}, ""),
        ({"formats": ["float16"]}, ""),
    ],
    ids=str,
)
def test_a_known_cause_is_new_only_where_it_was_not_known(changes: dict[str, Any], told: str) -> None:
    found = held([entry(id="x", **changes)], [entry()])
    assert found.new == ([f"x: known, but not in {told}"] if told else [])
    assert found.known == ["mx.a-vjp-jvp-x-range"]
    narrow = held([entry()], [entry(mode=["vjp"])])
    assert narrow.new == ["mx.a-vjp-jvp-x-range: known, but not in jvp"]


def test_what_shows_in_compositions_only_is_known_by_any_argument() -> None:
    assert held([entry(argument=None)], [entry()]).new == []
    assert held([entry(argument="y")], [entry(argument=None)]).new


def test_a_missing_rule_is_one_rule() -> None:
    lack = entry(mode=["jvp"], argument=None, **{"class": "missing"})
    assert held([lack], [lack]).new == []
    assert held([lack | {"mode": ["vjp"]}], [lack]).new
    assert held([lack | {"mode": ["vjp"]}], [lack]).gone == [lack["id"]]


def test_what_was_not_asked_is_neither_gone_nor_new() -> None:
    for asked in ({"mx.b": ["float32"]}, {"mx.a": ["float64"]}):
        found = held([], [entry()], asked)
        assert (found.gone, found.known, found.skipped, found.exit_status) == ([], [], 1, 0)
    assert held([], [entry()], {"mx.a": ["float16"]}).gone == ["mx.a-vjp-jvp-x-range"]


def test_an_entry_that_nothing_can_produce_is_an_error() -> None:
    with pytest.raises(AuditError, match="no case can produce: mx.c-vjp-x-range"):
        held([], [entry(id="mx.c-vjp-x-range", operation="mx.c")])


def test_gone_is_listed_and_no_failure() -> None:
    found = held([], [entry()])
    assert found.exit_status == 0
    assert found.lines() == ["0 known defects found, 0 new, 1 gone", "gone: mx.a-vjp-jvp-x-range"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_run_against_its_own_baseline_has_nothing_new(name: str, tmp_path: Path) -> None:
    report = {**found_in(list(EXAMPLES[name].batches())).to_json(), "environment": PLACE}
    write_baseline(tmp_path / "a.json", report)
    catalogue = set(report["operations"])
    found = against(report, read_baseline(tmp_path / "a.json"), catalogue)
    assert (found.new, found.gone, found.skipped) == ([], [], 0)
    assert len(found.known) == len(report["defects"]) + len(report["missing"])


def test_what_is_not_confirmed_makes_no_baseline() -> None:
    report = {**found_in(list(EXAMPLES["range"].batches())).to_json(), "environment": PLACE}
    band = to_baseline(report)["defects"][0]["safe_band"]["float32"]
    assert (band["low"], band["high"]) == (-74, 63)
    with pytest.raises(AuditError, match="in doubt: mx.a"):
        to_baseline(report | {"unconfirmed": [{"id": "mx.a", "reason": "", "counts": {}}]})
    with pytest.raises(AuditError, match="nothing of defects"):
        to_baseline(report | {"operations": {}})


def test_foreign_baselines_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="no file"):
        read_baseline(tmp_path / "absent.json")
    write_json(tmp_path / "a.json", {"schema": "other"})
    with pytest.raises(AuditError, match="no baseline"):
        read_baseline(tmp_path / "a.json")
    write_json(tmp_path / "a.json", {"schema": "gradaudit/baseline/1", "defects": [{"id": "x"}], "missing": []})
    with pytest.raises(AuditError, match="entry 0 of defects lacks operation"):
        read_baseline(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"defects": None, "missing": []}, "has no list of defects"),
        ({"defects": []}, "has no list of missing"),
        ({"defects": [None], "missing": []}, "entry 0 of defects is NoneType, not an object"),
        ({"defects": [entry(operation=["mx.a"])], "missing": []}, "has no text as operation"),
        ({"defects": [entry(), entry(**{"class": "bogus"})], "missing": []}, "entry 1 of defects is of class 'bogus'"),
        ({"defects": [], "missing": [entry(mode=["bogus"])]}, "entry 0 of missing has mode"),
        ({"defects": [entry(formats=["float99"])], "missing": []}, "a list of float32, float16"),
        ({"defects": [entry(formats=None)], "missing": []}, "has formats None"),
    ],
    ids=str,
)
def test_a_damaged_baseline_says_where(content: dict[str, Any], said: str, tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"schema": "gradaudit/baseline/1"} | content)
    with pytest.raises(AuditError, match=said):
        read_baseline(tmp_path / "a.json")


def test_the_newest_version_is_that_of_the_pages(tmp_path: Path) -> None:
    assert newest(tmp_path) is None
    for version, device in (("0.9.10", "cpu"), ("0.32.4", "gpu"), ("0.32.4", "cpu"), ("0.32.2", "cpu")):
        (tmp_path / name_of(version, device)).write_text("{}")
    assert newest(tmp_path) == tmp_path / "0.32.4-cpu.json"


def test_a_sample_is_new_only_where_nothing_is_known() -> None:
    def sampled(**changes: Any) -> Against:
        report = {"defects": [entry(id="other", **changes)], "missing": [], "operations": {"mx.a": ["float32"]}}
        return against(report, {"defects": [entry()], "missing": []}, CATALOGUE, sample=True)

    for changes in ({"class": "value"}, {"argument": "y"}, {"formats": ["float64"]}, {"mode": ["second"]}):
        assert (sampled(**changes).new, sampled(**changes).exit_status) == ([], 0)
    for changes in ({"operation": "mx.b"}, {"mode": ["forward"]}, {"mode": ["vmap"]}, {"class": "missing"}):
        found = sampled(**changes)
        assert found.new == ["other: It is wrong."]
        assert (found.gone, found.skipped) == ([], 1)
