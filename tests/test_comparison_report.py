from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rows_by_hand import row, table

from audit.errors import AuditError, UnknownName
from audit.files import write_json
from audit.report.comparison_report import by_implementation, compare
from audit.report.json_report import Series, json_report
from audit.report.sides import Side, from_rows, read_sides
from audit.store import Store

BEFORE = {9: "vanished", 2: "nan", 7: "match", 4: "wrong", 5: "undefined", 6: "undefined"}
AFTER = {9: "match", 2: "nan", 7: "sign", 4: "not_run", 5: "undefined", 6: "undefined"}
PLACE: dict[str, str] = dict.fromkeys(("mlx", "wheel", "device", "platform", "python", "compiler", "commit"), "none")


def side(verdicts: Mapping[int, str], implementation: str = "mlx", **changes: Any) -> Side:
    entries = [row(i, verdict=verdict, implementation=implementation, **changes) for i, verdict in verdicts.items()]
    return from_rows(table(entries), implementation, "run")


def written(path: Path, verdicts: Mapping[int, str], implementation: str = "mlx") -> str:
    entries = [row(i, verdict=verdict, implementation=implementation) for i, verdict in verdicts.items()]
    write_json(path, json_report(table(entries), implementation, Series("s", "1"), PLACE))
    return str(path)


def test_rows_are_joined_by_id() -> None:
    shuffled = dict(sorted(AFTER.items()))
    found = compare(side(BEFORE), side(shuffled, "mlx+divide"))
    assert found.fixed.tolist() == [9]
    assert found.still_wrong.tolist() == [2]
    assert found.newly_wrong.tolist() == [7]
    assert found.not_judged.tolist() == [4]
    assert found.undefined_differs.tolist() == []
    assert (found.compared, found.exit_status) == (6, 1)


def test_ids_come_in_plan_order() -> None:
    every = {9: "nan", 2: "nan", 7: "nan", 4: "nan"}
    assert compare(side(every), side(every)).still_wrong.tolist() == [9, 2, 7, 4]


def test_undefined_values_that_differ_are_listed() -> None:
    other = {9: "match", 2: "nan", 7: "match", 4: "wrong", 5: "undefined", 6: "undefined"}
    found = compare(side(BEFORE), side(other, got=2.0))
    assert found.undefined_differs.tolist() == [5, 6]
    assert compare(side(BEFORE), side(other, got=None)).undefined_differs.tolist() == [5, 6]
    assert found.exit_status == 0


def test_unequal_plans_are_refused_or_intersected() -> None:
    shorter = {9: "vanished", 2: "match", 8: "nan"}
    with pytest.raises(AuditError, match="unequal plans .6 and 3 comparisons.*--intersect"):
        compare(side(BEFORE), side(shorter))
    found = compare(side(BEFORE), side(shorter), intersect=True)
    assert found.compared == 2
    assert found.only_before.tolist() == [7, 4, 5, 6]
    assert found.only_after.tolist() == [8]
    assert found.still_wrong.tolist() == [9]
    assert found.newly_wrong.tolist() == []


def test_json_reports_compare_their_mismatches(tmp_path: Path) -> None:
    (before,) = read_sides(written(tmp_path / "a.json", BEFORE))
    (after,) = read_sides(written(tmp_path / "b.json", AFTER, "mlx+divide"))
    found = compare(before, after)
    assert (found.fixed.tolist(), found.still_wrong.tolist()) == ([9, 4], [2])
    assert found.newly_wrong.tolist() == [7]
    assert not found.complete
    assert "?" in found.lines()[-1]


def test_a_report_compares_with_the_rows_it_came_from(tmp_path: Path) -> None:
    (before,) = read_sides(written(tmp_path / "a.json", BEFORE))
    assert compare(before, side(BEFORE)).still_wrong.tolist() == [9, 2, 4]


def test_json_reports_of_unequal_plans_cannot_be_intersected(tmp_path: Path) -> None:
    (before,) = read_sides(written(tmp_path / "a.json", BEFORE))
    (after,) = read_sides(written(tmp_path / "b.json", {1: "match"}))
    with pytest.raises(AuditError, match="unequal plans"):
        compare(before, after)
    with pytest.raises(AuditError, match="Name the run folders"):
        compare(before, after, intersect=True)


def test_a_point_that_comes_twice_counts_once_and_the_wrong_one_counts() -> None:
    entries = table([row(5, verdict="match"), row(3), row(5), row(3)])
    before = from_rows(entries, "mlx", "run")
    after = side({5: "match", 3: "match"})
    found = compare(before, after)
    assert (found.compared, found.fixed.tolist()) == (2, [5, 3])
    assert compare(after, before).newly_wrong.tolist() == [5, 3]


def test_counts_and_ids_as_json() -> None:
    content = compare(side(BEFORE), side(AFTER)).to_json()
    assert content["counts"]["fixed"] == 1
    assert content["ids"]["newly_wrong"] == ["0000000000000007"]
    assert content["complete"] is True


def test_families_take_part(tmp_path: Path) -> None:
    store = Store(tmp_path)
    entries = [row(1, verdict="match"), row(2, series="families")]
    store.write("a", table([*entries, *(entry | {"implementation": "python"} for entry in entries)]))
    store.seal(["a"])
    sides = read_sides(str(tmp_path))
    assert [side.implementation for side in sides] == ["mlx", "python"]
    assert compare(*sides).still_wrong.tolist() == [2]
    (only,) = read_sides(f"{tmp_path}@python")
    assert only.implementation == "python"
    with pytest.raises(UnknownName, match="These exist: mlx, python"):
        read_sides(f"{tmp_path}@metal")


def test_sides_are_paired_by_implementation() -> None:
    a, b, c = (side({1: "match"}, name) for name in ("a", "b", "c"))
    assert by_implementation([a, b], [c, b]) == [(b, b)]
    assert by_implementation([a], [c]) == [(a, c)]
    with pytest.raises(AuditError, match="no implementation in common: a, b and c"):
        by_implementation([a, b], [c])


def test_ids_above_the_signed_range(tmp_path: Path) -> None:
    big = 2**64 - 1
    (read,) = read_sides(written(tmp_path / "a.json", {big: "nan"}))
    assert read.mismatches.dtype == np.uint64
    assert read.mismatches.tolist() == [big]
