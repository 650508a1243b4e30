"""`audit.check`: a right function passes, a wrong one is shown, and bad input is told what to write instead."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from audit import check
from audit.case import Tolerance
from audit.errors import AuditError, UnknownName
from audit.report import record
from audit.report.reproduce import script
from audit.report.show import show
from audit.rows import SCHEMA
from audit.verdict import MISMATCHES

# Of one sign: at the ends of the range partial sums of mixed signs overflow where the whole does not.
A = [[1.0, 2.0], [3.0, 1.0]]
B = [[0.5, 1.0], [2.0, 4.0]]

RIGHT: dict[str, tuple[Any, list[Any], Any]] = {
    "operators only": (lambda a, b: a * b + a, [1.5, 0.25], None),
    "one argument": (lambda x: -x * x, [3.0], None),
    "mx.tanh": (mx.tanh, [0.5], lambda m, x: m.tanh(x)),
    "mx.sqrt": (mx.sqrt, [2.0], lambda m, x: m.sqrt(x)),
    "a constant": (lambda x: x * 0 + 1, [1.0], None),
    "a zero primal": (lambda x: x * 3, [0.0], None),
    "sum of squares": (lambda x: (x * x).sum(), [[1.0, 2.0, 3.0]], lambda m, x: m.sum(m.square(x))),
    "a method only": (lambda x: (x * x).sum(), [[1.0, 2.0, 3.0]], None),
    "a matrix product": (lambda a, b: a @ b, [A, B], None),
    "rows and a column": (lambda a, b: a * b, [A, [[1.0], [2.0]]], None),
    "three arguments": (lambda a, b, c: a * b - c, [1.0, -2.0, 4.0], None),
}


def verdicts(rows: Any) -> Counter[str]:
    return Counter(rows["verdict"].to_pylist())


@mx.custom_function
def doubled_gradient(x: mx.array) -> mx.array:
    """A square whose vjp is twice too large."""
    return x * x


@doubled_gradient.vjp
def _(primal: mx.array, cotangent: mx.array, _: mx.array) -> mx.array:
    return 4 * primal * cotangent


@doubled_gradient.jvp
def _(primal: mx.array, tangent: mx.array) -> mx.array:
    return 2 * primal * tangent


def boom(x: mx.array) -> mx.array:
    message = f"boom at {x.ndim} axes"
    raise RuntimeError(message)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_function_passes(name: str) -> None:
    f, primals, reference = RIGHT[name]
    rows = check(f, primals, reference=reference)
    counts = verdicts(rows)
    assert not MISMATCHES & set(counts)
    assert counts["match"] >= 120
    assert counts["allowed"] <= counts["match"] / 20
    assert set(rows["mode"].to_pylist()) == {"forward", "vjp", "jvp"}


@pytest.mark.parametrize("name", ["operators only", "mx.sqrt", "sum of squares"])
def test_other_formats(name: str) -> None:
    f, primals, reference = RIGHT[name]
    rows = check(f, primals, reference=reference, formats=["float16", "bfloat16", "float64"])
    assert set(rows["format"].to_pylist()) == {"float16", "bfloat16", "float64"}
    assert not MISMATCHES & set(verdicts(rows))


def test_rows_have_the_columns_of_every_row() -> None:
    rows = check(mx.square, [1.5], reference=lambda m, x: m.square(x), raises=False)
    assert [(f.name, f.type) for f in rows.schema] == [(f.name, f.type) for f in SCHEMA]
    assert set(rows["case"].to_pylist()) == {"check"}
    assert len(set(rows["id"].to_pylist())) == len(rows)


def test_every_scale_of_every_argument_is_asked() -> None:
    rows = check(lambda a, b: a + b, [1.0, 1.0], formats=["float16"])
    groups = {"common scale", "scale of a", "scale of b", "opposite scale", "scale of the weights"}
    assert set(rows["group"].to_pylist()) == groups
    first = {primals[0] for primals in rows["primals"].to_pylist()}
    # All powers of two of float16, from 2^-24 to 2^15.
    assert len(first) == 40
    traced = {(row["mode"], row["traced"]) for row in rows.select(["mode", "traced"]).to_pylist()}
    assert traced == {("forward", ""), ("vjp", "a,b"), ("jvp", "a,b"), ("jvp", "a"), ("jvp", "b")}


def test_second_derivatives_are_asked_for() -> None:
    rows = check(lambda a, b: a * b, [1.0, 2.0], orders=2)
    assert {"hessian-rr", "hessian-fr"} <= set(rows["mode"].to_pylist())
    assert set(rows["argument"].to_pylist()) >= {"a,a", "a,b", "b,a", "b,b"}


def test_arguments_are_named_after_the_signature() -> None:
    def product(weight: Any, bias: Any) -> Any:
        return weight * bias

    assert set(check(product, [1.0, 2.0])["argument"].to_pylist()) == {"output", "weight", "bias"}
    rows = check(lambda *xs: xs[0] * xs[1], [1.0, 2.0])
    assert set(rows["argument"].to_pylist()) == {"output", "x0", "x1"}


def test_a_default_that_is_not_given_stays() -> None:
    def scaled(x: Any, factor: float = 3.0) -> Any:
        return x * factor

    assert set(check(scaled, [1.0])["argument"].to_pylist()) == {"output", "x"}


def test_a_wrong_derivative_is_shown_at_its_simplest_point() -> None:
    with pytest.raises(AssertionError) as caught:
        check(doubled_gradient, [1.0], reference=lambda m, x: m.square(x))
    rows = check(doubled_gradient, [1.0], reference=lambda m, x: m.square(x), raises=False)
    wrong = [row for row in rows.to_pylist() if row["verdict"] in MISMATCHES]
    assert {row["mode"] for row in wrong} == {"vjp"}
    head, _, told = str(caught.value).partition("\n\n")
    assert head == f"{len(wrong)} of {len(rows)} comparisons are wrong. The simplest:"
    assert told == show(wrong[0], told.splitlines()[1].split(" of ", 1)[1].split(" in float32")[0])
    assert "  x0           0x1p+0 = 1\n" in told
    assert "verdict      wrong (mismatch)" in told


def test_the_squared_denominator_of_a_quotient_is_found(tmp_path: Path) -> None:
    """MLX's own; the script under the row reproduces it and imports only mlx."""
    with pytest.raises(AssertionError) as caught:
        check(lambda a, b: a / (a + b), [1.5, 0.25])
    told = str(caught.value)
    assert "of a / (a + b) in float32" in told
    script = "\n".join(line.strip() for line in told.partition("To reproduce it:")[2].splitlines())
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=True)
    got = next(line.split()[1] for line in told.splitlines() if line.startswith("  got "))
    assert float.fromhex(done.stdout.split()[1]) == float.fromhex(got)


