"""Coverage counts what was asked of each name, in each format, in vjp and in jvp."""

from __future__ import annotations

from dataclasses import replace

from rows_by_hand import row, table

from audit.catalogue import LISTS, Lists
from audit.operation import Operation
from audit.report.coverage import Asked, count_rows, coverage, coverage_lines

NOTHING = Lists({}, {}, {}, {})


def made(
    name: str, formats: tuple[str, ...] = ("float32",), *, also: tuple[str, ...] = (), orders: int = 3
) -> Operation:
    return Operation(name, ("a",), lambda a: a, lambda m, a: m.sin(a), formats=formats, also=also, orders=orders)


SINE = made("mx.sin", ("float32", "float16"))
TOTAL = made("mx.sum", also=("mx.array.sum",))
RULE = made("optim.Lion", orders=0)


def test_an_operation_speaks_for_all_its_names() -> None:
    found = coverage(Asked({("mx.sum", "float32", "vjp"): 3}), [TOTAL], NOTHING)
    assert found.asked["mx.array.sum", "float32", "vjp"] == 3
    assert found.gaps("float32", "vjp") == []
    assert found.gaps("float32", "jvp") == ["mx.array.sum", "mx.sum"]


def test_a_format_that_is_declared_and_not_asked_is_a_gap() -> None:
    asked = Asked({("mx.sin", "float32", mode): 5 for mode in ("vjp", "jvp")})
    lines = coverage_lines(replace(coverage(asked, [SINE], NOTHING), missing=()))
    assert lines[1].split() == ["float32", "1", "100", "%", "(5)", "100", "%", "(5)"]
    assert lines[2].split() == ["float16", "1", "0", "%", "(0)", "0", "%", "(0)"]
    assert "not asked in float16 vjp: mx.sin" in lines


def test_what_has_no_derivative_is_named_and_is_no_gap() -> None:
    found = coverage(Asked(), [RULE], NOTHING)
    assert "audited in their values alone: optim.Lion" in coverage_lines(found)
    assert found.formats == ()


def test_names_in_no_case_are_named() -> None:
    found = coverage(Asked({("mx.sin", "float32", mode): 1 for mode in ("vjp", "jvp")}), [SINE], NOTHING)
    lines = coverage_lines(found)
    assert "mx.cos" in lines[-1]
    assert lines[1].split()[:3] == ["float32", str(1 + len(found.missing)), "0"]
    assert not found.complete


def test_rows_are_counted_by_operation_and_only_answers_count() -> None:
    rows = table(
        [
            row(1, case="sum", function="mx.sum(axis=0)", mode="vjp", verdict="match"),
            row(2, case="sum", function="mx.sum", mode="vjp", verdict="unimplemented"),
            row(3, case="sum", function="mx.sum", mode="jvp", verdict="not_run"),
            row(4, case="sum", function="mx.sum", mode="forward", verdict="match"),
            row(5, case="divide", function="quotient", mode="jvp", verdict="outside"),
            row(6, case="divide", function="quotient", mode="vjp", verdict="vanished"),
        ]
    )
    assert count_rows(rows) == {("mx.sum", "float32", "vjp"): 2, ("mx.divide", "float32", "vjp"): 1}


def test_a_file_with_a_case_is_asked_in_the_formats_of_its_case() -> None:
    found = coverage(Asked({("mx.divide", "float32", "vjp"): 1}), [], LISTS)
    assert "mx.divide" not in found.gaps("float32", "vjp")
    assert found.gaps("float64", "vjp") == ["mx.divide"]


def test_a_share_is_rounded_down() -> None:
    names = ("mx.sin", "mx.cos", "mx.tan")
    asked = Asked({(name, "float32", "vjp"): 1 for name in names[1:]})
    found = replace(coverage(asked, [made(name) for name in names], NOTHING), missing=())
    assert coverage_lines(found)[1].split()[2] == "66"
