"""A warm store records no program, and nothing that a function depends on may change unnoticed."""

from __future__ import annotations

import functools
import sqlite3
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit.reference import References, derivative, references, store
from audit.reference.fingerprint import fingerprint
from tests.reference_examples import QUOTIENT, batch, function


def module(source: str, name: str, folder: Path) -> types.ModuleType:
    """A module from source, as if it were imported."""
    import importlib.util
    import sys

    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


def body(source: str, folder: Path, count: list[int]) -> Any:
    count.append(0)
    return module(source, f"fingerprinted_{folder.name}_{len(count)}", folder).body


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def body(m, x): return m.exp(x)", "def body(m, x): return m.exp(-x)"),
        ("def body(m, x): return 2 * x", "def body(m, x): return 3 * x"),
        ("def body(m, x, k=2): return k * x", "def body(m, x, k=3): return k * x"),
        ("K = 2\ndef body(m, x): return K * x", "K = 3\ndef body(m, x): return K * x"),
        ("def f(x): return x\ndef body(m, x): return f(x)", "def f(x): return 2 * x\ndef body(m, x): return f(x)"),
        ("body = lambda m, x: [2 * y for y in [x]][0]", "body = lambda m, x: [3 * y for y in [x]][0]"),
        (
            "def make(k):\n    return lambda m, x: k * x\nbody = make(2)",
            "def make(k):\n    return lambda m, x: k * x\nbody = make(3)",
        ),
        (
            "import numpy as np\nA = np.array([1.0, 2.0])\ndef body(m, x): return A[1] * x",
            "import numpy as np\nA = np.array([1.0, 3.0])\ndef body(m, x): return A[1] * x",
        ),
        (
            "class T:\n    def f(self, x): return x\ndef body(m, x): return T().f(x)",
            "class T:\n    def f(self, x): return 2 * x\ndef body(m, x): return T().f(x)",
        ),
    ],
)
def test_another_function_has_another_fingerprint(before: str, after: str, tmp_path: Path) -> None:
    count: list[int] = []
    first, second, same = (fingerprint(body(source, tmp_path, count)) for source in (before, after, before))
    assert first is not None
    assert first != second
    if "class" not in before:
        # A class is told by the file that it is in.
        assert first == same


def test_what_a_class_uses_is_part_of_it(tmp_path: Path) -> None:
    told = []
    for factor in (2, 3):
        helper = f"fingerprint_helper_{factor}"
        module(f"def scaled(x): return {factor} * x", helper, tmp_path)
        source = f"from {helper} import scaled\nclass T:\n    def f(self, x): return scaled(x)\n"
        made = module(source + "def body(m, x): return T().f(x)", f"fingerprint_user_{factor}", tmp_path)
        told.append(fingerprint(made.body))
    assert None not in told
    assert told[0] != told[1]


def test_partial_functions_are_told_apart() -> None:
    def scaled(m: Any, x: Any, k: int) -> Any:
        return k * x

    two, three, again = (fingerprint(functools.partial(scaled, k=k)) for k in (2, 3, 2))
    assert two == again
    assert two != three


def test_what_cannot_be_told_has_none(tmp_path: Path) -> None:
    source = "class T:\n    pass\nt = T()\ndef body(m, x): return t.factor * x"
    assert fingerprint(body(source, tmp_path, [])) is None


def test_a_warm_store_records_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    f = function("x * x / y", "x y", lambda m, x, y: m.square(x) / y)
    asked = batch(f, "vjp", (0, 1), [[1.5, 3.0], [0.75, -2.0]], [[1.0, -0.5]])
    cold = References(tmp_path)
    computed = cold.enclose(asked)
    cold.keep()

    def refused(*_: Any) -> Any:
        raise AssertionError("it was recorded again")

    monkeypatch.setattr(references, "columns", refused)
    warm = References(tmp_path)
    for one, other in zip(computed, warm.enclose(asked), strict=True):
        assert one.real.head.tolist() == other.real.head.tolist()
        assert (one.argument, one.shape) == (other.argument, other.shape)
    assert (warm.computed, warm.reused) == (0, 4)
    # Other numbers have to be computed.
    with pytest.raises(AssertionError, match="recorded again"):
        warm.enclose(batch(f, "vjp", (0, 1), [[1.5, 3.0], [0.75, 2.0]], [[1.0, -0.5]]))


def test_what_is_asked_is_part_of_the_key(tmp_path: Path) -> None:
    kept = References(tmp_path)
    for kind, traced, weights in (
        ("vjp", (0, 1), [1.0]), ("vjp", (0,), [1.0]), ("vjp", (1,), [1.0]), ("jvp", (0,), [1.0]), ("forward", (0,), []),
        ("jvp", (0, 1), [1.0, 1.0]), ("grad1", (1,), [1.0]), ("second-rr", (0, 1), [1.0, 1.0, 1.0]),
    ):  # fmt: skip
        asked = batch(QUOTIENT, kind, traced, [3.0, 4.0], weights)
        fresh = References().enclose(asked)
        answers = kept.enclose(asked)
        kept.keep()
        for again in (answers, References(tmp_path).enclose(asked)):
            assert [a.argument for a in again] == [a.argument for a in fresh]
            assert [a.real.head.tolist() for a in again] == [a.real.head.tolist() for a in fresh]


def test_other_code_of_the_reference_has_other_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = batch(QUOTIENT, "vjp", (0, 1), [3.0, 4.0], [1.0])
    References(tmp_path).enclose(asked)
    monkeypatch.setattr(store, "code_version", lambda: "another")
    derivative._task.cache_clear()
    other = References(tmp_path)
    other.enclose(asked)
    assert (other.computed, other.reused) == (2, 0)


def test_a_damaged_outline_is_made_again(tmp_path: Path) -> None:
    asked = batch(QUOTIENT, "vjp", (0, 1), [3.0, 4.0], [1.0])
    first = References(tmp_path)
    computed = first.enclose(asked)
    first.keep()
    database = sqlite3.connect(tmp_path / store.NAME)
    with database:
        changed = database.execute("update kept set content = substr(content, 1, 40) where kind = 'outline'")
    assert changed.rowcount == 1
    database.close()
    again = References(tmp_path)
    assert [a.real.head.tolist() for a in again.enclose(asked)] == [a.real.head.tolist() for a in computed]
    assert again.computed == 0


def test_numbers_of_another_array_are_another_key() -> None:
    numbers = np.array([1.0, 2.0])
    assert store.key("text", [("p0", numbers)]) != store.key("text", [("p1", numbers)])
    assert store.key("text", [("p0", numbers)]) != store.key("text", [("p0", numbers.reshape(2, 1))])
