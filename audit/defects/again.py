"""One comparison as a question of its own, which can be changed and asked again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from audit.case import Batch, Implementation, Mode, Tolerance
from audit.comparison import Question, compare
from audit.defects.subjects import Subject
from audit.difference import Differences
from audit.errors import AuditError
from audit.formats import Floats, Format, lookup
from audit.identity import Origin
from audit.reference import References
from audit.report import record
from audit.rows import read_formats
from audit.verdict import MISMATCHES

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Place:
    """One comparison: a point of a question, and which number of its answer is looked at.

    Args:
        subject: whose derivative.
        batch: one point of it.
        argument: whose derivative, ``"output"`` for forward and jvp.
        element: flat index in it.
    """

    subject: Subject
    batch: Batch
    argument: str
    element: int

    @property
    def arrays(self) -> list[Floats]:
        """Primals, then weights, each ``[1, *shape]``."""
        return [*self.batch.primals, *self.batch.weights]

    def with_arrays(self, arrays: Sequence[Floats], fmt: Format | None = None) -> Place:
        """The same question of other numbers of the same shapes, in another format if one is given.

        Raises:
            AuditError: they are not numbers of the formats.
        """
        batch, count = self.batch, len(self.batch.primals)
        new = fmt or batch.format
        # Formats that differ from the batch's stay: they are not what is varied.
        formats = tuple(new if own is batch.format else own for own in batch.argument_formats) if batch.formats else ()
        result = new if batch.result is batch.format else batch.result
        primals, weights = tuple(arrays[:count]), tuple(arrays[count:])
        changes: dict[str, Any] = {"format": new, "formats": formats, "result": result}
        return replace(self, batch=replace(batch, primals=primals, weights=weights, **changes))

    def in_format(self, fmt: Format) -> Place:
        """The same question in another format.

        Raises:
            AuditError: a number is none of that format.
        """
        return self.with_arrays(self.arrays, fmt)

    def plain(self) -> Place:
        """Without a transform, of contiguous arrays."""
        return replace(self, batch=replace(self.batch, wrap="", layout="contiguous"))


def place_of(row: Row, subject: Subject) -> Place:
    """The question that a row answers.

    Args:
        row: a row as a mapping from column to value.
        subject: what it is about.

    Raises:
        AuditError: its inputs cannot be read.
    """
    arguments, weights = record.inputs(row)
    names = subject.function.arguments
    traced = tuple(names.index(name) for name in row["traced"].split(",") if name)
    fmt = lookup(row["format"])
    function = subject.function
    if function.elementwise and any(x.shape for x in (*arguments, *weights)):
        # An elementwise operation is asked of small arrays too.
        function = replace(function, elementwise=False)
    formats = tuple(lookup(name) for name in read_formats(row["shapes"], row["format"]))[: len(names)]
    own = all(x is fmt for x in formats)
    batch = Batch(
        row["group"],
        function,
        fmt,
        Mode(row["mode"], traced),
        tuple(_numbers(x) for x in arguments),
        tuple(_numbers(x) for x in weights),
        _tolerance(row, subject),
        layout=row["layout"],
        wrap=row["wrap"],
        formats=() if own else formats,
        result=_result(row, fmt, own=own),
    )
    return Place(subject, batch, row["argument"], row["element"])


def _result(row: Row, fmt: Format, *, own: bool) -> Format | None:
    """The format of the result: that of an output, or of the cotangent."""
    if row["argument"] == "output":
        result = record.got_format(row)
    else:
        names = read_formats(row["shapes"], row["format"])
        result = lookup(names[row["shapes"].split(";")[0].count("(")])
    return None if own and result is fmt else result


def _tolerance(row: Row, subject: Subject) -> Tolerance:
    tolerance = subject.tolerance
    if tolerance.relative is None and row["tolerance"] is not None and row["right"]:
        return replace(tolerance, ulps=max(tolerance.ulps, row["tolerance"]))
    return tolerance


def _numbers(x: record.Input) -> Any:
    parts = np.array(x.numbers, np.float64).reshape(-1, x.format.parts)
    flat = parts[:, 0]
    if x.format.parts == 2:
        # A sum loses the sign of a zero, and the other part beside an infinity.
        flat = np.empty(len(parts), np.complex128)
        flat.real, flat.imag = parts[:, 0], parts[:, 1]
    return flat.reshape(1, *x.shape)


@dataclass
class Asker:
    """Asks one implementation again, and remembers what is said.

    Args:
        implementation: who is asked.
        references: the right values.
        asked: number of points asked so far.
    """

    implementation: Implementation
    references: References
    asked: int = 0
    _differences: Differences = field(init=False)

    def __post_init__(self) -> None:
        self._differences = Differences(self.references)

    @property
    def contradictions(self) -> list[str]:
        """Where reference and second opinion, or reference and central difference, disagree."""
        return [*self.references.disagreements, *self._differences.contradictions]

    def rows(self, places: Sequence[Place], *, witness: bool = False) -> list[Row | None]:
        """One row for each of several points of one question; None where it cannot be asked.

        Args:
            places: alike but for their numbers.
            witness: whether central differences are taken too.
        """
        if not places:
            return []
        first = places[0]
        if first.batch.wrap.startswith(("vmap-in ", "vmap-out ")) and (len(places) > 1 or first.batch.points == 1):
            return [self._mapped(place, witness=witness) for place in places]
        self.asked += len(places)
        arrays = [np.concatenate(column) for column in zip(*(place.arrays for place in places), strict=True)]
        try:
            table = self._table(first.with_arrays(arrays), witness=witness)
        except AuditError:
            # A question that cannot be put is no evidence.
            return [None] if len(places) == 1 else [self.row(place, witness=witness) for place in places]
        found: dict[int, Row] = {entry["point"]: entry for entry in table.to_pylist()}
        return [found.get(index) for index in range(len(places))]

    def verdicts(self, place: Place) -> list[str]:
        """The verdict of every point of a question that has many; none where it cannot be asked."""
        self.asked += place.batch.points
        try:
            return self._table(place, witness=False)["verdict"].to_pylist()
        except AuditError:
            return []

    def _table(self, place: Place, *, witness: bool) -> pa.Table:
        """The rows of one number of the answer at every point."""
        answers = self.references.enclose(place.batch)
        taker = self._differences.of(place.batch) if witness else None
        question = Question(place.batch, Origin("again", "1", "again"), answers, taker)
        table = compare(question, self.implementation, self.references)
        own = (np.array(table["argument"].to_pylist()) == place.argument) & (
            table["element"].to_numpy() == place.element
        )
        return table.filter(pa.array(own))

    def _mapped(self, place: Place, *, witness: bool) -> Row | None:
        """A row of a mapped question, with another, twice as large, beside it: rows that are alike hide much."""
        axes = place.batch.wrap.partition(" ")[2].partition(">")[0].split(",")
        unmapped = [axis == "-" for axis in axes] + [False] * len(place.batch.weights)
        if place.batch.wrap.startswith("vmap-in "):
            tangents = [axes[i] == "-" for i in place.batch.mode.traced]
            unmapped[len(axes) :] = tangents if place.batch.mode.kind == "jvp" else [False, *tangents]
        pairs = zip(place.arrays, unmapped, strict=False)
        both = [np.concatenate([array, array if fixed else 2 * array]) for array, fixed in pairs]
        made = changed(lambda: place.with_arrays(both))
        return None if made is None else self.rows([made], witness=witness)[0]

    def row(self, place: Place, *, witness: bool = False) -> Row | None:
        """The row of one point; None where it cannot be asked."""
        return self.rows([place], witness=witness)[0]


def is_wrong(row: Row | None) -> bool:
    """Whether a row is a mismatch."""
    return row is not None and row["verdict"] in MISMATCHES


def changed(make: Callable[[], Place]) -> Place | None:
    """What a change gives, or None where it leaves the format."""
    try:
        return make()
    except AuditError:
        return None