def test_a_wider_tolerance_lets_pass() -> None:
    sixteenth = [1.0]

    def off(x: mx.array) -> mx.array:
        return mx.tanh(x) * (1 + 2.0**-10)

    counts = verdicts(check(off, sixteenth, reference=lambda m, x: m.tanh(x), raises=False))
    assert counts["inaccurate"] > 100
    check(off, sixteenth, reference=lambda m, x: m.tanh(x), tolerance=Tolerance(ulps=2.0**16))


@pytest.mark.parametrize("primal", [1.0, [1.0, 2.0]])
def test_what_f_raises_becomes_rows(primal: Any) -> None:
    rows = check(boom, [primal], reference=lambda m, x: m.square(x), raises=False)
    assert set(verdicts(rows)) == {"raises"}
    assert set(rows["message"].to_pylist()) == {f"RuntimeError: boom at {1} axes"}
    with pytest.raises(AssertionError, match="It raised an error where a derivative exists: RuntimeError: boom"):
        check(boom, [primal], reference=lambda m, x: m.square(x))


def test_a_result_of_another_shape_than_the_reference_becomes_rows() -> None:
    counts = verdicts(check(lambda x: x * 2, [[1.0, 2.0]], reference=lambda m, x: m.sum(x), raises=False))
    assert counts["shape"] > 0
    assert set(counts) <= {"shape", "raises"}


