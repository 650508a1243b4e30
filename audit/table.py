"""Rows from arrays: the Arrow table of one argument of a batch, as one implementation answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from audit.case import Batch
from audit.difference import Witness
from audit.formats import Bits, Floats, Format
from audit.identity import Origin, encodings, identify
from audit.modes import Got
from audit.reference.enclosure import Right, Rounded
from audit.rows import SCHEMA, write_shapes
from audit.verdict import VERDICTS, Judgement

_VERDICT_WORDS = pa.array([str(verdict) for verdict in VERDICTS])
_NO_WORDS = pa.array([], pa.string())


@dataclass(frozen=True)
class Asked:
    """A batch as its rows show it, made once for all arguments and implementations."""

    batch: Batch
    origin: Origin
    made: dict[str, dict[str, pa.Array]] = field(default_factory=dict)

    @cached_property
    def encodings(self) -> tuple[Bits, Bits]:
        """Encodings of primals and weights."""
        return encodings(self.batch)

    @cached_property
    def coded(self) -> dict[str, str]:
        """The columns that are the same in all rows."""
        batch, names = self.batch, self.batch.function.arguments
        shapes = {name: primal.shape[1:] for name, primal in zip(names, batch.primals, strict=True)}
        formats = ["" if fmt is batch.format else fmt.name for fmt in (*batch.argument_formats, *batch.weight_formats)]
        return {
            "series": self.origin.series,
            "case": self.origin.case,
            "group": batch.group,
            "function": batch.function.name,
            "format": batch.format.name,
            "mode": batch.mode.kind,
            "traced": ",".join(names[i] for i in batch.mode.traced),
            "layout": batch.layout,
            "wrap": batch.wrap,
            "shapes": write_shapes(shapes, [weight.shape[1:] for weight in batch.weights], formats),
        }

    def shared(self, argument: str, elements: int) -> dict[str, pa.Array]:
        """The columns that do not depend on the implementation."""
        if argument not in self.made:
            self.made[argument] = self._make(argument, elements)
        return self.made[argument]

    def _make(self, argument: str, elements: int) -> dict[str, pa.Array]:
        points, rows = self.batch.points, self.batch.points * elements
        primals, weights = self.encodings
        coded = self.coded | {"argument": argument, "got_format": self.batch.format_of(argument).name}
        return {name: _constant(text, rows) for name, text in coded.items()} | {
            "id": pa.array(identify(self.batch, self.origin, argument, elements)),
            "point": pa.array(np.repeat(np.arange(points, dtype=np.int32), elements)),
            "element": pa.array(np.tile(np.arange(elements, dtype=np.int32), points)),
            "primals": _lists(primals, elements),
            "weights": _lists(weights, elements),
        }


@dataclass(frozen=True)
class Compared:
    """What is known of the rows of one argument of a batch.

    Args:
        asked: the batch.
        implementation, argument: names.
        elements: number of elements a point.
        got: what was returned; None if nothing was.
        right, right_imag: right values by component; the second is None for real formats.
        judged, witness: verdicts and central differences, a row each.
        forward_wrong: bool [rows].
        message: what was raised, or why there is nothing to compare.
        convention: bool [rows], whether got is one of several right values.
    """

    asked: Asked
    implementation: str
    argument: str
    elements: int
    got: Got | None
    right: Right
    right_imag: Right | None
    judged: Judgement
    witness: Witness
    forward_wrong: NDArray[np.bool_]
    message: str
    convention: NDArray[np.bool_]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.asked.batch.points * self.elements


def tabulate(compared: Compared) -> pa.Table:
    """The rows, with the columns of `audit.rows.SCHEMA`, point-major."""
    rows, judged, got = compared.rows, compared.judged, compared.got
    fmt = compared.asked.batch.format_of(compared.argument)
    columns = compared.asked.shared(compared.argument, compared.elements) | {
        "implementation": _constant(compared.implementation, rows),
        "got": _encoded(got.real if got else None, fmt, rows),
        "got_imag": _encoded(got.imag if got else None, fmt, rows),
        **_right_columns(compared.right, "", rows),
        **_right_columns(compared.right_imag, "_imag", rows),
        "error": _nullable(judged.error),
        "tolerance": _nullable(judged.tolerance),
        "allowance": _nullable(judged.allowance),
        "verdict": pa.DictionaryArray.from_arrays(pa.array(judged.verdict.astype(np.int16)), _VERDICT_WORDS),
        "absolute_mismatch": _absolute_mismatch(compared),
        "forward_wrong": pa.array(compared.forward_wrong),
        "convention": pa.array(compared.convention),
        "witness": _nullable(compared.witness.value),
        "witness_bound": _nullable(compared.witness.bound),
        "message": _constant(compared.message or None, rows),
    }
    return pa.table([columns[field.name] for field in SCHEMA], schema=SCHEMA)


def _absolute_mismatch(compared: Compared) -> pa.Array:
    """The original report's test, for the named series: ``abs(got - right) > t + t * abs(right)``."""
    batch, got = compared.asked.batch, compared.got
    if batch.tolerance.relative is None or got is None:
        return pa.nulls(compared.rows, pa.bool_())
    t = batch.tolerance.relative[batch.format.name]
    pairs = [(got.real.reshape(-1), compared.right)]
    if compared.right_imag is not None and got.imag is not None:
        pairs.append((got.imag.reshape(-1), compared.right_imag))
    mismatch, known = np.zeros(compared.rows, bool), np.ones(compared.rows, bool)
    for numbers, due in pairs:
        with np.errstate(invalid="ignore"):
            mismatch |= ~(np.abs(numbers - due.value) <= t + t * np.abs(due.value))
        known &= due.where <= Rounded.UNDERFLOWS
    return pa.array(mismatch, mask=~known)


def _constant(text: str | None, rows: int) -> pa.Array:
    if text is None:
        return pa.DictionaryArray.from_arrays(pa.nulls(rows, pa.int16()), _NO_WORDS)
    indices = pa.Array.from_buffers(pa.int16(), rows, [None, pa.py_buffer(bytes(2 * rows))])
    return pa.DictionaryArray.from_arrays(indices, _word(text))


@lru_cache(maxsize=1024)
def _word(text: str) -> pa.Array:
    return pa.array([text])


def _lists(table: Bits, elements: int) -> pa.Array:
    wide = np.repeat(table, elements, axis=0)
    offsets = np.arange(len(wide) + 1, dtype=np.int32) * table.shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(wide.reshape(-1)))


def _encoded(numbers: Floats | None, fmt: Format, rows: int) -> pa.Array:
    if numbers is None:
        return pa.nulls(rows, pa.uint64())
    return pa.array(fmt.to_bits(numbers.reshape(-1)))


def _right_columns(right: Right | None, suffix: str, rows: int) -> dict[str, pa.Array]:
    names = [f"right{suffix}", f"residual{suffix}", f"radius{suffix}"]
    if right is None:
        return {name: pa.nulls(rows, pa.float64()) for name in names}
    unknown = right.where >= Rounded.UNDEFINED
    return {
        name: pa.array(numbers, mask=unknown)
        for name, numbers in zip(names, (right.value, right.residual, right.radius), strict=True)
    }


def _nullable(numbers: Floats) -> pa.Array:
    return pa.array(numbers, mask=np.isnan(numbers))
