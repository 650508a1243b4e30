"""References kept between runs: nothing is computed twice, and nothing damaged is believed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from audit.case import Batch
from audit.formats import COMPLEX64
from audit.reference import Answer, Enclosures, References, store
from tests.reference_examples import IDENTITY, MATMUL, QUOTIENT, SCALED, batch

PRIMALS, WEIGHTS = [[1.5, 3.0, 0.0], [0.75, -2.0, 0.0]], [[1.0, -0.5, 1.0]]
Damage = Callable[[bytes], bytes]
ASKED = batch(QUOTIENT, "vjp", (0, 1), PRIMALS, WEIGHTS)


def equal(one: list[Answer], other: list[Answer]) -> bool:
    pairs = [(x.real, y.real) for x, y in zip(one, other, strict=True)]
    pairs += [(x.imag, y.imag) for x, y in zip(one, other, strict=True) if x.imag and y.imag]
    return all(
        np.array_equal(getattr(x, field.name), getattr(y, field.name), equal_nan=True)
        for x, y in pairs
        for field in fields(Enclosures)
    )


def entries(folder: Path) -> list[tuple[str, str, bytes]]:
    database = sqlite3.connect(folder / store.NAME)
    found = database.execute("select name, kind, content from kept order by kind, name").fetchall()
    database.close()
    return found


def enclosed(folder: Path, *asked: Batch) -> list[Answer]:
    """The answers to the last, all kept."""
    references = References(folder)
    answers = [references.enclose(one) for one in asked]
    references.keep()
    return answers[-1]


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
    first.keep()
    second = References(tmp_path)
    assert equal(computed, second.enclose(asked))  # type: ignore[arg-type]
    assert second.computed == 0
    assert second.reused == first.computed > 0


def test_entries_wait_until_they_are_many_or_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    references = References(tmp_path)
    references.enclose(ASKED)
    assert not (tmp_path / store.NAME).exists()
    references.keep()
    assert [kind for _, kind, _ in entries(tmp_path)] == ["column", "column", "outline"]
    for limit in ("PENDING_ENTRIES", "PENDING_BYTES"):
        with monkeypatch.context() as patched:
            patched.setattr(store, limit, 1)
            References(tmp_path / limit).enclose(ASKED)
        assert [kind for _, kind, _ in entries(tmp_path / limit)] == ["column", "column", "outline"]


def test_what_waits_is_found_even_if_memory_forgot_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MEMORY_BYTES", 1)
    references = References(tmp_path)
    references.enclose(ASKED)
    references.enclose(ASKED)
    assert (references.computed, references.reused) == (6, 6)


def test_two_processes_write_to_one_store(tmp_path: Path) -> None:
    """Neither loses anything: both hold the database open, and write in turn."""
    one, other = References(tmp_path), References(tmp_path)
    second = batch(SCALED, "grad1", (1,), [[1.0], [1.0]], [[1.0]])
    for references, asked in ((one, ASKED), (other, second)):
        references.enclose(asked)
        references.keep()
    one.enclose(second)
    other.enclose(ASKED)
    assert (one.reused, other.reused) == (1, 6)


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
def test_a_damaged_entry_is_computed_again(damage: Damage, tmp_path: Path) -> None:
    computed = enclosed(tmp_path, ASKED)
    database = sqlite3.connect(tmp_path / store.NAME)
    with database:
        for name, kind, content in entries(tmp_path):
            database.execute("update kept set content = ? where name = ? and kind = ?", (damage(content), name, kind))
    database.close()
    references = References(tmp_path)
    assert equal(computed, references.enclose(ASKED))
    assert (references.computed, references.reused) == (6, 0)
    references.keep()
    again = References(tmp_path)
    again.enclose(ASKED)
    assert again.reused == 6


@pytest.mark.parametrize("content", [b"", b"something else altogether" * 100], ids=["empty", "foreign"])
def test_a_damaged_database_is_begun_anew(content: bytes, tmp_path: Path) -> None:
    computed = enclosed(tmp_path, ASKED)
    for path in tmp_path.iterdir():
        path.unlink()
    (tmp_path / store.NAME).write_bytes(content)
    references = References(tmp_path)
    assert equal(computed, references.enclose(ASKED))
    references.keep()
    assert references.unwritable == ""
    again = References(tmp_path)
    again.enclose(ASKED)
    assert (again.computed, again.reused) == (0, 6)


def test_an_entry_of_another_shape_is_not_taken(tmp_path: Path) -> None:
    enclosed(tmp_path, ASKED)
    (name, *_), *_ = entries(tmp_path)
    kept = store.Store(tmp_path)
    assert kept.get(name, 1, 3) is not None
    assert store.Store(tmp_path).get(name, 2, 7) is None


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
    assert equal(references.enclose(ASKED), due)
    references.keep()
    assert str(blocked) in references.unwritable
    references.enclose(batch(SCALED, "grad1", (1,), [[1.0], [1.0]], [[1.0]]))
    references.keep()