def test_primals_may_be_mlx_arrays_and_integers() -> None:
    rows = check(lambda a, b: a * b, [mx.array([1.0, 2.0], mx.bfloat16), np.array([3, 4])], formats=["bfloat16"])
    assert set(rows["shapes"].to_pylist()) >= {"a(2) b(2);", "a(2) b(2); (2)"}


def test_the_text_of_a_function_is_read_from_its_source() -> None:
    def told(f: Any) -> str:
        with pytest.raises(AssertionError) as caught:
            check(f, [1.0, 3.0], reference=lambda m, a, b: m.divide(a, b) + 1)
        return str(caught.value).split(" of ", 3)[2].split(" in float32")[0]

    def plain(a: Any, b: Any) -> Any:
        return a / b

    def longer(a: Any, b: Any) -> Any:
        c = a / b
        return c * c

    assert [told(lambda a, b: a / b), told(plain), told(longer)] == ["a / b", "a / b", "longer(a, b)"]
    # Two lambdas of the same arguments stand in one line: neither is taken for the other.
    assert [told(f) for f in (lambda a, b: a / b, lambda a, b: a / (2 * b))] == ["function(a, b)"] * 2
    assert told(eval("lambda a, b: a / b")) == "function(a, b)"  # noqa: S307  a function without a source


BAD_INPUT: dict[str, tuple[Any, list[Any], dict[str, Any], str]] = {
    "no primals": (mx.exp, [], {}, "check: no primals were given: pass one example number or array for each argument"),
    "not finite": (mx.exp, [float("nan")], {}, "check: primal 0 is nan: pass finite real numbers."),
    "infinite": (mx.exp, [[1.0, float("inf")]], {}, "check: primal 0 is [1.0, inf]: pass finite real numbers."),
    "text": (mx.exp, ["a"], {}, "check: primal 0 is 'a': pass finite real numbers."),
    "complex": (lambda a, b: a * b, [1.0, 1j], {}, "check: primal 1 is 1j: pass finite real numbers."),
    "orders": (mx.exp, [1.0], {"orders": 3}, "check: orders is 3: write 1 or 2."),
    "one name": (mx.exp, [1.0], {"formats": "float32"}, "check: formats is 'float32': write a list of one name"),
    "no formats": (mx.exp, [1.0], {"formats": []}, "check: formats is []: write a list of one name or more"),
    "no reference": (mx.exp, [1.0], {}, "its right value is not known: pass reference=lambda m, x0: ... with the same"),
    "digits": (
        lambda x: x * x, [1 + 2.0**-20], {"formats": ["bfloat16"]},
        "check: the primals are no numbers of bfloat16 at any scale: use fewer digits.",
    ),
    "reference": (mx.exp, [1.0], {"reference": lambda m, x: m.exponential(x)}, "has no operation m.exponential."),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_told_what_to_write_instead(name: str) -> None:
    f, primals, options, message = BAD_INPUT[name]
    with pytest.raises(AuditError) as caught:
        check(f, primals, **options)
    assert message in str(caught.value)


def test_an_unknown_format_is_told_from_those_that_exist() -> None:
    with pytest.raises(UnknownName, match="no format 'float8'. Did you mean 'float64'"):
        check(mx.exp, [1.0], formats=["float8"])


@pytest.mark.parametrize("name", ["float16", "float32"])
def test_second_derivatives_of_one_argument(name: str) -> None:
    rows = check(lambda x: x * x * x, [1.5], formats=[name], orders=2)
    kinds = set(rows["mode"].to_pylist())
    assert {"hessian-rr", "hessian-fr"} <= kinds
    wrong = check(lambda x: 1 / (x * x), [1.5], formats=[name], orders=2, raises=False).to_pylist()
    row = next(row for row in wrong if row["verdict"] in MISMATCHES and row["mode"].startswith("hessian"))
    code = script(row, "1 / (x * x)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    got = record.got(row)
    assert got is not None
    assert done.stdout.split()[1] == got[0].hex()
