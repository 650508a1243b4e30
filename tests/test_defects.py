"""Wrong rows become distinct defects: one for each planted cause, of the right class, and none where all is right."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from defect_examples import (
    EXAMPLES,
    ORIGIN,
    REFERENCES,
    ROWS,
    SOME,
    STOCK,
    asked,
    found_in,
    function,
    over_the_range,
    powers,
    rows_of,
)

from audit.case import Batch, Implementation, Mode
from audit.defects.confirm import reproduced
from audit.defects.evidence import anatomy
from audit.defects.find import Findings, find_defects
from audit.defects.subjects import of_batches
from audit.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Format
from audit.patches.python_rule import Arithmetic
from audit.verdict import MISMATCHES

RECIPROCAL = function("mx.reciprocal", mx.reciprocal, lambda m, x: m.reciprocal(x))


def ids(found: Findings) -> tuple[str, ...]:
    return tuple(finding.defect.name for finding in found.defects)


@pytest.fixture(scope="module")
def results() -> dict[str, Findings]:
    return {name: found_in(list(example.batches())) for name, example in EXAMPLES.items()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_planted_cause_is_one_defect_of_its_class(name: str, results: dict[str, Findings]) -> None:
    found, example = results[name], EXAMPLES[name]
    assert ids(found) == example.ids
    assert tuple(finding.defect.name for finding in found.missing) == example.missing
    assert found.contradictions == []
    assert found.unconfirmed == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_wrong_row_belongs_to_one_defect(name: str, results: dict[str, Findings]) -> None:
    found = results[name]
    wrong = [v for v in rows_of(list(EXAMPLES[name].batches()))["verdict"].to_pylist() if v in MISMATCHES]
    assert found.counts == {"mismatches": len(wrong), "in_defects": len(wrong)}
    told = [finding.to_json()["counts"] for finding in (*found.defects, *found.missing)]
    assert sum(counts["mismatches"] + counts["in_compositions"] for counts in told) == len(wrong)
    assert all(sum(c["by_format"].values()) == sum(c["by_verdict"].values()) == c["mismatches"] for c in told)


@pytest.mark.parametrize("name", EXAMPLES)
def test_numbers_are_confirmed_by_an_independent_method(name: str, results: dict[str, Findings]) -> None:
    for finding in results[name].defects:
        assert finding.confirmation.confirmed, finding.to_json()
        assert "mpmath" in finding.confirmation.methods[0].name


def test_ids_are_the_same_when_the_rows_come_in_another_order() -> None:
    batches = list(EXAMPLES["range"].batches())
    table = rows_of(batches)
    subjects = of_batches(ORIGIN.case, batches)
    first = find_defects(lambda _: iter([table]), STOCK, subjects, REFERENCES)
    halves = [table.slice(len(table) // 2), table.slice(0, len(table) // 2)]
    second = find_defects(lambda _: iter(halves), STOCK, subjects, REFERENCES)
    assert [f.to_json() for f in first.defects] == [f.to_json() for f in second.defects]


def test_a_shrunk_input_is_simple_and_stays_wrong(results: dict[str, Findings]) -> None:
    (finding,) = results["range"].defects
    row = finding.to_json()["shrunk"]
    # 1/x**2 is computed by a square that overflows from 2**64 on; the cotangent plays no part.
    assert row["primals"] == {"x": ["0x1p+64"]}
    assert row["weights"] == [["0x1p+0"]]
    assert row["format"] == "float32"
    (finding,) = results["value"].defects
    row = finding.to_json()["shrunk"]
    assert (row["primals"], row["weights"], row["got"]) == ({"x": ["0x1p+0"]}, [["0x1p+0"]], ["0x1.8p+1"])


@pytest.mark.parametrize(("fmt", "low", "high"), [(FLOAT32, -74, 63), (FLOAT16, -12, 7)], ids=["float32", "float16"])
def test_the_safe_band_ends_where_the_square_leaves_the_format(
    fmt: Format, low: int, high: int, results: dict[str, Findings]
) -> None:
    (finding,) = results["range"].defects
    band = finding.bands[fmt.name]
    assert (band.low, band.high) == (low, high)
    assert finding.line == "x scales as 2^k, w scales as 2^k"
    # The same, by asking MLX itself: -w/x**2 at x = w = 2**k is -2**-k.
    dtype = {"float32": mx.float32, "float16": mx.float16}[fmt.name]
    for k, right in ((low, True), (low - 1, False), (high, True), (high + 1, False)):
        x = mx.array(2.0**k, dtype)
        got = mx.vjp(mx.reciprocal, [x], [x])[1][0].item()
        assert (got == -(2.0**-k)) == right, k


def test_the_strip_covers_what_can_be_asked(results: dict[str, Findings]) -> None:
    (finding,) = results["range"].defects
    for band in finding.bands.values():
        runs = band.runs()
        assert runs[0][0] == band.reached[0]
        assert runs[-1][1] == band.reached[1]
        assert all(later[0] == earlier[1] + 1 for earlier, later in pairwise(runs))
        assert {verdict for low, high, verdict in runs if low <= 0 <= high} <= {"match", "allowed"}


def test_a_band_of_a_function_of_arrays_is_found_by_halving() -> None:
    f = function("mx.inverse", mx.reciprocal, lambda m, x: m.divide(1, x), elementwise=False)
    points = np.stack([powers(FLOAT32, 1.0), powers(FLOAT32, 1.5)], axis=1)[::9]
    (finding,) = found_in(list(asked(f, [FLOAT32], [points]))).defects
    assert finding.defect.name == "mx.inverse-vjp-jvp-x-range"
    assert (finding.bands["float32"].low, finding.bands["float32"].high) == (-74, 63)


STOCK_ONLY = ("range", "missing")


@pytest.mark.parametrize("name", STOCK_ONLY)
def test_reproducers_run_by_themselves(name: str, results: dict[str, Findings]) -> None:
    """Those of MLX's own functions; planted ones have none that imports only mlx."""
    for finding in (*results[name].defects, *results[name].missing):
        lines = finding.script.splitlines()
        assert len(lines) <= 15
        assert [line for line in lines if re.search(r"\bimport\b", line)] == ["import mlx.core as mx"]
        raised = None if name != "missing" else finding.row["message"]
        assert reproduced(finding.script, raised)[0], finding.script
        # And what is right is not taken for wrong.
        assert not reproduced(finding.script.replace("jvp(", "vjp("), "another message")[0]


