"""The front door of the reference: right values of a batch, with proof."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit.case import Batch
from audit.errors import AuditError
from audit.formats import Floats
from audit.reference.certify import Block
from audit.reference.clock import Clock
from audit.reference.derivative import Column, columns
from audit.reference.enclosure import Enclosures, State
from audit.reference.fingerprint import fingerprint
from audit.reference.hulls import corners, gathered
from audit.reference.mapped import mapped_axes
from audit.reference.mpmath_check import Opinion, sample
from audit.reference.plan import Plan
from audit.reference.resolve import Group
from audit.reference.store import Corners, Outline, Store, key
from audit.watch import during

# Numbers held as balls at a time: points of a block times nodes of its program.
BLOCK_NUMBERS = 2**17
# A column of fewer points gets one opinion of mpmath.
FEW = 64
# mpmath looks at the first column of each operation, mode and argument, and at every so many-th of all others, if the
# function is not large: much the same is asked at the points of every format, and with other parameters.
EVERY_COLUMN, LARGE = 4, 500
# mpmath has no opinion of functions of more operations than this: it takes seconds, and the same functions of fewer
# elements are asked for too. Their Taylor coefficients are compared all the same.
LARGEST_OPINION = 2_000


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without looking for cycles: programs are hundreds of thousands of tuples, none of which refers back."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@dataclass(frozen=True)
class Hull:
    """The right set of elements that belong together, at one point: any convex combination of the vertices is right.

    Args:
        point: index of the point.
        answers: int [n], of each element the index of its answer.
        rows: int [n], of each element its place in the answer.
        parts: int [n], 1 for an imaginary part, otherwise 0.
        vertices: ``[vertices, n]``.
    """

    point: int
    answers: NDArray[np.int64]
    rows: NDArray[np.int64]
    parts: NDArray[np.int64]
    vertices: Enclosures


@dataclass(frozen=True)
class Answer:
    """Right values for one argument of a batch.

    Args:
        argument: ``"output"`` for forward and jvp, the argument's name for vjp and gradN, ``"a,b"`` for a Hessian
            entry.
        shape: shape of one point's elements, ``()`` for elementwise functions.
        real: ``[points * elements]``, point after point.
        imag: the same for the imaginary parts, None for real formats.
        hulls: of all answers to the batch: what is right where the state is SET.
    """

    argument: str
    shape: tuple[int, ...]
    real: Enclosures
    imag: Enclosures | None
    hulls: tuple[Hull, ...] = ()


def at_points(answers: Sequence[Answer], start: int, stop: int) -> list[Answer]:
    """The answers at some of their points."""
    sizes = np.array([prod(answer.shape) for answer in answers], np.int64)
    hulls = tuple(
        replace(hull, point=hull.point - start, rows=hull.rows - start * sizes[hull.answers])
        for hull in (answers[0].hulls if answers else ())
        if start <= hull.point < stop
    )
    found = []
    for answer, size in zip(answers, sizes.tolist(), strict=True):
        rows = slice(start * size, stop * size)
        imag = None if answer.imag is None else answer.imag.take(rows)
        found.append(replace(answer, real=answer.real.take(rows), imag=imag, hulls=hulls))
    return found


class References:
    """Right values, computed once and kept.

    Every value is enclosed by the reverse sweep on Arb balls (exact rationals where those leave doubt), must overlap
    with the Taylor coefficient of the function itself at every point, and is looked at by mpmath at some: in the first
    column of every operation, mode and argument, and in a part of all others that the hash of a column chooses. Where
    they disagree the value is INCONCLUSIVE and `disagreements` says so.

    The sizes of terms are given where the right value is zero, where the value is a sum (functions of arrays, complex
    numbers, a jvp along several arguments), and where the batch's tolerance allows for them. Elsewhere they are NaN.

    Args:
        folder: where values are kept between runs; None keeps them in memory only.
        opinions: points of each newly computed column that mpmath checks too; one, if the column is short.

    Attributes:
        computed, reused: real values, one per point, argument and order (two for a complex one).
        seconds: processor time by kind of work.
        disagreements: one message each.
        tangled: points whose ties have more resolutions than are looked at; their derivatives count as undefined.
    """

    def __init__(self, folder: Path | None = None, *, opinions: int = 4) -> None:
        self._store = Store(folder)
        self._opinions = opinions
        self._clock = Clock()
        self._kinds: set[tuple[str, str, str]] = set()
        self.computed = 0
        self.reused = 0
        self.tangled = 0
        self.disagreements: list[str] = []

    @property
    def unwritable(self) -> str:
        """Why values are not kept on disk, or an empty string."""
        return self._store.unwritable

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds of processor time by kind of work."""
        return self._clock.seconds

    @during("references")
    def keep(self) -> None:
        """Write to disk what is not yet there."""
        self._store.flush()

    @during("references")
    @_uncollected()
    def enclose(self, batch: Batch, *, exact: bool = False) -> list[Answer]:
        """The right values of a batch, one answer per compared argument.

        Args:
            batch: what is asked.
            exact: compute every value as an exact rational, which must lie in its ball. For named series.

        Raises:
            AuditError: the function uses an operation that the reference does not have, a derivative is asked for that
                it does not give, or an exact value of what is not a rational function.
        """
        self._clock.start()
        asked = _Asked(batch, exact=exact)
        outlines = self._store.get_outlines(asked.key) if asked.key else None
        if outlines is None:
            outlines = [_outline(column, exact=exact) for column in asked.columns]
            if asked.key:
                self._store.put_outlines(asked.key, outlines)
        self._clock.lap("trace")
        names = [key(outline.text, asked.inputs.items(outline.arrays)) for outline in outlines]
        found: dict[str, Enclosures] = {}
        for name, outline in zip(names, outlines, strict=True):
            kept = found[name] if name in found else self._store.get(name, outline.count, batch.points)
            if kept is not None:
                found[name] = kept
                self.reused += outline.count * batch.points
        self._clock.lap("store")
        if any(name not in found for name in names):
            missing = {name: column for name, column in zip(names, asked.columns, strict=True) if name not in found}
            found |= self._compute(asked, missing)
        columns_ = [found[name] for name in names]
        hulls = tuple(self._hulls(asked, outlines, names, columns_))
        return [_answer(outline, column, hulls) for outline, column in zip(outlines, columns_, strict=True)]

    def _compute(self, asked: _Asked, missing: dict[str, Column]) -> dict[str, Enclosures]:
        batch, plan = asked.batch, Plan(tuple(missing.values()))
        asked.computed = len(missing)
        if asked.exact and not plan.program.rational:
            raise AuditError(
                f"Batch {batch.group!r}: exact values are asked of {batch.function.text!r}, which is not a rational "
                "function: ask without exact=True."
            )
        parts: list[Enclosures] = []
        special: list[NDArray[np.bool_]] = []
        objections: list[tuple[int, int, str]] = []
        for start, stop in _blocks(batch.points, len(plan.program.nodes)):
            found = Block(plan, asked.inputs.block(start, stop), self._clock, exact=asked.exact).enclose()
            parts.append(found.enclosures)
            special.append(found.special)
            asked.sets.extend((start + point, group) for point, group in found.sets)
            self.tangled += found.tangled
            objections.extend((column, start + point, reason) for column, point, reason in found.objections)
        whole = Enclosures.join(parts, axis=1)
        joined = [whole.take(slice(lanes.start, lanes.stop)) for lanes in plan.ranges]
        self._clock.lap("convert")
        usual = ~np.concatenate(special)
        for index, (name, column) in enumerate(missing.items()):
            if self._looked_at(batch, name, column):
                objections.extend(
                    (index, point, reason) for point, reason in self._ask(batch, column, joined[index], usual)
                )
        self._clock.lap("mpmath")
        for index, point, reason in objections:
            where = f"{batch.group}, {batch.function.text}, {batch.mode.kind}, {plan.columns[index].argument}"
            self.disagreements.append(f"{where}, {asked.inputs.describe(point)}: {reason}")
        spoilt = {index for index, _, _ in objections}
        for index, (name, column) in enumerate(missing.items()):
            self.computed += column.count * batch.points
            # What is in doubt is computed, and reported, again.
            if index not in spoilt:
                self._store.put(name, joined[index])
        self._clock.lap("store")
        return dict(zip(missing, joined, strict=True))

    def _hulls(
        self, asked: _Asked, outlines: Sequence[Outline], names: list[str], found: list[Enclosures]
    ) -> Iterator[Hull]:
        """The hulls of what is a set, of all columns together."""
        sets = np.zeros(asked.batch.points, bool)
        for column in found:
            if (column.state == State.SET).any():
                sets |= np.any(column.state == State.SET, axis=0)
        if not sets.any():
            return
        name = key(" ".join(names))
        kept = self._store.get_hulls(name)
        if kept is None:
            plan = Plan(tuple(asked.columns))
            whole = asked.computed == len(asked.columns)
            kept = gathered(plan, asked.sets) if whole else None
            if kept is None:
                kept = corners(plan, asked.inputs, np.flatnonzero(sets))
            self._store.put_hulls(name, kept)
        self._clock.lap("hulls")
        yield from (_hull(corner, outlines) for corner in kept)

    def _looked_at(self, batch: Batch, name: str, column: Column) -> bool:
        """Whether mpmath looks at a column: at the first of its kind, and at a part of the others."""
        kind = (batch.function.name.partition("(")[0], batch.mode.kind, column.argument)
        first = kind not in self._kinds
        self._kinds.add(kind)
        return first or (int(name[:8], 16) % EVERY_COLUMN == 0 and column.meaning.function.work <= LARGE)

    def _ask(
        self, batch: Batch, column: Column, lanes: Enclosures, usual: NDArray[np.bool_]
    ) -> Iterator[tuple[int, str]]:
        """What mpmath objects to; the values are marked INCONCLUSIVE."""
        if column.meaning.function.work > LARGEST_OPINION:
            return
        known = np.flatnonzero(np.any(lanes.state == State.KNOWN, axis=0) & usual)
        for place in sample(len(known), min(self._opinions, 1 + len(known) // FEW)):
            point = int(known[place])
            opinion = Opinion(batch, column.meaning, point)
            reason = opinion.disagreement([lanes.take((slice(k, k + 1), point)) for k in range(column.count)])
            if reason:
                state = lanes.state[:, point]
                state[state == State.KNOWN] = State.INCONCLUSIVE
                yield point, reason


class _Asked:
    """A batch with what is made of it only when it is needed.

    Attributes:
        key: a hash of all that says what the columns are, except the numbers; None if that cannot be told.
        computed: how many columns had to be computed.
        sets: what was found to be sets when they were.
    """

    def __init__(self, batch: Batch, *, exact: bool) -> None:
        self.batch, self.exact = batch, exact
        self.inputs = Inputs(batch)
        self.sets: list[tuple[int, Group]] = []
        self.computed = 0
        self.key = _question(batch, exact=exact)

    @cached_property
    def columns(self) -> list[Column]:
        """The columns, whose programs are recorded now."""
        return columns(self.batch)


class Inputs:
    """The numbers of a batch, or of some of its points, by the names that programs use.

    Args:
        batch: whose numbers.
        start, stop: the points.
    """

    def __init__(self, batch: Batch, start: int = 0, stop: int | None = None) -> None:
        self._batch = batch
        self._arrays = {f"p{place}": primal[start:stop] for place, primal in enumerate(batch.primals)}
        self._arrays |= {f"w{place}": weight[start:stop] for place, weight in enumerate(batch.weights)}
        self.points = len(self._arrays["p0"])

    def __getitem__(self, name: str) -> Floats:
        array, element = name.removesuffix("i").split(".")
        whole = self._arrays[array].reshape(self.points, -1)
        # A result that depends on nothing, of an argument without elements, still has as many points as there are.
        numbers = whole[:, int(element)] if whole.shape[1] else np.zeros(self.points)
        return numbers.imag if name.endswith("i") else numbers.real

    def finite(self, arrays: Sequence[str]) -> NDArray[np.bool_]:
        """At which points all numbers of some arrays are finite."""
        found = np.ones(self.points, bool)
        for name in arrays:
            found &= np.isfinite(self._arrays[name].reshape(self.points, -1)).all(axis=1)
        return found

    def items(self, arrays: Sequence[str]) -> Iterator[tuple[str, NDArray[Any]]]:
        """Name and numbers of some arrays."""
        for name in arrays:
            yield name, self._arrays[name]

    def block(self, start: int, stop: int) -> Inputs:
        """The same at some points."""
        return Inputs(self._batch, start, stop)

    def describe(self, point: int) -> str:
        """A point in words."""
        names = {f"p{place}": name for place, name in enumerate(self._batch.function.arguments)}
        return ", ".join(f"{names.get(name, name)} = {array[point].tolist()!r}" for name, array in self._arrays.items())


def _question(batch: Batch, *, exact: bool) -> str | None:
    function, mode = batch.function, batch.mode
    told = fingerprint(function.body)
    if told is None:
        return None
    parts = [fmt.parts for fmt in (*batch.argument_formats, batch.result_format)]
    shapes = [array.shape[1:] for array in (*batch.primals, *batch.weights)]
    kind = "second" if mode.kind.startswith("second") else mode.kind
    return key(
        f"{told} {function.arguments} {function.elementwise} {parts} {shapes} {kind} {mode.traced} {batch.compared} "
        f"{mapped_axes(batch)} {batch.tolerance.terms > 0} {exact}"
    )


def _outline(column: Column, *, exact: bool) -> Outline:
    text = key(f"{column.text}\nexact {exact} cancels {column.cancels}")
    return Outline(column.argument, column.shape, column.parts, column.count, text, column.arrays)


def _hull(corner: Corners, outlines: Sequence[Outline]) -> Hull:
    parts = np.array([outlines[column].parts for column in corner.columns])
    elements = np.array([outlines[column].count // outlines[column].parts for column in corner.columns])
    rows = corner.point * elements + corner.lanes // parts
    return Hull(corner.point, corner.columns, rows, corner.lanes % parts, corner.vertices)


def _blocks(points: int, nodes: int) -> Iterator[tuple[int, int]]:
    size = max(1, BLOCK_NUMBERS // (nodes + 8))
    for start in range(0, points, size):
        yield start, min(start + size, points)


def _answer(outline: Outline, lanes: Enclosures, hulls: tuple[Hull, ...]) -> Answer:
    real = _flat(lanes.take(slice(0, None, outline.parts)))
    imag = _flat(lanes.take(slice(1, None, 2))) if outline.parts == 2 else None
    return Answer(outline.argument, outline.shape, real, imag, hulls)


def _flat(lanes: Enclosures) -> Enclosures:
    """Point after point."""
    return Enclosures(
        **{f.name: np.ascontiguousarray(getattr(lanes, f.name).T).reshape(-1) for f in fields(Enclosures)}
    )
