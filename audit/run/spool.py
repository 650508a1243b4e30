"""Rows of the finished units of a shard that kills its workers, kept until the shard is done: none is asked twice."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from audit.run.blame import Unit

_SAID = b"gradaudit.said"


@dataclass(frozen=True)
class Spool:
    """A folder of tables, one a unit.

    Args:
        folder: it is made when the first table is written.
        fresh: whether what it holds is not to be read: all is asked again.
    """

    folder: Path
    fresh: bool = False

    def read(self, unit: Unit) -> tuple[pa.Table, list[str]] | None:
        """The rows of a unit and the contradictions that came up with them; None if it is not finished."""
        path = self._path(unit)
        if self.fresh or not path.exists():
            return None
        with pa.OSFile(str(path)) as file:
            table = pa.ipc.open_file(file).read_all()
        return table.replace_schema_metadata(None), json.loads((table.schema.metadata or {})[_SAID])

    def write(self, unit: Unit, table: pa.Table, said: Sequence[str]) -> None:
        """Keep the rows of a unit.

        Raises:
            OSError: the folder cannot be written to.
        """
        path = self._path(unit)
        self.folder.mkdir(parents=True, exist_ok=True)
        # Renamed, since the process may die at any time; not synchronised, since nobody reads it after a loss of power.
        temporary = path.with_suffix(".part")
        table = table.unify_dictionaries().replace_schema_metadata({_SAID: json.dumps(list(said)).encode()})
        with pa.OSFile(str(temporary), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        temporary.replace(path)

    def clear(self) -> None:
        """Forget all."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, unit: Unit) -> Path:
        return self.folder / f"{unit.batch}-{unit.implementation}.arrow"
