"""Division: the 1328 series on every rule, and the scale families by Hypothesis."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.case import Implementation
from audit.comparison import Question, compare
from audit.families import Family
from audit.formats import REAL_FORMATS, Format, lookup
from audit.identity import Origin
from audit.patches.implementations import IMPLEMENTATIONS
from audit.reference import References
from audit.report.show import show
from audit.rows import row_name
from audit.run import Selection, collect, plan
from audit.verdict import MISMATCHES
from cases.divide import CASE, TRAPS
from cases.divide_families import FAMILIES

REPORTS = Path(__file__).parent.parent / "reports"

# Part 5 of the plan: comparisons by group, in each real format.
COUNTS = {"grid": 189, "invariance": 12, "traps": 28, "broadcast": 33, "strided matrix": 18}
WIDE_COUNTS = {"1/t": 54, "R and I": 18, "mixed Hessian": 24}
GROUPS = (*COUNTS, *WIDE_COUNTS, "complex")
RIGHT_RULES = ("mlx+divide", "mlx+divide-report", "python")


@cache
def series_rows(name: str) -> list[dict]:
    """The rows of the series for one implementation."""
    return list(series_table(name).to_pylist())


@cache
def series_table(name: str) -> pa.Table:
    """The same as a table; skipped where the implementation cannot run, with its reason."""
    reason = IMPLEMENTATIONS[name].unavailable()
    if reason:
        pytest.skip(reason)
    table, outcome = collect(plan(Selection(implementations=(name,), series_only=True)), References())
    assert outcome.contradictions == []
    return table


def mismatches(rows: list[dict]) -> list[dict]:
    return [row for row in rows if row["verdict"] in MISMATCHES]


def told(row: dict) -> str:
    text = next(f.text for f in CASE.functions if f.name == row["function"])
    return show(row, text)


def test_the_series_has_1328_comparisons_in_the_planned_groups() -> None:
    found = Counter((row["format"], row["group"]) for row in series_rows("mlx"))
    due = {(fmt.name, group): n for fmt in REAL_FORMATS for group, n in COUNTS.items()}
    due |= {(name, group): n for name in ("float32", "float64") for group, n in WIDE_COUNTS.items()}
    due["complex64", "complex"] = 16
    assert found == due
    assert sum(found.values()) == 1328
    assert len({row["id"] for row in series_rows("mlx")}) == 1328


def test_the_series_has_no_row_without_a_right_value() -> None:
    excused = {"not_run", "inconclusive", "undefined", "outside", "allowed"}
    assert [row for row in series_rows("mlx") if row["verdict"] in excused] == []


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", RIGHT_RULES)
def test_a_repaired_rule_is_right(name: str, group: str) -> None:
    wrong = mismatches([row for row in series_rows(name) if row["group"] == group])
    assert not wrong, told(wrong[0])


@pytest.mark.parametrize("group", GROUPS)
def test_stock_is_wrong_exactly_where_the_committed_report_says(group: str) -> None:
    committed = json.loads((REPORTS / "divide-before.json").read_text())
    listed = {row["id"] for row in committed["rows"] if row["group"] == group}
    rows = {row_name(row["id"]): row for row in series_rows("mlx") if row["group"] == group}
    found = {name for name, row in rows.items() if row["verdict"] in MISMATCHES}
    new = "\n".join(told(rows[name]) for name in sorted(found - listed)[:3])
    assert found == listed, (
        f"{len(found - listed)} new mismatches, the first:\n{new}\n"
        f"{len(listed - found)} listed ones are repaired: {sorted(listed - found)[:10]}"
    )


@pytest.mark.parametrize("fmt", REAL_FORMATS, ids=lambda f: f.name)
def test_every_trap_breaks_the_order_it_is_for(fmt: Format) -> None:
    """Each trap's own claim, in exact arithmetic of the exponents."""
    low, high = fmt.esub - 1, fmt.emax
    for trap in TRAPS:
        a, b, g = trap.exponents[fmt.name]
        assert all(fmt.emin <= e <= fmt.emax for e in (a, b, g))
        assert fmt.esub <= a + g - 2 * b <= fmt.emax
        steps = {"a/b": a - b, "g/b": g - b, "g*a": g + a, "a*g": g + a, "b*b": 2 * b}
        named = [step for step in steps if step in trap.breaks]
        assert named
        for step in named:
            over = "overflow" in trap.breaks
            assert steps[step] > high if over else steps[step] <= low, (trap.breaks, step)


def test_the_closed_form_of_every_exact_group() -> None:
    """Right values against closed forms that no reference code computes."""
    for row in series_rows("mlx"):
        fmt = lookup(row["format"])
        numbers = [float(x) for x in fmt.from_bits(np.array(row["primals"], np.uint64))]
        weights = [float(x) for x in fmt.from_bits(np.array(row["weights"], np.uint64))]
        if row["group"] == "1/t":
            order = int(row["mode"][-1])
            due = (-1) ** order * [1, 1, 2, 6][order] / numbers[1] ** (order + 1)
        elif row["group"] == "R and I":
            due = [0, 0, 2, -12][int(row["mode"][-1])] if row["function"] == "scaled square" else 0
        elif row["group"] == "mixed Hessian":
            due = {"a,a": 0, "b,b": 0.25}.get(row["argument"], -0.25)
        elif row["group"] == "traps":
            a, b = numbers
            sign = -np.sign(a)
            exponent = np.log2(abs(a)) + np.log2(weights[0]) - 2 * np.log2(b)
            due = sign * np.ldexp(1.0, int(exponent))
        elif row["group"] == "invariance":
            a, b = numbers
            due = 0.0 if weights[1] == b else 2 * a / b
        else:
            continue
        right = row["right"] + row["residual"] * float(fmt.ulp(row["right"]))
        assert abs(right - due) <= 2.0**-50 * abs(due), told(row)


FAMILY_CASES = [(family, fmt) for family in FAMILIES for fmt in REAL_FORMATS]
FAMILY_IDS = [f"{family.name}-{fmt.name}" for family, fmt in FAMILY_CASES]
ORIGIN = Origin("families", "1", "divide")


def audit_batches(batches: list, implementation: Implementation) -> None:
    references = References(opinions=1)
    for batch in batches:
        question = Question(batch, ORIGIN, references.enclose(batch))
        wrong = mismatches(compare(question, implementation, references).to_pylist())
        assert not wrong, told(wrong[0])
    assert references.disagreements == []


@pytest.mark.parametrize("name", ["mlx+divide", "python"])
@pytest.mark.parametrize(("family", "fmt"), FAMILY_CASES, ids=FAMILY_IDS)
def test_divide_families_on_the_repaired_rules(family: Family, fmt: Format, name: str) -> None:
    reason = IMPLEMENTATIONS[name].unavailable()
    if reason:
        pytest.skip(reason)

    # Arrays are asked one point at a time.
    points = 4 if family.random_share < 1 else 40

    @given(st.data())
    def search(data: st.DataObject) -> None:
        audit_batches(data.draw(family.strategy(fmt, points)), IMPLEMENTATIONS[name])

    search()
