"""Comparison rows on disk: one Arrow file a shard while a run goes on, one Parquet file of all when it is done.

A shard's file appears whole or not at all, so resuming is seeing which are there. Sealing joins them in plan order, one
row group a shard; the names of the shards go into the file's metadata. The shards' files are read once and thrown away:
they are in the format that costs least to write and read, and the rows are encoded as Parquet once.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq

from audit.errors import AuditError
from audit.files import replacing
from audit.rows import SCHEMA

_SHARDS = b"gradaudit.shards"
_REMARKS = b"gradaudit.remarks"

Filters = list[tuple[str, str, object]]


@dataclass(frozen=True)
class Store:
    """The rows of one run.

    Args:
        folder: the folder of the run.
    """

    folder: Path

    @property
    def sealed(self) -> Path:
        """The file that holds all rows once the run is complete."""
        return self.folder / "rows.parquet"

    def __contains__(self, shard: str) -> bool:
        return shard in self.finished()

    def finished(self) -> frozenset[str]:
        """Names of the shards whose rows are on disk."""
        if self.sealed.exists():
            return frozenset(_sealed_shards(self.sealed))
        return frozenset(unquote(path.stem) for path in self._shards.glob("*.arrow"))

    def write(self, shard: str, rows: pa.Table, remarks: str = "") -> None:
        """Put a finished shard on disk.

        Args:
            shard: its name.
            rows: a table of `audit.rows.SCHEMA`.
            remarks: kept with the rows until the run is sealed.

        Raises:
            AuditError: the columns are not those of the schema, or the disk is full or not writable.
        """
        if rows.schema != SCHEMA:
            wrong = [f.name for f in SCHEMA if f.name not in rows.schema.names or rows.schema.field(f.name) != f]
            raise AuditError(f"Shard {shard!r}: columns {wrong} are not as in audit.rows.SCHEMA.")
        whole = rows.unify_dictionaries().combine_chunks()
        schema, options = SCHEMA.with_metadata({_REMARKS: remarks.encode()}), pa.ipc.IpcWriteOptions(compression="lz4")
        with (
            replacing(self._path(shard)) as temporary,
            pa.OSFile(str(temporary), "wb") as file,
            pa.ipc.new_file(file, schema, options=options) as writer,
        ):
            writer.write_table(whole)

    def remarks(self, shard: str) -> str:
        """What was written with a shard; empty if there was nothing, or once the run is sealed.

        Raises:
            AuditError: the shard's file is absent, truncated or not one of this audit.
        """
        return "" if self.sealed.exists() else _shard_remarks(self._path(shard)).decode()

    def sealed_remarks(self) -> str:
        """What the run was sealed with."""
        return _metadata(self.sealed).get(_REMARKS, b"").decode() if self.sealed.exists() else ""

    def spool(self, shard: str) -> Path:
        """A folder for what is left of a shard whose process died, until it is finished."""
        return self._shards / f".spool-{quote(shard, safe='')}"

    def sweep(self) -> list[str]:
        """Remove what a run that was killed left half done.

        Returns:
            Names of the shards whose files cannot be read, as after a loss of power: they are to be run again.
        """
        for path in (*self.folder.glob(".*.tmp"), *self._shards.glob(".*.tmp")):
            path.unlink(missing_ok=True)
        for path in self._shards.glob(".spool-*"):
            shutil.rmtree(path, ignore_errors=True)
        damaged = []
        for path in self._shards.glob("*.arrow"):
            try:
                _shard_remarks(path)
            except AuditError:
                path.unlink(missing_ok=True)
                damaged.append(unquote(path.stem))
        return damaged

    def read(self, shards: Sequence[str] | None = None) -> pa.Table:
        """Rows on disk, in plan order.

        Args:
            shards: names in plan order of those that are read; None means all of a sealed file.

        Raises:
            AuditError: a file is absent, truncated or not one of this audit.
        """
        if self.sealed.exists():
            names = _sealed_shards(self.sealed)
            if shards is None:
                return read_rows(self.sealed)
            groups = [names.index(shard) for shard in shards]
            return _checked(self.sealed, lambda: pq.ParquetFile(self.sealed).read_row_groups(groups))
        if shards is None:
            raise AuditError(f"{self.folder} has no rows.parquet: its run is not complete. Finish it with --resume.")
        parts = [_read_shard(self._path(shard)) for shard in shards]
        return pa.concat_tables(parts) if parts else SCHEMA.empty_table()

    def select(self, columns: Sequence[str] | None = None, filters: Filters | None = None) -> pa.Table:
        """Some columns, or some rows, of a sealed file: a long run has more rows than memory holds in full.

        Args:
            columns: names of the columns; None means all.
            filters: conditions that must all hold, e.g. ``[("series", "=", "families")]``.

        Raises:
            AuditError: the file is absent, truncated or not one of this audit.
        """
        _sealed_shards(self.sealed)
        wanted = SCHEMA if columns is None else pa.schema([SCHEMA.field(name) for name in columns])
        return _checked(
            self.sealed, lambda: pq.read_table(self.sealed, columns=wanted.names, filters=filters or None), wanted
        )

    def seal(self, order: Sequence[str], remarks: str = "") -> Path:
        """Join the shards into one file, one row group each, and remove their files.

        Args:
            order: names of all shards in plan order.
            remarks: kept with the rows; they should depend on nothing but the rows.

        Raises:
            AuditError: a shard is missing or cannot be read; what is on disk is left as it was.
        """
        if not self.sealed.exists():
            there = self.finished()
            missing = [shard for shard in order if shard not in there]
            if missing:
                raise AuditError(f"{self.folder}: shards {missing} are not finished. Go on with --resume.")
            names = json.dumps(list(order)).encode()
            schema = SCHEMA.with_metadata({_SHARDS: names, _REMARKS: remarks.encode()})
            with replacing(self.sealed) as temporary, _writer(temporary, schema) as writer:
                for part in self._parts(order):
                    writer.write_table(part, row_group_size=max(len(part), 1))
        shutil.rmtree(self._shards, ignore_errors=True)
        return self.sealed

    @property
    def _shards(self) -> Path:
        return self.folder / "shards"

    def _path(self, shard: str) -> Path:
        return self._shards / f"{quote(shard, safe='')}.arrow"

    def _parts(self, order: Sequence[str]) -> Iterator[pa.Table]:
        for shard in order:
            yield _read_shard(self._path(shard))


def read_rows(path: Path) -> pa.Table:
    """All rows of a Parquet file that the audit wrote, one chunk a column, one dictionary a coded column.

    Raises:
        AuditError: absent, truncated, or not a file of comparison rows.
    """
    return _checked(path, lambda: pq.read_table(path))


def _read_shard(path: Path) -> pa.Table:
    return _checked(path, lambda: _open(path).read_all())


def _shard_remarks(path: Path) -> bytes:
    try:
        return (_open(path).schema.metadata or {}).get(_REMARKS, b"")
    except (pa.ArrowException, OSError) as error:
        raise AuditError(f"{path} is truncated or damaged: {_first_line(error)} Delete it and run again.") from error


def _open(path: Path) -> pa.ipc.RecordBatchFileReader:
    return pa.ipc.open_file(pa.OSFile(str(path)))


def _checked(path: Path, load: Callable[[], pa.Table], schema: pa.Schema = SCHEMA) -> pa.Table:
    if not path.exists():
        raise AuditError(f"There is no file {path}.")
    try:
        table = load()
    except (pa.ArrowException, OSError) as error:
        raise AuditError(f"{path} is truncated or damaged: {_first_line(error)} Delete it and run again.") from error
    if table.schema.remove_metadata() != schema:
        raise AuditError(f"{path} holds no comparison rows of this version of the audit. Run again to write them.")
    return table.unify_dictionaries().combine_chunks().replace_schema_metadata(None)


def _metadata(path: Path) -> dict[bytes, bytes]:
    try:
        return pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise AuditError(f"{path} is truncated or damaged: {_first_line(error)} Delete it and run again.") from error


def _sealed_shards(path: Path) -> list[str]:
    metadata = _metadata(path)
    if _SHARDS not in metadata:
        raise AuditError(f"{path} holds no comparison rows of this audit. Name another folder with --output.")
    return json.loads(metadata[_SHARDS])


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(path, schema, compression="zstd")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") + "."
