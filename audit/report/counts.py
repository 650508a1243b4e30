"""Counts of comparisons, mismatches and verdicts over tables of rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from audit.rows import SCHEMA
from audit.store import Filters
from audit.verdict import MISMATCHES, VERDICTS

FAMILIES = "families"

# What counting and comparing runs need of every row.
COUNTED = ("id", "series", "implementation", "format", "group", "verdict", "absolute_mismatch", "got", "got_imag")
NAMED: Filters = [("series", "!=", FAMILIES)]


def counts(rows: pa.Table) -> dict[str, Any]:
    """Comparisons, mismatches, absolute mismatches, and how often each verdict was given."""
    return next(iter(_grouped(rows, np.zeros(len(rows), np.int64), ["all"]).values()))


def counts_by(rows: pa.Table, column: str) -> dict[str, dict[str, Any]]:
    """`counts` for each value of a coded column, in the order in which the values first appear."""
    codes, names = coded(rows, column)
    present, first = np.unique(codes, return_index=True)
    grouped = _grouped(rows, codes, names)
    return {names[code]: grouped[names[code]] for code in present[np.argsort(first)]}


def coded(rows: pa.Table, column: str) -> tuple[NDArray[np.int64], list[str]]:
    """A coded column as indices, int64 [rows], into a list of names."""
    array = _one_chunk(rows, column)
    return array.indices.to_numpy(zero_copy_only=False).astype(np.int64), array.dictionary.to_pylist()


def chosen(rows: pa.Table, column: str, wanted: Callable[[str], bool]) -> NDArray[np.bool_]:
    """Which rows have a value in a coded column for which `wanted` holds."""
    codes, names = coded(rows, column)
    return np.array([wanted(name) for name in names] or [False])[codes]


def mismatching(rows: pa.Table) -> NDArray[np.bool_]:
    """Which rows are mismatches."""
    return chosen(rows, "verdict", lambda name: name in MISMATCHES)


def of_implementation(rows: pa.Table, name: str) -> pa.Table:
    """The rows of one implementation."""
    return rows.filter(pa.array(chosen(rows, "implementation", lambda value: value == name)))


def split_series(rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The rows of the named series, and those of the scale families."""
    family = chosen(rows, "series", lambda value: value == FAMILIES)
    return rows.filter(pa.array(~family)), rows.filter(pa.array(family))


def plan_hash(rows: pa.Table) -> str:
    """SHA-256 of the rows' ids, big-endian, in order: equal for equal plans, whatever was found."""
    return hashlib.sha256(rows["id"].to_numpy().astype(">u8").tobytes()).hexdigest()


def _grouped(rows: pa.Table, codes: NDArray[np.int64], names: list[str]) -> dict[str, dict[str, Any]]:
    verdict_codes, verdicts = coded(rows, "verdict")
    shape = (len(names), max(len(verdicts), 1))
    per_verdict = np.bincount(codes * shape[1] + verdict_codes, minlength=shape[0] * shape[1]).reshape(shape)
    absolute = pc.fill_null(rows["absolute_mismatch"], False).to_numpy().astype(bool)
    absolute_counts = np.bincount(codes[absolute], minlength=len(names))
    table = {}
    for index, name in enumerate(names):
        found = {verdict: int(n) for verdict, n in zip(verdicts, per_verdict[index], strict=False)}
        table[name] = {
            "comparisons": int(per_verdict[index].sum()),
            "mismatches": sum(n for verdict, n in found.items() if verdict in MISMATCHES),
            "absolute_mismatches": int(absolute_counts[index]),
            "verdicts": {str(verdict): found.get(verdict, 0) for verdict in VERDICTS},
        }
    return table


def _one_chunk(rows: pa.Table, column: str) -> pa.DictionaryArray:
    array = rows[column].unify_dictionaries().combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], pa.string()).dictionary_encode()
    return array.cast(SCHEMA.field(column).type)
