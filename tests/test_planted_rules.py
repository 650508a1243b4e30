"""Rules that are wrong on purpose: every one must be caught, where it is wrong and only there."""

from __future__ import annotations

from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest
from planted.points import ORIGIN, audited
from planted.rule import RIGHT, Rule
from planted.subject import subject
from planted.wrong_quotients import WRONG_QUOTIENTS
from planted.wrong_unary import WRONG_UNARY

from audit.case import Batch, Mode
from audit.comparison import Question, compare
from audit.formats import Format, lookup
from audit.reference import Answer, References
from audit.verdict import MISMATCHES, Verdict
from cases.divide_families import TOLERANCE
from cases.divide_functions import ARRAY_QUOTIENT, QUOTIENT

RULES = (*WRONG_QUOTIENTS, *WRONG_UNARY)
PARTS = {"divide": {"vjp a", "vjp b", "jvp a", "jvp b", "jvp a,b"}}
ONE_OF_4096 = 2731


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.operation}: {rule.name}")
def test_a_wrong_rule_is_caught(rule: Rule) -> None:
    """Caught under its name, in every part that is wrong, in every format, and in no part that was left right."""
    for name, counts in audited(subject(rule)).items():
        bad = {(part, verdict): n for (part, verdict), n in counts.items() if verdict in MISMATCHES}
        told = f"{name}: {bad}"
        assert rule.named in {verdict for part, verdict in bad if part in rule.wrong}, told
        assert rule.wrong <= {part for part, _ in bad} <= rule.touched, told
        # What was left right says nothing unless it was compared.
        matched = {part for part, verdict in counts if verdict == Verdict.MATCH}
        if rule.families is None and name != "complex64":
            assert PARTS.get(rule.operation, {"vjp x", "jvp x"}) <= matched | rule.wrong, matched


def test_there_are_enough_wrong_rules() -> None:
    assert len({(rule.operation, rule.name) for rule in RULES}) == len(RULES) >= 40


class ByElement(References):
    """Right values of an elementwise function of arrays, as thousands of points of one element."""

    def enclose(self, batch: Batch, *, exact: bool = False) -> list[Answer]:
        flat = replace(
            batch,
            function=QUOTIENT,
            primals=tuple(primal.reshape(-1) for primal in batch.primals),
            weights=tuple(weight.reshape(-1) for weight in batch.weights),
        )
        return [replace(answer, shape=batch.primals[0].shape[1:]) for answer in super().enclose(flat, exact=exact)]


@pytest.mark.parametrize("part", ["vjp b", "jvp b"])
@pytest.mark.parametrize("name", ["float16", "float32"])
def test_one_element_of_4096_that_is_off_by_one_percent_is_named(name: str, part: str) -> None:
    def off(w: mx.array, a: mx.array, b: mx.array) -> mx.array:
        return RIGHT["divide"][part](w, a, b) * (1 + 0.01 * (mx.arange(b.size) == ONE_OF_4096))

    rule = Rule("one of 4096", "divide", {part: off}, Verdict.INACCURATE)
    batch = of_4096(lookup(name), Mode("vjp" if part == "vjp b" else "jvp", (1,)))
    references = ByElement(opinions=0)
    table = compare(Question(batch, ORIGIN, references.enclose(batch)), rule.implementation(), references)
    rows = table.select(["element", "argument", "verdict"]).to_pylist()
    argument = "b" if part == "vjp b" else "output"
    wrong = [row for row in rows if row["verdict"] in MISMATCHES]
    assert wrong == [{"element": ONE_OF_4096, "argument": argument, "verdict": Verdict.INACCURATE}]
    assert [row["element"] for row in rows] == list(range(4096))


def of_4096(fmt: Format, mode: Mode) -> Batch:
    """One point of 4096 elements that are normal and have 8 significant bits."""
    rng = np.random.default_rng(7)
    a, b, w = (rng.choice([-1.0, 1.0], (1, 4096)) * rng.integers(64, 128, (1, 4096)) / 64 for _ in range(3))
    return Batch("4096", ARRAY_QUOTIENT, fmt, mode, (a, b), (w,), TOLERANCE)