def test_a_script_that_shows_nothing_wrong_is_not_a_reproducer() -> None:
    assert not reproduced('print("got  ", "0x1p+0")\nprint("right", "0x1p+0")')[0]
    assert not reproduced("undefined")[0]
    assert not reproduced("undefined", "ValueError: something else")[0]
    assert reproduced('print("got  ", "0x0p+0")\nprint("right", "0x1p+0")')[0]
    assert reproduced("raise ValueError('no rule')", "ValueError: no rule")[0]
    assert reproduced("raise IndexError('axis 5 of 3')", "IndexError: axis 22096 of 3")[0]
    assert reproduced("raise ValueError('no rule\\nfor this')", "ValueError: no rule")[0]
    assert reproduced("import os; os.abort()", "SIGABRT")[0]


def planted_transform(name: str) -> Implementation:
    """Stock MLX that is 1 % off under one transform."""

    def transform(f: Any, batch: Batch) -> Any:
        return (lambda *xs: f(*xs) * 1.01) if batch.wrap.startswith(name) else f

    return replace(STOCK, transform=transform)


@pytest.mark.parametrize(("wrap", "kind"), [("checkpoint", "consistency"), ("vmap-out 0", "vmap")])
def test_what_is_right_when_asked_plainly_is_a_fault_of_the_transform(wrap: str, kind: str) -> None:
    f = function("mx.square", mx.square, lambda m, x: m.square(x), elementwise=False)
    batches = [*asked(f, [FLOAT32], [ROWS]), *asked(f, [FLOAT32], [ROWS], wrap=wrap)]
    found = found_in(batches, implementation=planted_transform(wrap.partition(" ")[0]))
    assert ids(found) == (f"mx.square-forward-vjp-jvp-{kind}",)


def test_a_wrong_rule_is_no_fault_of_the_transform_under_which_it_is_wrong_too() -> None:
    batches = over_the_range(RECIPROCAL, [FLOAT32])
    wrapped = [replace(batch, wrap="checkpoint") for batch in batches]
    assert ids(found_in([*batches, *wrapped])) == ("mx.reciprocal-vjp-jvp-x-range",)


