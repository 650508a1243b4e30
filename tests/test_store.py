from __future__ import annotations

import errno
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rows_by_hand import row, table

from audit import files
from audit.errors import AuditError
from audit.rows import SCHEMA, read_shapes, write_shapes
from audit.store import Store

FIRST = table([row(1), row(2, verdict="match")])
SECOND = table([row(3, group="traps", message="beyond the range")])
NAMES = ("divide/float32 a", "divide/float32 b")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "run")
    store.write(NAMES[1], SECOND)
    store.write(NAMES[0], FIRST)
    return store


def test_resuming_sees_finished_shards(store: Store) -> None:
    assert store.finished() == frozenset(NAMES)
    assert NAMES[0] in store
    assert "another" not in store


def test_sealing_keeps_every_row_in_plan_order(store: Store) -> None:
    path = store.seal(NAMES)
    assert pq.ParquetFile(path).num_row_groups == 2
    assert store.read().to_pylist() == FIRST.to_pylist() + SECOND.to_pylist()
    assert store.read([NAMES[1]]).to_pylist() == SECOND.to_pylist()
    assert store.finished() == frozenset(NAMES)
    assert [entry.name for entry in store.folder.iterdir()] == ["rows.parquet"]


def test_sealing_twice_changes_nothing(store: Store) -> None:
    before = store.seal(NAMES).read_bytes()
    assert store.seal(NAMES).read_bytes() == before


def test_sealing_names_what_is_missing(store: Store) -> None:
    with pytest.raises(AuditError, match="shards \\['c'\\] are not finished"):
        store.seal((*NAMES, "c"))
    assert store.finished() == frozenset(NAMES)
    assert not store.sealed.exists()


def test_rows_are_read_before_sealing(store: Store) -> None:
    assert store.read(NAMES).to_pylist() == FIRST.to_pylist() + SECOND.to_pylist()
    with pytest.raises(AuditError, match="not complete"):
        store.read()


def test_truncated_shard_is_named(store: Store) -> None:
    shard = next((store.folder / "shards").glob("*a.arrow"))
    shard.write_bytes(shard.read_bytes()[:-9])
    with pytest.raises(AuditError, match="%20a.arrow is truncated or damaged"):
        store.seal(NAMES)
    assert not store.sealed.exists()


def test_foreign_parquet_is_refused(tmp_path: Path) -> None:
    pq.write_table(FIRST.select(["id"]), tmp_path / "rows.parquet")
    with pytest.raises(AuditError, match="no comparison rows"):
        Store(tmp_path).read()


def test_foreign_columns_are_named() -> None:
    with pytest.raises(AuditError, match="radius"):
        Store(Path("unused")).write("a", FIRST.drop_columns(["radius"]))


def test_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(AuditError, match="report.json cannot be written: No space left"):
        files.write(tmp_path / "report.json", "{}")
    assert list(tmp_path.iterdir()) == []


def test_failing_writer_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    files.write(path, "old")

    def half_written() -> None:
        with files.replacing(path) as temporary:
            temporary.write_text("half")
            raise InterruptedError

    with pytest.raises(AuditError, match="a.txt cannot be written"):
        half_written()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_unwritable_folder_is_an_audit_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AuditError, match="cannot be written"):
        files.write(tmp_path / "file" / "report.json", "{}")


@pytest.mark.parametrize(("text", "message"), [('{"a": 1', "cut short"), ("\x89PNG", "not JSON")])
def test_broken_json_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(AuditError, match=f"a.json.*{message}"):
        files.read_json(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("arguments", "weights", "text"),
    [
        ({"a": (), "b": ()}, [()], "a() b(); ()"),
        ({"a": (2, 1), "b": (1, 3)}, [(2, 3)], "a(2,1) b(1,3); (2,3)"),
        ({"x": (5,)}, [], "x(5);"),
    ],
)
def test_shapes_round_trip(arguments: dict[str, tuple[int, ...]], weights: list[tuple[int, ...]], text: str) -> None:
    assert write_shapes(arguments, weights) == text
    assert read_shapes(text) == (arguments, weights)


def test_foreign_shapes_are_refused() -> None:
    with pytest.raises(AuditError, match="cannot be read"):
        read_shapes("a(2,1")


def test_a_shard_without_rows_is_finished_all_the_same(store: Store) -> None:
    store.write("empty", SCHEMA.empty_table(), "nothing to compare")
    assert store.remarks("empty") == "nothing to compare"
    assert store.sweep() == []
    assert store.read(["empty"]).num_rows == 0
    store.seal(["empty", *NAMES], "of all")
    assert store.read().to_pylist() == FIRST.to_pylist() + SECOND.to_pylist()
    assert store.finished() == {"empty", *NAMES}
    assert store.sealed_remarks() == "of all"


def test_what_a_killed_run_left_is_swept_away(store: Store) -> None:
    shards = store.folder / "shards"
    for place in (store.folder / ".rows.parquet.1.tmp", shards / ".a.arrow.1.tmp", store.spool("a") / "0-0.arrow"):
        place.parent.mkdir(exist_ok=True)
        place.write_text("half")
    damaged = next(shards.glob("*a.arrow"))
    damaged.write_bytes(damaged.read_bytes()[:-9])
    assert store.sweep() == [NAMES[0]]
    assert store.finished() == {NAMES[1]}
    assert [path.name for path in store.folder.rglob(".*")] == []
