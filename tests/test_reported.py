"""What was reported in public is judged so, and is in the committed baseline; what was repaired since is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reported import FAILING, INPUTS, PASSING, Due, Input

from audit.case import Batch, Mode
from audit.defects.again import Asker, Place, is_wrong
from audit.defects.classes import Class
from audit.defects.defect import RULES
from audit.defects.subjects import Subject, registered
from audit.formats import Format, lookup
from audit.patches.implementations import IMPLEMENTATIONS
from audit.reference import References
from audit.run.baseline import read_baseline

BASELINE = Path(__file__).parents[1] / "reports" / "baselines" / "0.32.4-cpu.json"
WRITTEN = pytest.mark.skipif(not BASELINE.exists(), reason="the baseline is written by a whole run")


SUBJECTS = registered()
ASKER = Asker(IMPLEMENTATIONS["mlx"], References(opinions=1))


def place(asked: Input, subject: Subject) -> Place:
    fmt = lookup(asked.format)
    kind = complex if fmt.parts == 2 else float
    primals = tuple(_numbers(x, kind, fmt) for x in asked.primals)
    weights = tuple(_numbers(x, kind, fmt) for x in asked.weights)
    function = subject.function
    if any(primal.ndim > 1 for primal in primals):
        function = replace(function, elementwise=False)
    everything = tuple(range(len(primals)))
    mode = Mode(asked.mode, () if asked.mode == "forward" else everything)  # type: ignore[arg-type]
    result = lookup(asked.result) if asked.result else None
    batch = Batch("reported", function, fmt, mode, primals, weights, subject.tolerance, result=result)
    return Place(subject, batch, asked.argument, asked.element)


def _numbers(x: Any, kind: type, fmt: Format) -> Any:
    array = np.array([x], kind)
    return array if kind is complex else fmt.round(array)


def matching(due: Due) -> Iterator[Mapping[str, Any]]:
    known = read_baseline(BASELINE)
    for entry in (*known["defects"], *known["missing"]):
        if (
            entry["operation"] in due.operations
            and entry["class"] in due.classes
            and set(entry["mode"]) & set(due.rules)
            and (not due.formats or set(entry["formats"]) & set(due.formats))
        ):
            yield entry


@pytest.mark.parametrize("asked", INPUTS, ids=str)
def test_a_reported_input_is_judged_as_it_was_reported(asked: Input) -> None:
    found = [subject for (_, function), subject in SUBJECTS.items() if function == asked.function]
    (subject,) = found
    assert asked.argument in ("output", *subject.function.arguments)
    row = ASKER.row(place(asked, subject))
    assert row is not None
    assert is_wrong(row) == asked.wrong, {name: row[name] for name in ("verdict", "right", "error", "message")}


@WRITTEN
@pytest.mark.parametrize(("name", "due"), [(name, due) for name, dues in FAILING.items() for due in dues])
def test_a_reported_fault_is_a_defect_or_a_missing_rule(name: str, due: Due) -> None:
    assert list(matching(due)), name


@WRITTEN
@pytest.mark.parametrize(("name", "due"), [(name, due) for name, dues in PASSING.items() for due in dues])
def test_a_repaired_fault_is_not(name: str, due: Due) -> None:
    assert [entry["id"] for entry in matching(due)] == [], name


def test_the_table_names_classes_and_rules_that_exist() -> None:
    assert len(FAILING) == 26
    for dues in (*FAILING.values(), *PASSING.values()):
        for due in dues:
            assert set(due.classes) <= set(Class)
            assert set(due.rules) <= set(RULES)
