"""Columns of enclosures, kept under the hash of all that determines them: program, inputs, the reference's own code."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache
from io import BytesIO
from pathlib import Path

import flint
import numpy as np

from audit.formats import Floats
from audit.reference.enclosure import Enclosures

# Beyond this the columns used least recently are forgotten in memory; those on disk stay.
MEMORY_BYTES = 128 * 2**20

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
_DIGEST_BYTES = 16


@cache
def code_version() -> str:
    """A hash of the source of this package and of the version of FLINT's wrapper."""
    digest = hashlib.blake2b(flint.__version__.encode(), digest_size=_DIGEST_BYTES)
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def key(text: str, inputs: Iterable[tuple[str, Floats]]) -> str:
    """The hash under which a column is kept.

    Args:
        text: everything that says what is computed.
        inputs: name and numbers of each input.
    """
    digest = hashlib.blake2b(f"{code_version()}\n{text}\n".encode(), digest_size=_DIGEST_BYTES)
    for name, numbers in inputs:
        digest.update(f"{name} {numbers.size}\n".encode())
        digest.update(np.ascontiguousarray(numbers).data)
    return digest.hexdigest()


class Store:
    """Columns of enclosures by key, in memory and, if a folder is given, on disk.

    A file that is truncated, foreign or damaged counts as absent. Files are written under another name and renamed,
    so that a reader never sees half of one.

    Attributes:
        unwritable: why values are kept in memory only, although there is a folder; empty as long as they are written.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.unwritable = ""
        self._memory: OrderedDict[str, list[Enclosures]] = OrderedDict()
        self._bytes = 0

    def get(self, name: str, parts: int, count: int) -> list[Enclosures] | None:
        """The enclosures kept under a key, None if there are none.

        Args:
            name: the key.
            parts: how many enclosures there must be.
            count: their common length.
        """
        if not parts:
            # The column of an array without elements needs no keeping.
            return []
        found = self._memory.get(name)
        if found is None and self._folder is not None:
            found = _read(self._path(name), parts, count)
            if found is not None:
                self._remember(name, found)
        elif found is not None:
            self._memory.move_to_end(name)
        return found

    def put(self, name: str, column: Sequence[Enclosures]) -> None:
        """Keep enclosures of equal length under a key; in memory only, from the first failure to write on."""
        self._remember(name, list(column))
        if self._folder is not None and not self.unwritable:
            try:
                _write(self._path(name), column)
            except OSError as error:
                self.unwritable = f"{self._folder} cannot be written to: {error.strerror or error}"

    def _path(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / name[:2] / f"{name}.column"

    def _remember(self, name: str, column: list[Enclosures]) -> None:
        self._memory[name] = column
        self._bytes += _size(column)
        while self._bytes > MEMORY_BYTES and len(self._memory) > 1:
            self._bytes -= _size(self._memory.popitem(last=False)[1])


def _size(column: Sequence[Enclosures]) -> int:
    return sum(len(part) for part in column) * _RECORD.itemsize


def _write(path: Path, column: Sequence[Enclosures]) -> None:
    records = np.empty((len(column), len(column[0])), _RECORD)
    for row, part in zip(records, column, strict=True):
        for field in fields(Enclosures):
            row[field.name] = getattr(part, field.name)
    buffer = BytesIO()
    np.save(buffer, records, allow_pickle=False)
    content = buffer.getbuffer()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest())
            file.write(content)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _read(path: Path, parts: int, count: int) -> list[Enclosures] | None:
    try:
        content = path.read_bytes()
        digest, content = content[:_DIGEST_BYTES], memoryview(content)[_DIGEST_BYTES:]
        if hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest() != digest:
            return None
        records = np.load(BytesIO(content), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if records.dtype != _RECORD or records.shape != (parts, count):
        return None
    return [
        Enclosures(**{field.name: np.ascontiguousarray(row[field.name]) for field in fields(Enclosures)})
        for row in records
    ]
