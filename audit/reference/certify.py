"""One block of points: results enclosed, checked against Taylor coefficients, and the sizes of their terms.

Precision starts at 128 bits and doubles for the points that need it. Results of rational programs that balls leave in
doubt are computed exactly instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import add, mul

import numpy as np
from flint import arb
from numpy.typing import NDArray

from audit.formats import Floats
from audit.reference import balls, rational, taylor, terms
from audit.reference.clock import Clock
from audit.reference.convert import convert, upper_bounds
from audit.reference.derivative import Column
from audit.reference.enclosure import Enclosures, State
from audit.reference.plan import Plan
from audit.reference.program import Program

FIRST_PRECISION = 128
LAST_PRECISION = 8192
# Exact rationals become balls at this precision, so that what is left is far below the last bit of the tail.
EXACT_PRECISION = 256

Mask = NDArray[np.bool_]


class Block:
    """Some points of a plan.

    Args:
        plan: what is computed.
        inputs: the numbers of each input of the plan's program, by name.
        clock: where time is counted.
        exact: compute every result as an exact rational, which must lie in its ball.
    """

    def __init__(self, plan: Plan, inputs: Mapping[str, Floats], clock: Clock, *, exact: bool) -> None:
        self._plan, self._inputs, self._clock, self._exact = plan, inputs, clock, exact
        self._points = len(next(iter(inputs.values())))
        self._balls: dict[str, list[arb]] = {}
        shape = (plan.lanes, self._points)
        self._found: list[list[arb]] = []
        self._head, self._tail, self._radius = (np.zeros(shape) for _ in range(3))
        self._exponent = np.zeros(shape, np.int64)
        self._state = np.full(shape, State.INCONCLUSIVE, np.uint8)
        self.objections: list[tuple[int, int, str]] = []

    def enclose(self) -> list[list[Enclosures]]:
        """The enclosures of each column, one list per column, one `Enclosures` per element.

        What was objected to is INCONCLUSIVE and stands in `objections` as (column, point, reason).
        """
        finite = np.all([np.isfinite(numbers) for numbers in self._inputs.values()], axis=0)
        self._clock.start()
        self._first_pass(finite)
        if self._exact:
            self._exactly(np.flatnonzero(finite))
        else:
            self._resolve(np.flatnonzero(finite & ~np.all(self._state == State.KNOWN, axis=0)))
        self._state[:, ~finite] = State.UNDEFINED
        self._taylor()
        sizes, exponents = self._sizes()
        return [
            [
                Enclosures(
                    self._head[lane], self._tail[lane], self._radius[lane], self._exponent[lane], self._state[lane],
                    sizes[lane], exponents[lane],
                )
                for lane in lanes
            ]
            for lanes in self._plan.ranges
        ]  # fmt: skip

    def _given(self, name: str) -> list[arb]:
        if name not in self._balls:
            self._balls[name] = balls.from_floats(self._inputs[name])
        return self._balls[name]

    def _at(self, program: Program, points: NDArray[np.integer]) -> list[list[arb]]:
        return [[column[point] for point in points] for column in map(self._given, program.inputs)]

    def _first_pass(self, finite: Mask) -> None:
        program = self._plan.program
        with balls.precision(FIRST_PRECISION):
            results = balls.values(program, [self._given(name) for name in program.inputs])
            if not program.inputs:
                results = [result * self._points for result in results]
            self._found, functions = results[: self._plan.lanes], results[self._plan.lanes :]
            self._clock.lap("adjoint")
            exists = finite
            for values in functions:
                exists = exists & np.array([y.is_finite() for y in values], bool)
            for lane, values in enumerate(self._found):
                self._put(lane, slice(None), values, exists)
            self._clock.lap("convert")

    def _put(self, lane: int, points: NDArray[np.integer] | slice, values: Sequence[arb], exists: Mask) -> None:
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

    def _resolve(self, points: NDArray[np.integer]) -> None:
        """Points that the first precision leaves in doubt."""
        if not len(points):
            return
        if self._plan.program.rational:
            self._exactly(points)
            points = points[np.any(self._state[:, points] == State.INCONCLUSIVE, axis=0)]
        self._mark_undefined(points)
        bits = 2 * FIRST_PRECISION
        while bits <= LAST_PRECISION:
            points = points[np.any(self._state[:, points] == State.INCONCLUSIVE, axis=0)]
            if not len(points):
                break
            with balls.precision(bits):
                self._again(points)
            bits *= 2
        self._clock.lap("precision")

    def _mark_undefined(self, points: NDArray[np.integer]) -> None:
        with balls.precision(FIRST_PRECISION):
            for column, lanes in zip(self._plan.columns, self._plan.ranges, strict=True):
                given = [self._given(name) for name in column.program.inputs]
                for point in points:
                    if balls.undefined(column.program, [numbers[point] for numbers in given]):
                        self._state[lanes.start : lanes.stop, point] = State.UNDEFINED

    def _again(self, points: NDArray[np.integer]) -> None:
        program = self._plan.program
        results = balls.values(program, self._at(program, points))
        exists = np.ones(len(points), bool)
        for values in results[self._plan.lanes :]:
            exists &= np.array([y.is_finite() for y in values], bool)
        for lane, values in enumerate(results[: self._plan.lanes]):
            open_ = np.flatnonzero(self._state[lane, points] == State.INCONCLUSIVE)
            chosen = [values[place] for place in open_]
            if chosen:
                self._put(lane, points[open_], chosen, exists[open_])
            for place, value in zip(points[open_], chosen, strict=True):
                self._found[lane][place] = value

    def _exactly(self, points: NDArray[np.integer]) -> None:
        """Exact rational results. What is not a quotient of integers at all is undefined, unless a branch hides it."""
        program = self._plan.program
        if not len(points):
            return
        given = [rational.from_floats(self._inputs[name][points]) for name in program.inputs]
        exact = rational.values(program, given)
        if not program.inputs:
            exact = [result * len(points) for result in exact]
        missing = np.array([value is None for value in exact[0]], bool)
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
        if not program.branches:
            self._state[:, points[missing]] = State.UNDEFINED
        self._clock.lap("rational")

    def _object(self, lane: int, point: int, reason: str) -> None:
        column = next(index for index, lanes in enumerate(self._plan.ranges) if lane in lanes)
        self.objections.append((column, point, reason))
        self._state[lane, point] = State.INCONCLUSIVE

    def _taylor(self) -> None:
        for column, lanes in zip(self._plan.columns, self._plan.ranges, strict=True):
            bits, points = FIRST_PRECISION, np.flatnonzero(
                np.any(self._state[lanes.start : lanes.stop] == State.KNOWN, axis=0)
            )  # fmt: skip
            while len(points):
                with balls.precision(bits):
                    points = self._taylor_at(column, lanes, points, last=bits >= LAST_PRECISION)
                bits *= 2
        self._clock.lap("taylor")

    def _taylor_at(
        self, column: Column, lanes: range, points: NDArray[np.integer], *, last: bool
    ) -> NDArray[np.integer]:
        """Compare with Taylor coefficients; the points at which there are none at this precision."""
        whole = len(points) == self._points
        cache: dict[str, list[arb]] = {}

        def given(name: str) -> list[arb]:
            if name not in cache:
                numbers = self._given(name)
                cache[name] = numbers if whole else [numbers[point] for point in points]
            return cache[name]

        unclear: set[int] = set()

        def exponents(name: str) -> list[int | None]:
            numbers = self._inputs[name] if whole else self._inputs[name][points]
            return [e if x else None for x, e in zip(numbers.tolist(), np.frexp(numbers)[1].tolist(), strict=True)]

        for check in taylor.checks(column.meaning, column.count, given, exponents):
            combination, expected = check.factors, check.expected
            found = self._combined(combination, lanes, points, whole=whole)
            pairs = zip(found, expected, strict=True)
            doubtful = [place for place, (x, y) in enumerate(pairs) if not (x.overlaps(y) and y.is_finite())]
            for place in doubtful:
                point, x, y = points[place], found[place], expected[place]
                if not y.is_finite() and not last:
                    unclear.add(int(point))
                elif not all(self._state[lanes[index], point] == State.UNDEFINED for index in combination):
                    for index in combination:
                        series = str(y) if y.is_finite() else "have no value"
                        self._object(lanes[index], int(point), f"the reverse sweep gives {x}, Taylor series {series}")
        return np.array(sorted(unclear), np.int64)

    def _combined(
        self, combination: Mapping[int, list[arb] | None], lanes: range, points: NDArray[np.integer], *, whole: bool
    ) -> list[arb]:
        columns = [self._found[lanes[index]] for index in combination]
        if not whole:
            columns = [[column[point] for point in points] for column in columns]
        total: list[arb] = []
        for column, factors in zip(columns, combination.values(), strict=True):
            terms_ = column if factors is None else list(map(mul, column, factors))
            total = list(map(add, total, terms_)) if total else terms_
        return total

    def _sizes(self) -> tuple[Floats, NDArray[np.int64]]:
        """Upper bounds of the sizes of terms, where a value is zero or a sum."""
        bound = np.full(self._state.shape, np.nan)
        exponent = np.zeros(self._state.shape, np.int64)
        known = self._state == State.KNOWN
        zero = known & (np.abs(self._head + self._tail) <= self._radius)
        for column, lanes in zip(self._plan.columns, self._plan.ranges, strict=True):
            chosen = slice(lanes.start, lanes.stop)
            points = np.flatnonzero(np.any((known if column.cancels else zero)[chosen], axis=0))
            program = terms.sizes(column.values)
            bits = FIRST_PRECISION
            while len(points) and bits <= LAST_PRECISION:
                with balls.precision(bits):
                    found = balls.values(program, self._at(program, points))
                if not program.inputs:
                    found = [size * len(points) for size in found]
                for lane, sizes in zip(lanes, found, strict=True):
                    bound[lane, points], exponent[lane, points] = upper_bounds(sizes)
                points = points[np.any(np.isnan(bound[chosen][:, points]), axis=0)]
                bits *= 4
        self._clock.lap("terms")
        return bound, exponent
