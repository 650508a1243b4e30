"""The second opinion: mpmath on the function's own body, differentiated numerically at high precision.

It shares nothing with the reference but the body and its arithmetic's names: no program, no derivative rule, no ball.
Steps are relative to the primal, and the error is estimated from two steps and from the rounding of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb
from typing import Any

import numpy as np
from mpmath import MPContext

from audit.case import Batch
from audit.reference.arithmetic import Arithmetic
from audit.reference.convert import FARTHEST
from audit.reference.derivative import Meaning
from audit.reference.enclosure import Enclosures, State
from audit.reference.mapped import call, mapped_axes
from audit.reference.operations import OPERATIONS
from audit.reference.operations.opinions import NoOpinion
from audit.reference.taylor import coefficient

# Steps are 2**-STEP_BITS of the primal; the truncation error is about the square of that. They are made smaller, up to
# the second number, until the two steps agree.
STEP_BITS, LARGEST_STEP_BITS = 100, 3200
# Of a large array of values or tangents, this many elements are looked at.
ELEMENTS = 64
# The two steps agree if they differ by this little, relative to the value.
SHARP_BITS = 60
# A step is close to the point if it is that small beside 1, the size at which functions bend.
CLOSE_BITS = 20

# Operations with a branch cut: next to it a difference goes from one branch to the other.
CUT = frozenset({"arctan2", *(name for name in OPERATIONS if name.endswith(".real"))})

Shift = dict[str, Any]

# Of our own, since the precision of mpmath's global one is anybody's; making one takes longer than an opinion.
_CONTEXT: Any = MPContext()


class Opinion:
    """One point of a batch, seen by mpmath.

    Args:
        batch: whose function, primals and weights are taken.
        meaning: what the results of the column are.
        point: index of the point.
    """

    def __init__(self, batch: Batch, meaning: Meaning, point: int) -> None:
        self._mp = _CONTEXT
        self._arithmetic = Arithmetic(self._apply)
        self._meaning = meaning
        self._body = batch.function.body
        self._axes = mapped_axes(batch)
        self._primals = [np.asarray(primal[point]) for primal in batch.primals]
        self._weights = [np.asarray(weight[point]).reshape(-1) for weight in batch.weights]
        self._complex = batch.result_format.parts == 2
        kinds = [self._mp.mpc if fmt.parts == 2 else self._mp.mpf for fmt in batch.argument_formats]
        self._exact = [
            np.array([number(x) for x in p.reshape(-1).tolist()], object)
            for number, p in zip(kinds, self._primals, strict=True)
        ]
        numbers = [part for x in (*self._primals, *self._weights) for part in (np.real(x), np.imag(x))]
        exponents = np.frexp([x for part in numbers for x in part.reshape(-1) if x])[1].tolist()
        # A function may add 1 to anything.
        self._spread = max(*exponents, 0, 0) - min(*exponents, 0, 0)
        self._smallest = min(exponents) if exponents else 0
        self._largest = max((e for p in self._primals for e in np.frexp(np.abs(p).reshape(-1))[1].tolist()), default=0)

    def disagreement(self, lanes: Sequence[Enclosures]) -> str:
        """What speaks against the enclosures of the results, or an empty string.

        Partial derivatives are looked at together, along one direction that meets every known one.

        Args:
            lanes: one enclosure of each result of the column.
        """
        # Of a value beyond all exponents only the sign is known.
        known = [k for k, lane in enumerate(lanes) if lane.state[0] == State.KNOWN and lane.exponent[0] < FARTHEST]
        looks = self._looks(known)
        if looks and any(node.operation in CUT for node in self._meaning.function.nodes):
            try:
                self._components({})
            except NoOpinion:
                return ""
        self._step_bits = STEP_BITS
        while looks:
            self._mp.prec = (self._meaning.order + 1) * (self._step_bits + 60) + 100 + self._spread
            try:
                found = self._results(looks)
            except NoOpinion:
                return ""
            except (ZeroDivisionError, ValueError, OverflowError) as reason:
                return f"mpmath finds no value: {reason}"
            last = self._step_bits >= LARGEST_STEP_BITS
            # At a tie of huge numbers, a step beside which 1 is nothing gives the mean of two slopes, and sharply so.
            close = self._step_bits > self._largest + CLOSE_BITS
            open_ = []
            for (look, factors), (value, error) in zip(looks, found, strict=True):
                right, radius = self._combined(factors, lanes)
                agrees = abs(value - right) <= radius + error
                sharp = error <= abs(value) * self._mp.ldexp(1, -SHARP_BITS)
                # A step that skips whole periods of a sine gives anything: only a sharp value speaks against it.
                # Of what cancels to nothing in the body, as 1 + erf does far below zero, no digit is left.
                lost = not value and 0 < abs(right) < self._mp.ldexp(1, -self._step_bits)
                if lost and last:
                    continue
                if not agrees and not lost and ((sharp and close) or last):
                    return (
                        f"mpmath gives {self._mp.nstr(value, 20)} +- {self._mp.nstr(error, 3)}, "
                        f"the enclosure is {self._mp.nstr(right, 20)}"
                    )
                if not (agrees and (sharp or last or not right)):
                    open_.append((look, factors))
            looks = open_
            self._step_bits *= 2
        return ""

    def _looks(self, known: list[int]) -> list[tuple[int, dict[int, Any]]]:
        """What is looked at: results of the column, or sums of several, with the factor of each result."""
        if not known:
            return []
        if self._meaning.kind in ("value", "tangent"):
            return [(known[place], {known[place]: 1}) for place in sample(len(known), ELEMENTS)]
        if len(self._meaning.partials[0]) > 1 or len(self._meaning.partials) == 1:
            return [(0, {0: 1})]
        sizes = [self._primal(name) for (name,) in self._meaning.partials]
        largest = max(sizes, key=abs)
        factors = {index: coefficient(index) * self._power_of_two(sizes[index] or largest) for index in known}
        return [(0, factors)]

    def _power_of_two(self, x: Any) -> Any:
        return self._mp.ldexp(1, self._mp.mag(x)) if x else self._mp.mpf(1)

    def _combined(self, factors: dict[int, Any], lanes: Sequence[Enclosures]) -> tuple[Any, Any]:
        """A sum of right values, and its radius."""
        total, radius = self._mp.mpf(0), self._mp.mpf(0)
        for index, factor in factors.items():
            lane = lanes[index]
            scale = self._mp.ldexp(factor, int(lane.exponent[0]))
            total += (self._mp.mpf(float(lane.head[0])) + float(lane.tail[0])) * scale
            radius += (float(lane.radius[0]) + (lane.exponent[0] <= -FARTHEST)) * scale
        return total, radius

    def _results(self, looks: Sequence[tuple[int, dict[int, Any]]]) -> list[tuple[Any, Any]]:
        """For each look a value and a bound of its error."""
        meaning, indices = self._meaning, [index for index, _ in looks]
        if meaning.kind == "value":
            coarse = self._components({})
            with self._mp.workprec(2 * self._mp.prec):
                fine, relative = self._components({}), self._mp.ldexp(1, 40 - self._mp.prec)
                return [(fine[k], abs(coarse[k] - fine[k]) + abs(fine[k]) * relative) for k in indices]
        tangents = {name: self._weight(tangent) for name, tangent in meaning.tangents}
        along = [(tangents, self._step(tangents))] * (meaning.order - (meaning.kind == "directional"))
        if meaning.kind == "tangent":
            target: Callable[[Shift], list[Any]] = self._components
            directions = along
        else:
            target = lambda shift: [self._weighted(shift)]  # noqa: E731
            indices = [0]
            if len(meaning.partials[0]) == 1:
                ((_, factors),) = looks
                slopes = {meaning.partials[index][0]: factor for index, factor in factors.items()}
                chain = [slopes]
            else:
                chain = [{name: 1} for name in meaning.partials[0]]
            directions = [(slopes, self._step(slopes)) for slopes in chain]
            directions += along if meaning.kind == "directional" else []
        coarse, _ = self._difference(target, directions)
        # Twice the precision too: where the function itself cancels, rounding shows as a difference between the two.
        with self._mp.workprec(2 * self._mp.prec):
            fine, rounding = self._difference(target, [(slopes, step / 2) for slopes, step in directions])
            return [(fine[k], abs(coarse[k] - fine[k]) + rounding[k]) for k in indices]

    def _difference(
        self, target: Callable[[Shift], list[Any]], directions: Sequence[tuple[Shift, Any]]
    ) -> tuple[list[Any], list[Any]]:
        """Central differences along each direction in turn, and bounds of their rounding errors."""
        points: list[list[tuple[int, Any, Shift]]] = []
        divisor = self._mp.mpf(1)
        for slopes, step in _merged(directions):
            order = sum(1 for other, _ in directions if other == slopes)
            divisor *= step**order
            points.append(
                [((-1) ** k * comb(order, k), (self._mp.mpf(order) / 2 - k) * step, slopes) for k in range(order + 1)]
            )
        total: list[Any] = []
        largest: list[Any] = []
        for choice in product(*points):
            sign, shift = 1, {}
            for factor, step, slopes in choice:
                sign *= factor
                for name, slope in slopes.items():
                    shift[name] = shift.get(name, 0) + step * slope
            values = [sign * value for value in target(shift)]
            sizes = [abs(value) for value in values]
            total = [t + v for t, v in zip(total, values, strict=True)] if total else values
            largest = [max(t, v) for t, v in zip(largest, sizes, strict=True)] if largest else sizes
        relative = self._mp.ldexp(1, 40 - self._mp.prec) / abs(divisor)
        return [t / divisor for t in total], [t * relative for t in largest]

    def _step(self, slopes: Shift) -> Any:
        """The step along a direction: it is small beside every primal that moves."""
        # A zero moves away from others that may be as near as the smallest number of the point.
        least = self._mp.ldexp(1, self._smallest)
        primals = [(abs(self._primal(name)) or least, abs(slope)) for name, slope in slopes.items() if slope]
        scale = min((size / slope for size, slope in primals), default=least)
        return scale * self._mp.ldexp(1, -self._step_bits)

    def _weighted(self, shift: Shift) -> Any:
        components = self._components(shift)
        return sum(
            (self._weight(name) * y for name, y in zip(self._meaning.weights, components, strict=True)), self._mp.mpf(0)
        )

    def _components(self, shift: Shift) -> list[Any]:
        """The function's results at shifted primals, real and imaginary part in turn if complex."""
        moved = [elements.copy() for elements in self._exact]
        for name, amount in shift.items():
            place, index, imaginary = _address(name)
            moved[place][index] += self._mp.mpc(0, amount) if imaginary else amount
        shaped = [elements.reshape(primal.shape) for elements, primal in zip(moved, self._primals, strict=True)]
        arguments = [elements if elements.shape else elements[()] for elements in shaped]
        results = np.asarray(call(self._body, self._arithmetic, arguments, self._axes), object).reshape(-1)
        if self._complex:
            return [part for number in map(self._mp.mpc, results) for part in (number.real, number.imag)]
        return [self._mp.convert(number) for number in results]

    def _primal(self, name: str) -> Any:
        place, index, imaginary = _address(name)
        return self._mp.mpf(_part(self._primals[place].reshape(-1)[index], imaginary))

    def _weight(self, name: str) -> Any:
        place, index, imaginary = _address(name)
        return self._mp.mpf(_part(self._weights[place][index], imaginary))

    def _apply(self, operation: str, operands: tuple[Any, ...], parameter: int | None) -> Any:
        numbers = [
            self._mp.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else self._plain(x) for x in operands
        ]
        extra = () if parameter is None else (parameter,)
        return OPERATIONS[operation].mp(self._mp, *numbers, *extra)

    def _plain(self, x: Any) -> Any:
        return x if isinstance(x, bool) else self._mp.convert(x)


def _merged(directions: Sequence[tuple[Shift, Any]]) -> list[tuple[Shift, Any]]:
    kept: list[tuple[Shift, Any]] = []
    for slopes, step in directions:
        if all(slopes != other for other, _ in kept):
            kept.append((slopes, step))
    return kept


def _part(x: Any, imaginary: bool) -> float:
    return float(x.imag if imaginary else x.real)


@lru_cache(maxsize=4096)
def _address(name: str) -> tuple[int, int, bool]:
    place, index = name.removesuffix("i")[1:].split(".")
    return int(place), int(index), name.endswith("i")


def sample(count: int, wanted: int) -> list[int]:
    """Indices spread evenly over a range, first and last included."""
    if count <= wanted:
        return list(range(count))
    return sorted({round(k * (count - 1) / max(wanted - 1, 1)) for k in range(wanted)})
