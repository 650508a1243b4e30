"""References kept between runs: nothing is computed twice, and nothing damaged is believed."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from audit.formats import COMPLEX64
from audit.reference import Answer, Enclosures, References, store
from tests.reference_examples import IDENTITY, MATMUL, QUOTIENT, SCALED, batch

PRIMALS, WEIGHTS = [[1.5, 3.0, 0.0], [0.75, -2.0, 0.0]], [[1.0, -0.5, 1.0]]
ASKED = batch(QUOTIENT, "vjp", (0, 1), PRIMALS, WEIGHTS)


def equal(one: list[Answer], other: list[Answer]) -> bool:
    pairs = [(x.real, y.real) for x, y in zip(one, other, strict=True)]
    pairs += [(x.imag, y.imag) for x, y in zip(one, other, strict=True) if x.imag and y.imag]
    return all(
        np.array_equal(getattr(x, field.name), getattr(y, field.name), equal_nan=True)
        for x, y in pairs
        for field in fields(Enclosures)
    )


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "asked",
    [
        ASKED,
        batch(IDENTITY, "grad3", (1,), [[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0]]),
        batch(MATMUL, "vjp", (0, 1), [np.ones((2, 2, 3)), np.ones((2, 3, 2))], [np.ones((2, 2, 2))]),
        batch(QUOTIENT, "vjp", (0, 1), [[1 + 1j], [2 - 1j]], [[1j]], COMPLEX64),
    ],
    ids=["quotient", "identity", "matrices", "complex"],
)
def test_what_was_kept_is_what_was_computed(asked: object, tmp_path: Path) -> None:
    first = References(tmp_path)
    computed = first.enclose(asked)  # type: ignore[arg-type]
    second = References(tmp_path)
    assert equal(computed, second.enclose(asked))  # type: ignore[arg-type]
    assert second.computed == 0
    assert second.reused == first.computed > 0


def test_files_have_their_final_name_at_once(tmp_path: Path) -> None:
    References(tmp_path).enclose(ASKED)
    assert sorted(path.suffix for path in files(tmp_path)) == [".column", ".column", ".outline"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda content: content[:-1],
        lambda content: content[:20],
        lambda _: b"something else altogether",
        lambda content: content[:-30] + bytes([content[-30] ^ 1]) + content[-29:],
    ],
    ids=["empty", "one byte short", "header only", "foreign", "one bit"],
)
def test_a_damaged_file_is_computed_again(damage: object, tmp_path: Path) -> None:
    computed = References(tmp_path).enclose(ASKED)
    for path in files(tmp_path):
        path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    references = References(tmp_path)
    assert equal(computed, references.enclose(ASKED))
    assert (references.computed, references.reused) == (6, 0)
    assert References(tmp_path).enclose(ASKED)
    again = References(tmp_path)
    again.enclose(ASKED)
    assert again.reused == 6


def test_a_file_of_another_shape_is_not_taken(tmp_path: Path) -> None:
    References(tmp_path).enclose(ASKED)
    References(tmp_path).enclose(batch(SCALED, "grad1", (1,), [[1.0], [1.0]], [[1.0]]))
    contents = [path.read_bytes() for path in files(tmp_path)]
    for path, content in zip(files(tmp_path), [*contents[1:], contents[0]], strict=True):
        path.write_bytes(content)
    assert store.Store(tmp_path).get(files(tmp_path)[0].stem, 2, 7) is None


def test_other_numbers_other_functions_and_other_code_are_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.array([1.0, 2.0])
    key = store.key("text", [("p0.0", numbers)])
    assert key == store.key("text", [("p0.0", numbers.copy())])
    assert key != store.key("other text", [("p0.0", numbers)])
    assert key != store.key("text", [("p0.0", numbers + 1)])
    assert key != store.key("text", [("p1.0", numbers)])
    monkeypatch.setattr(store, "code_version", lambda: "another")
    assert key != store.key("text", [("p0.0", numbers)])


def test_exact_values_are_kept_apart() -> None:
    references = References()
    references.enclose(ASKED)
    references.enclose(ASKED, exact=True)
    assert (references.computed, references.reused) == (12, 0)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MEMORY_BYTES", 200)
    references = References()
    for scale in (1.0, 2.0, 1.0):
        references.enclose(batch(SCALED, "grad1", (1,), [[scale] * 3, [1.0] * 3], [[1.0] * 3]))
    assert (references.computed, references.reused) == (9, 0)


def test_an_unwritable_folder_costs_nothing_but_the_next_run(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    references = References(blocked)
    due = References().enclose(ASKED)
    assert references.unwritable == ""
    for found, right in zip(references.enclose(ASKED), due, strict=True):
        assert found.real.head.tolist() == right.real.head.tolist()
    assert str(blocked) in references.unwritable
