from __future__ import annotations

import contextlib
import io
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rows_by_hand import row

from audit.formats import lookup
from audit.registry import case
from audit.report import record
from audit.report.find import find_row
from audit.report.json_report import read_report
from audit.report.reproduce import LINES, script
from audit.report.show import show

BEFORE = Path(__file__).parents[1] / "reports" / "divide-before.json"
TINY = {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149, "float64": 2.0**-1074}


def run(entry: dict[str, Any], text: str) -> tuple[list[float], list[float]]:
    """The numbers that the script of a row prints: got and right."""
    source = script(entry, text)
    lines = source.splitlines()
    assert len(lines) <= LINES
    assert [line for line in lines if "import" in line] == ["import mlx.core as mx"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(source, {})  # noqa: S102  the script is what is tested
    told = printed.getvalue().splitlines()
    assert [line.split()[0] for line in told[2:]] == ["proof"] * (not math.isnan(entry["right"]))
    got, right = (line.split()[1:] for line in told[:2])
    return [float.fromhex(x) for x in got], [float.fromhex(x) for x in right]


@pytest.mark.parametrize("fmt", ["float16", "bfloat16", "float32", "float64"])
def test_subnormal_inputs_are_exact(fmt: str) -> None:
    tiny = TINY[fmt]
    entry = row(format=fmt, mode="forward", traced="", argument="output", primals=[tiny, 1.0], weights=[], right=tiny)
    assert run(entry | {"shapes": "a() b();"}, "a + 0 * b") == ([tiny], [tiny])


@pytest.mark.parametrize("fmt", ["float16", "bfloat16", "float32", "float64"])
def test_vjp_of_one_of_two_arguments(fmt: str) -> None:
    entry = row(format=fmt, primals=[3.0, 2.0], weights=[-0.5], right=-1.5)
    assert run(entry, "a * b") == ([-1.5], [-1.5])


def test_every_bit_of_a_double_arrives() -> None:
    odd = 1 + 2.0**-52
    entry = row(
        format="float64", mode="forward", traced="", argument="output", primals=[-odd, odd], weights=[], right=odd
    )
    assert run(entry | {"shapes": "a() b();"}, "b + 0 * a") == ([odd], [odd])
    assert run(entry | {"shapes": "a() b();"}, "a + 0 * b")[0] == [-odd]


def test_joint_vjp_takes_the_argument_that_is_compared() -> None:
    entry = row(traced="a,b", argument="b", primals=[3.0, 2.0], weights=[1.0], right=3.0)
    assert run(entry, "a * b") == ([3.0], [3.0])


def test_jvp_has_a_tangent_for_each_traced_argument() -> None:
    changes: dict[str, Any] = {"shapes": "a() b(); () ()", "mode": "jvp", "traced": "a,b", "argument": "output"}
    entry = row(**changes, primals=[3.0, 2.0], weights=[10.0, 100.0], right=320.0)
    assert run(entry, "a * b") == ([320.0], [320.0])


@pytest.mark.parametrize(("order", "due"), [(1, 24.0), (2, 24.0), (3, 12.0)])
def test_repeated_gradients(order: int, due: float) -> None:
    entry = row(shapes="C() t(); ()", mode=f"grad{order}", traced="t", argument="t", primals=[2.0, 2.0], right=due)
    assert run(entry, "C * t * t * t") == ([due], [due])


@pytest.mark.parametrize("mode", ["hessian-rr", "hessian-fr"])
@pytest.mark.parametrize(("argument", "due"), [("a,a", 18.0), ("a,b", 24.0), ("b,a", 24.0), ("b,b", 8.0)])
def test_entries_of_a_hessian(mode: str, argument: str, due: float) -> None:
    changes: dict[str, Any] = {"shapes": "C() a() b(); ()", "mode": mode, "traced": "a,b", "argument": argument}
    entry = row(**changes, primals=[1.0, 2.0, 3.0], weights=[1.0], right=due)
    assert run(entry, "C * a * a * b * b") == ([due], [due])


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided", "reversed"])
def test_arrays_in_every_layout(layout: str) -> None:
    matrix = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    changes: dict[str, Any] = {
        "shapes": "a(2,3) b(3); (2,3)",
        "layout": layout,
        "traced": "a",
        "argument": "a",
        "element": 5,
    }
    entry = row(**changes, primals=[*matrix, 10.0, 20.0, 30.0], weights=matrix, right=180.0)
    assert run(entry, "a * b") == ([180.0], [180.0])


@pytest.mark.parametrize(
    ("layout", "view"),
    [("transposed", ".T"), ("strided", "[..., ::2]"), ("reversed", "[..., ::-1]"), ("broadcast", "mx.broadcast_to(")],
)
def test_a_layout_is_that_of_the_view_that_was_asked(layout: str, view: str) -> None:
    entry = row(
        shapes="x(2,1,2);",
        layout=layout,
        mode="forward",
        traced="",
        argument="output",
        primals=[1.0, 2.0] * 2,
        right=2.0,
    )
    entry |= {"element": 3, "weights": []}
    assert view in script(entry, "x")
    assert run(entry, "x") == ([2.0], [2.0])


def test_all_derivatives_of_a_rule_that_raises_are_computed() -> None:
    entry = row(traced="a,b", argument="b", primals=[3.0, 2.0], weights=[1.0], right=3.0, verdict="unimplemented")
    source = script(entry, "a * b")
    assert "mx.eval(d := " in source
    assert run(entry, "a * b") == ([3.0], [3.0])


def test_gradient_of_a_broadcast_argument() -> None:
    changes: dict[str, Any] = {"shapes": "a(2,1) b(1,3); (2,3)", "traced": "a,b", "argument": "b", "element": 2}
    entry = row(**changes, primals=[1.0, 2.0, 4.0, 5.0, 6.0], weights=[1.0] * 6, right=3.0)
    assert run(entry, "a * b") == ([3.0], [3.0])


@pytest.mark.parametrize("wrap", ["checkpoint", "vmap 0,0"])
@pytest.mark.parametrize("shape", ["", "2"])
def test_transforms(wrap: str, shape: str) -> None:
    size = int(shape or 1)
    numbers = [3.0] * size + [2.0] * size
    changes: dict[str, Any] = {
        "shapes": f"a({shape}) b({shape}); ({shape})",
        "wrap": wrap,
        "traced": "a,b",
        "argument": "a",
    }
    assert run(row(**changes, primals=numbers, weights=[1.0] * size, right=2.0), "a * b") == ([2.0], [2.0])


def test_complex_numbers() -> None:
    bits = [int(lookup("float32").to_bits(x)) for x in (1.0, 2.0, 3.0, -1.0, 0.0, 1.0)]
    entry = row(
        format="complex64", mode="jvp", argument="output", primals=bits[:4], weights=bits[4:], right=-2.0, residual=0.0
    ) | {"right_imag": 1.0, "residual_imag": 0.0, "radius_imag": 0.0, "got_imag": 0}
    assert run(entry, "a * b") == ([-2.0, 1.0], [-2.0, 1.0])


def test_infinite_and_missing_inputs() -> None:
    got, right = run(row(primals=[math.inf, math.nan], right=math.nan), "a * b")
    assert got == [math.inf]
    assert math.isnan(right[0])


def test_committed_mismatches_reproduce_bit_for_bit() -> None:
    """One row of each kind that the committed report lists."""
    report = read_report(BEFORE)
    kinds = {(r["group"], r["format"], r["mode"], r["argument"], r["function"]): r["id"] for r in report["rows"]}
    texts = {function.name: function.text for function in case("divide").functions}
    for name in kinds.values():
        entry = find_row(BEFORE, name)
        numbers, _ = run(entry, texts[entry["function"]])
        due = record.got(entry)
        assert due is not None
        assert [x.hex() for x in numbers] == [x.hex() for x in due], script(entry, texts[entry["function"]])


def test_the_script_runs_by_itself() -> None:
    source = script(row(), "a / b")
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "right -0x1p-80"


def test_words_of_a_mismatch() -> None:
    text = show(row(0xABC, residual=0.25, radius=2.0**-30), "a / b")
    for part in (
        "0000000000000abc  divide / grid",
        "the vector-Jacobian product of a / b in float32 for b, by mlx",
        "cotangent    0x1p+0 = 1",
        "got          -0x0p+0 = -0",
        "right        -0x1p-80 +0.25 ± 9.3e-10 ulp = -8.2",
        "error        8.38861e+06 ulp, where 167.8 are tolerated",
        "vanished (mismatch). A number other than zero was due, and zero was returned.",
        "To reproduce it:",
    ):
        assert part in text


def test_words_where_nothing_was_returned() -> None:
    entry = row(
        verdict="raises", got=None, right=None, error=None, witness=None, message="ValueError: no", wrap="vmap 0,0"
    )
    text = show(entry | {"implementation": "mlx+divide"}, "a / b")
    assert "got          nothing" in text
    assert "right        not known" in text
    assert "It raised an error where a derivative exists: ValueError: no" in text
    assert "(under vmap 0,0)" in text
    assert "To ask stock MLX the same:" in text


@pytest.mark.parametrize("mode", ["second-rr", "second-fr", "second-rf", "third"])
def test_derivatives_along_tangents(mode: str) -> None:
    """Of a * a * b at (3, 2) with cotangent 1 along (1, 10), for a: 2 b + 2 a * 10 = 64; thrice: 2 * 2 * 10 = 40."""
    due = 40.0 if mode == "third" else 64.0
    changes: dict[str, Any] = {"shapes": "a() b(); () () ()", "mode": mode, "traced": "a,b", "argument": "a"}
    entry = row(**changes, primals=[3.0, 2.0], weights=[1.0, 1.0, 10.0], right=due)
    assert run(entry, "a * a * b") == ([due], [due])
    text = show(entry, "a * a * b")
    assert "tangent b" in text
    assert "derivative" in text.splitlines()[1]


@pytest.mark.parametrize("wrap", ["compile", "vmap-in 0,0", "vmap-out 0,0", "vmap-in 1,0>1", "vmap-out 0,-"])
@pytest.mark.parametrize("mode", ["forward", "vjp", "jvp"])
def test_transforms_of_derivatives_and_of_points(wrap: str, mode: str) -> None:
    """Of a * b for arrays of two: the second row of a mapped question is twice the first."""
    traced = "" if mode == "forward" else "a,b"
    weights = {"forward": "", "vjp": " (2)", "jvp": " (2) (2)"}[mode]
    changes: dict[str, Any] = {
        "shapes": f"a(2) b(2);{weights}",
        "mode": mode,
        "traced": traced,
        "argument": "a" if mode == "vjp" else "output",
        "wrap": wrap,
        "element": 1,
    }
    numbers = {"forward": [], "vjp": [1.0, 5.0], "jvp": [1.0, 5.0, 1.0, 7.0]}[mode]
    due = {"forward": 12.0, "vjp": 20.0, "jvp": 41.0}[mode]
    entry = row(**changes, primals=[1.0, 3.0, 2.0, 4.0], weights=numbers, right=due)
    assert run(entry, "a * b") == ([due], [due])


def test_layers_and_shapes() -> None:
    changes: dict[str, Any] = {"shapes": "x();", "mode": "forward", "traced": "", "argument": "output", "weights": []}
    source = script(row(**changes, primals=[1.0], right=1.0), "nn.relu(x)")
    assert "import mlx.nn as nn" in source
    fault = row(**changes, primals=[1.0], verdict="shape", message="shape: got (1,), () is due", right=1.0)
    printed = subprocess.run(
        [sys.executable, "-c", script(fault, "x[None]")], capture_output=True, text=True, check=True
    )
    assert printed.stdout.splitlines() == ["got   (1,)", "right ()"]
