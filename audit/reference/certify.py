"""One block of points: results enclosed, checked against Taylor coefficients, and the sizes of their terms.

Precision starts at 128 bits and doubles for the points that need it. Results of rational programs that balls leave in
doubt are computed exactly instead. Where the program itself has no value, at ties and behind zero weights, the careful
one is resolved by hand (see `resolve`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import add, mul
from typing import Any, Protocol

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from audit.formats import Floats
from audit.reference import balls, onesided, rational, taylor, terms
from audit.reference.clock import Clock
from audit.reference.convert import convert, upper_bounds
from audit.reference.derivative import Meaning
from audit.reference.enclosure import Enclosures, State
from audit.reference.evaluate import everything
from audit.reference.plan import Plan
from audit.reference.program import Program
from audit.reference.resolve import Group, Resolved, resolve

FIRST_PRECISION = 128
LAST_PRECISION = 8192
# Exact rationals become balls at this precision, so that what is left is far below the last bit of the tail.
EXACT_PRECISION = 256
# The sizes of the terms of larger programs are computed without recording a program for them.
LARGEST_RECORDED = 2000

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Found:
    """What became of a block.

    Args:
        enclosures: ``[lanes, points]``. What was objected to is INCONCLUSIVE.
        special: the points at which no difference can be taken: they were resolved by hand.
        sets: the groups of results that are sets, with their points.
        objections: (column, point, reason).
        tangled: how many points have more resolutions than are looked at.
    """

    enclosures: Enclosures
    special: Mask
    sets: list[tuple[int, Group]]
    objections: list[tuple[int, int, str]]
    tangled: int


class Numbers(Protocol):
    """The numbers of some points, by the names that programs use."""

    points: int

    def __getitem__(self, name: str) -> Floats:
        """The numbers of an input."""
        ...

    def finite(self, arrays: Sequence[str]) -> Mask:
        """At which points all numbers of some arrays are finite."""
        ...


@dataclass(frozen=True)
class At:
    """The numbers of one point."""

    inputs: Numbers
    point: int

    def __getitem__(self, name: str) -> float:
        return float(self.inputs[name][self.point])


class Block:
    """Some points of a plan.

    Args:
        plan: what is computed.
        inputs: the numbers of each input of the plan's program, by name.
        clock: where time is counted.
        exact: compute every result as an exact rational, which must lie in its ball.
    """

    def __init__(self, plan: Plan, inputs: Numbers, clock: Clock, *, exact: bool) -> None:
        self._plan, self._inputs, self._clock, self._exact = plan, inputs, clock, exact
        self._points = inputs.points
        self._balls: dict[str, list[arb]] = {}
        shape = (plan.lanes, self._points)
        self._found: list[list[arb]] = []
        self._head, self._tail, self._radius = (np.zeros(shape) for _ in range(3))
        self._exponent = np.zeros(shape, np.int64)
        self._state = np.full(shape, State.INCONCLUSIVE, np.uint8)
        self._special: dict[int, tuple[list[Group], list[arb | None]]] = {}
        self._spoilt = np.zeros(shape, bool)
        self._sized = [column.cancels for column in plan.columns for _ in column.lanes]
        self._tangled = 0
        self._objections: list[tuple[int, int, str]] = []

    def enclose(self) -> Found:
        """The enclosures of every element of every column."""
        finite = self._inputs.finite([name for column in self._plan.columns for name in column.arrays])
        self._clock.start()
        self._first_pass(finite)
        if self._exact:
            self._exactly(np.flatnonzero(finite))
        self._resolve(self._open(np.flatnonzero(finite)))
        self._state[:, ~finite] = State.UNDEFINED
        self._taylor()
        for point, (groups, _) in self._special.items():
            self._from_one_side(point, groups)
        self._clock.lap("taylor")
        sizes, exponents = self._sizes()
        numbers = (self._head, self._tail, self._radius, self._exponent, self._state, sizes, exponents)
        special = np.zeros(self._points, bool)
        special[list(self._special)] = True
        sets = [(point, group) for point, (groups, _) in self._special.items() for group in groups]
        return Found(Enclosures(*numbers), special, sets, self._objections, self._tangled)

    def _given(self, name: str) -> list[arb]:
        if name not in self._balls:
            self._balls[name] = balls.from_floats(self._inputs[name])
        return self._balls[name]

    def _at(self, program: Program, points: Sequence[int] | NDArray[np.integer]) -> list[list[arb]]:
        return [[column[point] for point in points] for column in map(self._given, program.inputs)]

    def _first_pass(self, finite: Mask) -> None:
        program = self._plan.program
        with balls.precision(FIRST_PRECISION):
            results = balls.values(program, [self._given(name) for name in program.inputs])
            if not program.inputs:
                results = [result * self._points for result in results]
            self._found, required = results[: self._plan.lanes], results[self._plan.lanes :]
            self._clock.lap("adjoint")
            exists = finite
            for values in required:
                exists = exists & np.array([y.is_finite() for y in values], bool)
            self._put_all(exists)
            self._clock.lap("convert")

    def _put_all(self, exists: Mask) -> None:
        """Enter everything that was found at all points."""
        shape = self._state.shape
        converted = convert(list(chain.from_iterable(self._found)))
        good = converted.narrow.reshape(shape) & exists
        self._head, self._tail, self._radius, self._exponent = (
            np.where(good, numbers.reshape(shape), 0)
            for numbers in (converted.head, converted.tail, converted.radius, converted.exponent)
        )
        self._state = np.where(good, State.KNOWN, State.INCONCLUSIVE).astype(np.uint8)

    def _put(self, lane: Any, points: Any, values: Sequence[arb], exists: Mask) -> None:
        """Enter those values that exist and are narrow."""
        converted = convert(values)
        good = converted.narrow & exists
        for array, numbers in (
            (self._head, converted.head),
            (self._tail, converted.tail),
            (self._radius, converted.radius),
            (self._exponent, converted.exponent),
        ):
            array[lane, points] = np.where(good, numbers, 0)
        self._state[lane, points] = np.where(good, State.KNOWN, State.INCONCLUSIVE)

    def _open(self, points: NDArray[np.integer]) -> NDArray[np.integer]:
        """Those at which something is in doubt that more work may settle."""
        doubtful = (self._state[:, points] == State.INCONCLUSIVE) & ~self._spoilt[:, points]
        return points[np.any(doubtful, axis=0)]

    def _resolve(self, points: NDArray[np.integer]) -> None:
        """Points that the first precision leaves in doubt."""
        if not len(points):
            return
        if self._plan.program.rational and not self._exact:
            self._exactly(points)
            points = self._open(points)
        self._carefully(points, FIRST_PRECISION)
        points, bits = self._open(points), 2 * FIRST_PRECISION
        while bits <= LAST_PRECISION and len(points):
            with balls.precision(bits):
                self._again(points)
            points = self._open(points)
            lost = [point for point in points if not all(values[point].is_finite() for values in self._found)]
            self._carefully(np.array(lost, np.int64), bits)
            points, bits = self._open(points), 2 * bits
        self._clock.lap("precision")

    def _carefully(self, points: NDArray[np.integer], bits: int) -> None:
        """Resolve points by hand, and enter what could not be found otherwise."""
        for point in points.tolist():
            found = resolved_at(self._plan, At(self._inputs, point), bits)
            before = self._state[:, point].copy()
            doubtful = (before == State.INCONCLUSIVE) & ~self._spoilt[:, point]
            lanes = [lane for lane, state in enumerate(found.states) if state == State.KNOWN and doubtful[lane]]
            if lanes:
                with balls.precision(max(bits, EXACT_PRECISION)):
                    self._put(lanes, point, [found.values[lane] for lane in lanes], np.ones(len(lanes), bool))
                for lane in lanes:
                    self._found[lane][point] = found.values[lane]
            for lane, state in enumerate(found.states):
                if doubtful[lane] and state in (State.UNDEFINED, State.SET):
                    self._state[lane, point] = state
            if np.any(self._state[:, point] != before):
                self._tangled += found.tangled
                sized = any(self._sized[lane] for lane in lanes) or any(found.values[lane] == 0 for lane in lanes)
                self._special[point] = (found.groups, measured_at(self._plan, found, bits) if sized else [])

    def _again(self, points: NDArray[np.integer]) -> None:
        program = self._plan.program
        results = balls.values(program, self._at(program, points))
        exists = np.ones(len(points), bool)
        for values in results[self._plan.lanes :]:
            exists &= np.array([y.is_finite() for y in values], bool)
        for lane, values in enumerate(results[: self._plan.lanes]):
            open_ = np.flatnonzero((self._state[lane, points] == State.INCONCLUSIVE) & ~self._spoilt[lane, points])
            chosen = [values[place] for place in open_]
            if chosen:
                self._put(lane, points[open_], chosen, exists[open_])
            for place, value in zip(points[open_], chosen, strict=True):
                self._found[lane][place] = value

    def _exactly(self, points: NDArray[np.integer]) -> None:
        """Exact rational results, where there are any."""
        program = self._plan.program
        if not len(points):
            return
        given = [rational.from_floats(self._inputs[name][points]) for name in program.inputs]
        exact = rational.values(program, given)
        if not program.inputs:
            exact = [result * len(points) for result in exact]
        missing = np.array([value is None for value in exact[0]], bool)
        self._state[:, points[missing]] = State.INCONCLUSIVE
        with balls.precision(EXACT_PRECISION):
            for lane, values in enumerate(exact[: self._plan.lanes]):
                found = self._found[lane]
                lost = missing.copy()
                for place, (point, value) in enumerate(zip(points, values, strict=True)):
                    if value is None:
                        continue
                    if found[point].is_finite() and not found[point].contains(value):
                        self._object(lane, int(point), f"the exact value {value} is not in the ball {found[point]}")
                        lost[place] = True
                    found[point] = rational.to_ball(value)
                if not lost.all():
                    kept = np.flatnonzero(~lost)
                    self._put(lane, points[kept], [found[points[place]] for place in kept], np.ones(len(kept), bool))
        self._clock.lap("rational")

    def _object(self, lane: int, point: int, reason: str) -> None:
        column = next(index for index, lanes in enumerate(self._plan.ranges) if lane in lanes)
        self._objections.append((column, point, reason))
        self._state[lane, point] = State.INCONCLUSIVE
        self._spoilt[lane, point] = True

    def _taylor(self) -> None:
        usual = np.ones(self._points, bool)
        usual[list(self._special)] = False
        usual &= np.any(self._state == State.KNOWN, axis=0)
        points = np.flatnonzero(usual)
        if self._plan.together is not None:
            # Only where that fails each column is looked at by itself, to see which it is.
            points = np.array(self._differing(self._plan.together, range(self._plan.lanes), points), np.int64)
        for column, lanes in zip(self._plan.columns, self._plan.ranges, strict=True):
            known = np.any(self._state[lanes.start : lanes.stop, points] == State.KNOWN, axis=0)
            self._differing(column.meaning, lanes, points[known], report=True)

    def _differing(
        self, meaning: Meaning, lanes: range, points: NDArray[np.integer], *, report: bool = False
    ) -> list[int]:
        """Points at which the Taylor coefficients are not what was found."""
        bits, differing = FIRST_PRECISION, []
        while len(points):
            with balls.precision(bits):
                points, more = self._taylor_at(meaning, lanes, points, last=bits >= LAST_PRECISION, report=report)
            differing.extend(more)
            bits *= 2
        return differing

    def _taylor_at(
        self, meaning: Meaning, lanes: range, points: NDArray[np.integer], *, last: bool, report: bool
    ) -> tuple[NDArray[np.integer], list[int]]:
        """Compare with Taylor coefficients; points at which there are none at this precision, and where they differ."""
        whole = len(points) == self._points
        cache: dict[str, list[arb]] = {}

        def given(name: str) -> list[arb]:
            if name not in cache:
                numbers = self._given(name)
                cache[name] = numbers if whole else [numbers[point] for point in points]
            return cache[name]

        def exponents(name: str) -> list[int | None]:
            numbers = self._inputs[name] if whole else self._inputs[name][points]
            return [e if x else None for x, e in zip(numbers.tolist(), np.frexp(numbers)[1].tolist(), strict=True)]

        unclear: set[int] = set()
        differing: list[int] = []
        for check in taylor.checks(meaning, len(lanes), given, exponents):
            combination, expected = check.factors, check.expected
            found = self._combined(combination, lanes, points, whole=whole)
            pairs = zip(found, expected, strict=True)
            doubtful = [place for place, (x, y) in enumerate(pairs) if not (x.overlaps(y) and y.is_finite())]
            for place in doubtful:
                point, x, y = points[place], found[place], expected[place]
                if not y.is_finite() and not last:
                    unclear.add(int(point))
                elif not all(self._state[lanes[index], point] == State.UNDEFINED for index in combination):
                    series = str(y) if y.is_finite() else "have no value"
                    differing.append(int(point))
                    for index in combination if report else ():
                        self._object(lanes[index], int(point), f"the reverse sweep gives {x}, Taylor series {series}")
        return np.array(sorted(unclear), np.int64), differing

    def _combined(
        self, combination: Mapping[int, list[arb] | None], lanes: range, points: NDArray[np.integer], *, whole: bool
    ) -> list[arb]:
        columns = [self._found[lanes[index]] for index in combination]
        if not whole:
            columns = [[column[point] for point in points] for column in columns]
        total: list[arb] = []
        for column, factors in zip(columns, combination.values(), strict=True):
            products = column if factors is None else list(map(mul, column, factors))
            total = list(map(add, total, products)) if total else products
        return total

    def _from_one_side(self, point: int, groups: list[Group]) -> None:
        """What was resolved by hand, against one-sided Taylor coefficients of the function."""
        numbers = At(self._inputs, point)
        with balls.precision(FIRST_PRECISION):
            for column, lanes in zip(self._plan.columns, self._plan.ranges, strict=True):
                known = {
                    index: [self._found[lane][point]]
                    for index, lane in enumerate(lanes)
                    if self._state[lane, point] == State.KNOWN
                }
                asked = [known] if known else []
                for group in groups:
                    inside = [(place, lane) for place, lane in enumerate(group.lanes) if lane in lanes]
                    if inside:
                        asked.append({lane - lanes.start: [v[place] for v in group.vertices] for place, lane in inside})
                for choices in asked:
                    if not onesided.agrees(column.meaning, choices, numbers):
                        for index in choices:
                            self._object(lanes[index], point, "one-sided Taylor series disagree with what was resolved")

    def _sizes(self) -> tuple[Floats, NDArray[np.int64]]:
        """Upper bounds of the sizes of terms, where a value is zero or a sum."""
        bound = np.full(self._state.shape, np.nan)
        exponent = np.zeros(self._state.shape, np.int64)
        known = self._state == State.KNOWN
        wanted = known & (np.abs(self._head + self._tail) <= self._radius)
        for column, lanes in zip(self._plan.columns, self._plan.ranges, strict=True):
            if column.cancels:
                wanted[lanes.start : lanes.stop] = known[lanes.start : lanes.stop]
        due = wanted.copy()
        for point, (_, measured) in self._special.items():
            lanes = [lane for lane, size in enumerate(measured) if size is not None and wanted[lane, point]]
            if lanes:
                bound[lanes, point], exponent[lanes, point] = upper_bounds([measured[lane] or arb(0) for lane in lanes])
            wanted[:, point] = False
        large = len(self._plan.program.nodes) > LARGEST_RECORDED
        bits = FIRST_PRECISION
        while bits <= LAST_PRECISION:
            points = np.flatnonzero(np.any(wanted & np.isnan(bound), axis=0))
            if not len(points):
                break
            with balls.precision(bits):
                found = self._measured(points) if large else self._recorded_sizes(points)
            bound[:, points], exponent[:, points] = (
                array.reshape(-1, len(points)) for array in upper_bounds(list(chain.from_iterable(found)))
            )
            bits *= 4
        self._clock.lap("terms")
        return np.where(due, bound, np.nan), exponent

    def _recorded_sizes(self, points: NDArray[np.integer]) -> list[list[arb]]:
        program = terms.sizes(self._plan.values)
        found = balls.values(program, self._at(program, points))
        return found if program.inputs else [size * len(points) for size in found]

    def _measured(self, points: NDArray[np.integer]) -> list[list[arb]]:
        program = self._plan.values
        found: list[list[arb]] = [[] for _ in program.outputs]
        for given in zip(*self._at(program, points), strict=True):
            numbers = everything(program, balls.BALLS, given)
            sizes = terms.measure(program, numbers, balls.BALLS) if numbers else [None] * len(found)
            for column, size in zip(found, sizes, strict=True):
                column.append(balls.NAN if size is None else size)
        return found


def resolved_at(plan: Plan, number: At, bits: int) -> Resolved:
    """What the elements of a plan are at one point, resolved by hand.

    Args:
        plan: what is computed.
        number: the float64 number of an input, by its name.
        bits: precision.
    """
    program = plan.careful
    required = len(program.outputs) - plan.lanes
    given = np.array([number[name] for name in program.inputs])
    if program.rational:
        found = resolve(program, required, rational.RATIONALS, rational.from_floats(given), plan.subject)
        with balls.precision(EXACT_PRECISION):
            found.values = [None if x is None else rational.to_ball(x) for x in found.values]
            found.groups = [
                Group(group.lanes, [[rational.to_ball(x) for x in vertex] for vertex in group.vertices])
                for group in found.groups
            ]
    else:
        with balls.precision(bits):
            found = resolve(program, required, balls.BALLS, balls.from_floats(given), plan.subject)
    return found


def measured_at(plan: Plan, found: Resolved, bits: int) -> list[arb | None]:
    """The sizes of the terms of the elements of a plan at a point, none where nothing is known."""
    if not found.numbers:
        return []
    with balls.precision(EXACT_PRECISION):
        numbers = [rational.to_ball(x) if isinstance(x, fmpq) else x for x in found.numbers]
    with balls.precision(bits):
        return terms.measure(plan.careful, numbers, balls.BALLS)[: plan.lanes]
