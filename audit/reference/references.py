"""The front door of the reference: right values of a batch, with proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from audit.case import Batch
from audit.errors import AuditError
from audit.formats import Floats
from audit.reference.certify import Block
from audit.reference.clock import Clock
from audit.reference.derivative import Column, columns
from audit.reference.enclosure import Enclosures, State
from audit.reference.mpmath_check import Opinion, sample
from audit.reference.plan import Plan
from audit.reference.store import Store, key
from audit.watch import during

# Numbers held as balls at a time: points of a block times nodes of its program.
BLOCK_NUMBERS = 2**17
# A column of fewer points gets one opinion of mpmath.
FEW = 64


@dataclass(frozen=True)
class Answer:
    """Right values for one argument of a batch.

    Args:
        argument: ``"output"`` for forward and jvp, the argument's name for vjp and gradN, ``"a,b"`` for a Hessian
            entry.
        shape: shape of one point's elements, ``()`` for elementwise functions.
        real: ``[points * elements]``, point after point.
        imag: the same for the imaginary parts, None for real formats.
    """

    argument: str
    shape: tuple[int, ...]
    real: Enclosures
    imag: Enclosures | None


class References:
    """Right values, computed once and kept.

    Every value is enclosed by the reverse sweep on Arb balls (exact rationals where those leave doubt), must overlap
    with the Taylor coefficient of the function itself at every point, and is looked at by mpmath at some. Where they
    disagree the value is INCONCLUSIVE and `disagreements` says so.

    The sizes of terms are given where the right value is zero, where the value is a sum (functions of arrays, complex
    numbers, a jvp along several arguments), and where the batch's tolerance allows for them. Elsewhere they are NaN.

    Args:
        folder: where values are kept between runs; None keeps them in memory only.
        opinions: points of each newly computed column that mpmath checks too; one, if the column is short.

    Attributes:
        computed, reused: real values, one per point, argument and order (two for a complex one).
        seconds: processor time by kind of work.
        disagreements: one message each.
    """

    def __init__(self, folder: Path | None = None, *, opinions: int = 4) -> None:
        self._store = Store(folder)
        self._opinions = opinions
        self._clock = Clock()
        self.computed = 0
        self.reused = 0
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
        asked = columns(batch)
        inputs = _Inputs(batch)
        names = [
            key(f"{column.program.text}\nexact {exact} cancels {column.cancels}", inputs.items(column))
            for column in asked
        ]
        self._clock.lap("trace")
        found = {}
        for name, column in zip(names, asked, strict=True):
            kept = found[name] if name in found else self._store.get(name, column.count, batch.points)
            if kept is not None:
                found[name] = kept
                self.reused += column.count * batch.points
        missing = {name: column for name, column in zip(names, asked, strict=True) if name not in found}
        self._clock.lap("store")
        if missing:
            found |= self._compute(batch, missing, inputs, exact=exact)
        return [_answer(column, found[name]) for name, column in zip(names, asked, strict=True)]

    def _compute(
        self, batch: Batch, missing: dict[str, Column], inputs: _Inputs, *, exact: bool
    ) -> dict[str, list[Enclosures]]:
        plan = Plan(tuple(missing.values()))
        if exact and not plan.program.rational:
            raise AuditError(
                f"Batch {batch.group!r}: exact values are asked of {batch.function.text!r}, which is not a rational "
                "function: ask without exact=True."
            )
        parts: list[list[list[Enclosures]]] = []
        objections: list[tuple[int, int, str]] = []
        for start, stop in _blocks(batch.points, len(plan.program.nodes)):
            block = Block(plan, inputs.block(plan, start, stop), self._clock, exact=exact)
            parts.append(block.enclose())
            objections.extend((column, start + point, reason) for column, point, reason in block.objections)
        joined = [
            [Enclosures.join([part[index][lane] for part in parts]) for lane in range(column.count)]
            for index, column in enumerate(plan.columns)
        ]
        self._clock.lap("convert")
        for index, column in enumerate(plan.columns):
            objections.extend((index, point, reason) for point, reason in self._ask(batch, column, joined[index]))
        self._clock.lap("mpmath")
        for index, point, reason in objections:
            where = f"{batch.group}, {batch.function.text}, {batch.mode.kind}, {plan.columns[index].argument}"
            self.disagreements.append(f"{where}, {inputs.describe(point)}: {reason}")
        spoilt = {index for index, _, _ in objections}
        for index, (name, column) in enumerate(missing.items()):
            self.computed += column.count * batch.points
            # What is in doubt is computed, and reported, again.
            if index not in spoilt:
                self._store.put(name, joined[index])
        self._clock.lap("store")
        return dict(zip(missing, joined, strict=True))

    def _ask(self, batch: Batch, column: Column, lanes: list[Enclosures]) -> Iterator[tuple[int, str]]:
        """What mpmath objects to; the values are marked INCONCLUSIVE."""
        known = np.flatnonzero(np.any([lane.state == State.KNOWN for lane in lanes], axis=0))
        for place in sample(len(known), min(self._opinions, 1 + len(known) // FEW)):
            point = int(known[place])
            opinion = Opinion(batch, column.meaning, point)
            reason = opinion.disagreement([lane.take(slice(point, point + 1)) for lane in lanes])
            if reason:
                for lane in lanes:
                    if lane.state[point] == State.KNOWN:
                        lane.state[point] = State.INCONCLUSIVE
                yield point, reason


class _Inputs:
    """The numbers of a batch by the names that programs use."""

    def __init__(self, batch: Batch) -> None:
        self._points = batch.points
        self._arrays = {f"p{place}": primal for place, primal in enumerate(batch.primals)}
        self._arrays |= {f"w{place}": weight for place, weight in enumerate(batch.weights)}
        self._names = {f"p{place}": name for place, name in enumerate(batch.function.arguments)}

    def __getitem__(self, name: str) -> Floats:
        array, element = name.removesuffix("i").split(".")
        whole = self._arrays[array].reshape(self._points, -1)
        # A result that depends on nothing, of an argument without elements, still has as many points as there are.
        numbers = whole[:, int(element)] if whole.shape[1] else np.zeros(self._points)
        return numbers.imag if name.endswith("i") else numbers.real

    def items(self, column: Column) -> Iterator[tuple[str, Floats]]:
        """Name and numbers of each input of a column."""
        for name in column.inputs:
            yield name, self[name]

    def block(self, plan: Plan, start: int, stop: int) -> dict[str, Floats]:
        """The inputs of a plan at some points."""
        names = dict.fromkeys(name for column in plan.columns for name in column.inputs)
        return {name: self[name][start:stop] for name in names}

    def describe(self, point: int) -> str:
        """A point in words."""
        return ", ".join(
            f"{self._names.get(name, name)} = {array[point].tolist()!r}" for name, array in self._arrays.items()
        )


def _blocks(points: int, nodes: int) -> Iterator[tuple[int, int]]:
    size = max(1, BLOCK_NUMBERS // (nodes + 8))
    for start in range(0, points, size):
        yield start, min(start + size, points)


def _answer(column: Column, lanes: list[Enclosures]) -> Answer:
    real = _interleave(lanes[:: column.parts])
    return Answer(column.argument, column.shape, real, _interleave(lanes[1::2]) if column.parts == 2 else None)


def _interleave(lanes: list[Enclosures]) -> Enclosures:
    if not lanes:
        return Enclosures.none()
    if len(lanes) == 1:
        return lanes[0]
    return Enclosures(
        **{f.name: np.stack([getattr(lane, f.name) for lane in lanes], axis=1).reshape(-1) for f in fields(Enclosures)}
    )