def test_two_arguments_are_two_defects_and_second_derivatives_belong_to_the_first() -> None:
    f = function("mx.atan2", mx.arctan2, lambda m, y, x: m.arctan(m.divide(y, x)), ("y", "x"))
    scale = powers(FLOAT32, 1.0)
    batches = list(asked(f, [FLOAT32], [scale, scale]))
    second = replace(batches[1], mode=Mode("hessian-rr", (0, 1)))
    assert ids(found_in([*batches, second])) == ("mx.atan2-vjp-jvp-x-range", "mx.atan2-vjp-jvp-y-range")


def test_a_composition_that_a_repair_makes_right_is_listed_under_the_primitive() -> None:
    """The Python rule stands for the patched library: it needs no compiler."""
    repaired = Implementation("mlx+divide", "planted", Arithmetic)
    quotient = function("mx.divide", None, lambda m, a, b: m.divide(a, b), ("a", "b"))  # type: ignore[arg-type]
    ratio = function("nn.ratio", None, lambda m, x: m.divide(1 * x, x * x))  # type: ignore[arg-type]
    scale = powers(FLOAT32, 1.0, 1.5)
    # So far the repaired rule's result and what the chain rule makes of it stay normal numbers.
    near = scale[np.abs(np.log2(np.abs(scale))) < 40]
    batches = [*asked(quotient, [FLOAT32], [scale, scale]), *asked(ratio, [FLOAT32], [near])]
    found = found_in(batches, repaired, patched=["mlx+divide"])
    assert ids(found) == ("mx.divide-vjp-jvp-b-range",)
    (entry,) = {seen["what"] for seen in found.defects[0].to_json()["seen_in"]}
    assert entry == "nn.ratio"
    assert {seen["why"] for seen in found.defects[0].to_json()["seen_in"]} == {"repaired by mlx+divide"}
    # Without the patched rows nothing is guessed.
    alone = found_in(batches)
    assert "nn.ratio" in " ".join(ids(alone))


def test_a_right_implementation_has_no_defects() -> None:
    quotient = function("mx.divide", None, lambda m, a, b: m.divide(a, b), ("a", "b"))  # type: ignore[arg-type]
    scale = powers(FLOAT32, 1.0, 1.5)
    found = found_in(
        list(asked(quotient, [FLOAT32], [scale, scale])), implementation=Implementation("mlx", "right", Arithmetic)
    )
    assert (found.defects, found.missing) == ([], [])
    assert found.seen == {"mx.divide": ["float32"]}


def test_a_missing_rule_of_one_argument_says_which() -> None:
    def half(x: mx.array, y: mx.array) -> mx.array:
        # A view of the bits has no rule.
        return x * y.view(mx.uint32).view(mx.float32)

    f = function("mx.halfway", half, lambda m, x, y: m.multiply(x, y), ("x", "y"))
    found = found_in(list(asked(f, [FLOAT32], [SOME, SOME[::-1]])))
    names = [finding.defect.name for finding in found.missing]
    assert names == [
        "mx.halfway-jvp-y-missing",
        "mx.halfway-vjp-y-missing",
    ]
    assert found.defects == []


@pytest.mark.parametrize("fmt", [FLOAT16, BFLOAT16, FLOAT32, FLOAT64], ids=lambda fmt: fmt.name)
def test_exponents_and_significant_bits_of_encodings(fmt: Format) -> None:
    rng = np.random.default_rng(0)
    x = fmt.round(np.ldexp(rng.uniform(1, 2, 500), rng.integers(fmt.esub, fmt.emax, 500)))
    x = np.append(x, [0.0, -0.0, np.inf, np.nan, fmt.smallest_subnormal, fmt.largest, -1.0])
    exponent, digits, ordinary = anatomy(fmt.to_bits(x), fmt)
    assert (ordinary == (np.isfinite(x) & (x != 0))).all()
    for value, e, d in zip(x[ordinary].tolist(), exponent[ordinary], digits[ordinary], strict=True):
        assert e == np.frexp(value)[1] - 1
        numerator, _ = value.as_integer_ratio()
        odd = abs(numerator) // (abs(numerator) & -abs(numerator))
        assert d == odd.bit_length() - 1
