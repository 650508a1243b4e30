"""Right values, kept under the hash of all that determines them: program, inputs, the reference's own code.

Three kinds of entry: the columns of enclosures; the hulls of results that are sets; and outlines, which say what the
columns of a question are, so that a column can be found without recording its program. They are rows of one SQLite
database, which several processes read and write, and which survives the death of any of them.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from audit.reference.enclosure import Enclosures

# Beyond this the columns used least recently are forgotten in memory; those on disk stay.
MEMORY_BYTES = 128 * 2**20
# Entries are written together once they are that many, or that many bytes: a transaction costs more than an entry.
PENDING_ENTRIES, PENDING_BYTES = 512, 8 * 2**20
# How long a process waits for another that writes, in seconds.
PATIENCE = 60.0
NAME = "references.sqlite"

_FIELDS = tuple(field.name for field in fields(Enclosures))
_RECORD = np.dtype(
    [
        ("head", "<f8"),
        ("tail", "<f8"),
        ("radius", "<f8"),
        ("exponent", "<i8"),
        ("state", "u1"),
        ("terms", "<f8"),
        ("terms_exponent", "<i8"),
    ]
)
_CORNER = np.dtype(
    [
        ("hull", "<i8"),
        ("vertex", "<i8"),
        ("point", "<i8"),
        ("column", "<i8"),
        ("lane", "<i8"),
        *((name, _RECORD[name]) for name in _RECORD.names or ()),
    ]
)
_DIGEST_BYTES = 16


@cache
def code_version() -> str:
    """A hash of the source of this package and of the version of FLINT's wrapper."""
    digest = hashlib.blake2b(flint.__version__.encode(), digest_size=_DIGEST_BYTES)
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def key(text: str, inputs: Iterable[tuple[str, NDArray[Any]]] = ()) -> str:
    """The hash under which something is kept.

    Args:
        text: everything that says what is computed.
        inputs: name and numbers of each input.
    """
    digest = hashlib.blake2b(f"{code_version()}\n{text}\n".encode(), digest_size=_DIGEST_BYTES)
    for name, numbers in inputs:
        digest.update(f"{name} {numbers.shape} {numbers.dtype.str}\n".encode())
        digest.update(np.ascontiguousarray(numbers).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


@dataclass(frozen=True)
class Corners:
    """The hull of results that belong together, at one point.

    Args:
        point: index of the point.
        columns, lanes: of each result, the index of its column and its lane there.
        vertices: ``[vertices, results]``.
    """

    point: int
    columns: NDArray[np.int64]
    lanes: NDArray[np.int64]
    vertices: Enclosures


@dataclass(frozen=True)
class Outline:
    """What is asked about one column, without the program that computes it.

    Args:
        argument, shape, parts: as in `Column`.
        count: how many lanes it has.
        text: a hash of all that says what is computed.
        arrays: names of the arrays of numbers that it depends on.
    """

    argument: str
    shape: tuple[int, ...]
    parts: int
    count: int
    text: str
    arrays: tuple[str, ...]


class Store:
    """Columns of enclosures by key, in memory and, if a folder is given, on disk.

    An entry that is truncated, foreign or damaged counts as absent, and so does a whole database. Entries reach the
    disk when enough of them wait, and with `flush`.

    Attributes:
        unwritable: why values are kept in memory only, although there is a folder; empty as long as they are written.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.unwritable = ""
        self._memory: OrderedDict[str, Enclosures] = OrderedDict()
        self._bytes = 0
        self._hulls: dict[str, list[Corners]] = {}
        self._outlines: dict[str, list[Outline]] = {}
        self._pending: dict[tuple[str, str], bytes] = {}
        self._pending_bytes = 0
        self._database: sqlite3.Connection | None = None

    def get(self, name: str, lanes: int, points: int) -> Enclosures | None:
        """The enclosures ``[lanes, points]`` kept under a key, None if there are none of that shape."""
        found = self._memory.get(name)
        if found is not None:
            self._memory.move_to_end(name)
            return found
        records = self._read(name, "column", _RECORD)
        if records is None or records.shape != (lanes, points):
            return None
        found = Enclosures(**{field: np.ascontiguousarray(records[field]) for field in _FIELDS})
        self._remember(name, found)
        return found

    def put(self, name: str, column: Enclosures) -> None:
        """Keep enclosures ``[lanes, points]`` under a key; in memory only, from the first failure to write on."""
        self._remember(name, column)
        records = np.empty(column.head.shape, _RECORD)
        for field in _FIELDS:
            records[field] = getattr(column, field)
        self._write(name, "column", records)

    def get_hulls(self, name: str) -> list[Corners] | None:
        """The hulls kept under a key."""
        if name not in self._hulls:
            table = self._read(name, "hulls", _CORNER)
            if table is None:
                return None
            self._hulls[name] = _hulls(table)
        return self._hulls[name]

    def put_hulls(self, name: str, hulls: Sequence[Corners]) -> None:
        """Keep hulls under a key."""
        self._hulls[name] = list(hulls)
        self._write(name, "hulls", _table(hulls))

    def get_outlines(self, name: str) -> list[Outline] | None:
        """What the columns of a question are, if it was asked before."""
        if name not in self._outlines:
            content = self._load(name, "outline")
            if content is None:
                return None
            try:
                found = [Outline(**entry) for entry in json.loads(content)]
            except (ValueError, TypeError):
                return None
            self._outlines[name] = [
                Outline(o.argument, tuple(o.shape), o.parts, o.count, o.text, tuple(o.arrays)) for o in found
            ]
        return self._outlines[name]

    def put_outlines(self, name: str, outlines: Sequence[Outline]) -> None:
        """Keep what the columns of a question are."""
        self._outlines[name] = list(outlines)
        self._save(name, "outline", json.dumps([vars(outline) for outline in outlines]).encode())

    def flush(self) -> None:
        """Write what waits to be written."""
        pending, self._pending, self._pending_bytes = self._pending, {}, 0
        if not pending or self._folder is None or self.unwritable:
            return
        try:
            try:
                self._insert(self._folder, pending)
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                # What is damaged as a whole is begun anew.
                self._database = None
                for name in (NAME, f"{NAME}-wal", f"{NAME}-shm"):
                    (self._folder / name).unlink(missing_ok=True)
                self._insert(self._folder, pending)
        except (OSError, sqlite3.Error) as error:
            self._database = None
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            self.unwritable = f"{self._folder / NAME} cannot be written to: {reason}"

    def _insert(self, folder: Path, entries: dict[tuple[str, str], bytes]) -> None:
        with self._opened(folder) as database:
            database.executemany(
                "insert or replace into kept values (?, ?, ?)",
                ((name, kind, content) for (name, kind), content in entries.items()),
            )

    def _opened(self, folder: Path) -> sqlite3.Connection:
        if self._database is None:
            folder.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(folder / NAME, timeout=PATIENCE)
            # Others read while one writes; a loss of power may take the last entries, never those before.
            database.execute("pragma journal_mode = wal")
            database.execute("pragma synchronous = normal")
            database.execute(
                "create table if not exists kept "
                "(name text, kind text, content blob, primary key (name, kind)) without rowid"
            )
            self._database = database
        return self._database

    def _remember(self, name: str, column: Enclosures) -> None:
        if name in self._memory:
            self._bytes -= _size(self._memory.pop(name))
        self._memory[name] = column
        self._bytes += _size(column)
        while self._bytes > MEMORY_BYTES and len(self._memory) > 1:
            self._bytes -= _size(self._memory.popitem(last=False)[1])

    def _read(self, name: str, kind: str, dtype: np.dtype[Any]) -> NDArray[Any] | None:
        content = self._load(name, kind)
        if content is None:
            return None
        try:
            records = np.load(BytesIO(content), allow_pickle=False)
        except (ValueError, EOFError):
            return None
        return records if records.dtype == dtype else None

    def _load(self, name: str, kind: str) -> bytes | None:
        """What is kept under a key, None if nothing is, or nothing that can be believed."""
        if self._folder is None:
            return None
        content = self._pending.get((name, kind))
        if content is None and (self._database or (self._folder / NAME).exists()) and not self.unwritable:
            try:
                found = self._opened(self._folder).execute(
                    "select content from kept where name = ? and kind = ?", (name, kind)
                )
                content = next((content for (content,) in found), None)
            except (OSError, sqlite3.Error):
                # What is wrong is told when it is written to.
                self._database = None
        if not isinstance(content, bytes) or _digest(content[_DIGEST_BYTES:]) != content[:_DIGEST_BYTES]:
            return None
        return content[_DIGEST_BYTES:]

    def _write(self, name: str, kind: str, records: NDArray[Any]) -> None:
        if self._folder is None:
            return
        buffer = BytesIO()
        np.save(buffer, records, allow_pickle=False)
        self._save(name, kind, buffer.getvalue())

    def _save(self, name: str, kind: str, content: bytes) -> None:
        if self._folder is None or self.unwritable:
            return
        self._pending[name, kind] = _digest(content) + content
        self._pending_bytes += len(content)
        if len(self._pending) >= PENDING_ENTRIES or self._pending_bytes >= PENDING_BYTES:
            self.flush()


def _size(column: Enclosures) -> int:
    return column.head.size * _RECORD.itemsize


def _table(hulls: Sequence[Corners]) -> NDArray[Any]:
    tables = []
    for index, hull in enumerate(hulls):
        table = np.empty(hull.vertices.head.shape, _CORNER)
        table["hull"], table["point"] = index, hull.point
        table["vertex"] = np.arange(len(table))[:, None]
        table["column"], table["lane"] = hull.columns, hull.lanes
        for field in _FIELDS:
            table[field] = getattr(hull.vertices, field)
        tables.append(table.reshape(-1))
    return np.concatenate(tables) if tables else np.empty(0, _CORNER)


def _hulls(table: NDArray[Any]) -> list[Corners]:
    found = []
    for index in range(int(table["hull"].max(initial=-1)) + 1):
        part = table[table["hull"] == index]
        corners = part.reshape(int(part["vertex"].max()) + 1, -1)
        vertices = Enclosures(**{field: np.ascontiguousarray(corners[field]) for field in _FIELDS})
        found.append(Corners(int(part["point"][0]), corners["column"][0], corners["lane"][0], vertices))
    return found


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()
