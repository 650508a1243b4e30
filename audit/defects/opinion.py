"""A right value by mpmath alone: the body of the function at high precision, differentiated by central differences.

It shares nothing with the reference but the body: no program, no rule of differentiation, no ball. Along each direction
of a derivative a difference is taken with steps far below the primals; two step widths tell how good it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from mpmath import MPContext

from audit.defects.again import Place
from audit.formats import Floats
from audit.reference.arithmetic import Arithmetic
from audit.reference.mapped import call, mapped_axes
from audit.reference.operations import OPERATIONS
from audit.report.record import Enclosure

# Steps are this many bits below the primals; the truncation error is about the square of that.
STEP_BITS = (80, 200, 600)
# A difference is good if its two step widths agree to this many bits.
SHARP_BITS = 40

# Of our own, since the precision of mpmath's global one is anybody's; making one takes longer than an opinion.
_CONTEXT: Any = MPContext()

# One component of one array moves: (array, flat index, imaginary, slope).
Move = tuple[int, int, bool, Any]


@dataclass(frozen=True)
class Estimate:
    """A number with an estimate of its error, by component.

    Args:
        parts: the components.
        context: mpmath's.
        kinked: whether the differences to both sides are not the same: every number between them is right.
    """

    parts: Sequence[tuple[Any, Any]]
    context: Any
    kinked: bool = False

    @property
    def text(self) -> str:
        """To 25 digits."""
        told = []
        for value, error in self.parts:
            bound = f" ± {self.context.nstr(error, 2)}" if error else ""
            told.append(f"{self.context.nstr(value, 25)}{bound}")
        return " + i ".join(told)

    def agrees(self, right: Sequence[Enclosure]) -> bool | None:
        """Whether it lies where the enclosure says; None if that is only known to lie beyond the format."""
        if self.kinked:
            return None
        verdicts = [self._one(value, error, part) for (value, error), part in zip(self.parts, right, strict=False)]
        if any(verdict is False for verdict in verdicts):
            return False
        return None if None in verdicts or not verdicts else True

    @property
    def name(self) -> str:
        """How the number was found."""
        told = "mpmath on the function itself, by differences at high precision"
        return f"{told}; the differences to both sides are not the same" if self.kinked else told

    def _one(self, value: Any, error: Any, part: Enclosure) -> bool | None:
        if math.isnan(part.value):
            return None
        if math.isinf(part.value):
            return bool(abs(value) >= part.format.largest and (value > 0) == (part.value > 0))
        ulp = Fraction(float(part.format.ulp(part.value)))
        exact = Fraction(part.value) + Fraction(part.residual) * ulp
        right = self.context.mpf(exact.numerator) / exact.denominator
        radius = self.context.mpf(part.radius) * float(ulp)
        return bool(abs(value - right) <= radius + error + abs(right) * self.context.ldexp(1, -90))


def estimate(place: Place) -> Estimate | None:
    """What mpmath finds for one number of an answer; None if it finds none.

    Args:
        place: the question, of one point.
    """
    try:
        return _Opinion(place).estimate()
    except Exception:  # noqa: BLE001  an operation without mpmath's help, a pole, a branch: there is no opinion
        return None


def kinked(place: Place) -> bool:
    """Whether a first derivative is not the same to both sides; False where mpmath cannot tell.

    Args:
        place: the question, of one point.
    """
    try:
        return _Opinion(place).kinked()
    except Exception:  # noqa: BLE001  an operation without mpmath's help, a pole, a branch: there is no opinion
        return False


class _Opinion:
    def __init__(self, place: Place) -> None:
        self._mp = _CONTEXT
        self._place, self._batch = place, place.batch
        self._axes = mapped_axes(self._batch)
        self._arithmetic = Arithmetic(self._apply)
        exponents = np.frexp([x for array in place.arrays for x in _flat(array) if x and math.isfinite(x)])[1]
        self._spread = int(np.abs(exponents).max(initial=0)) * 2 + 64

    def estimate(self) -> Estimate | None:
        parts = [self._part(imaginary=False)]
        if self._batch.format_of(self._place.argument).parts == 2:
            parts.append(self._part(imaginary=True))
        return Estimate(parts, self._mp, kinked=self.kinked())

    def _part(self, *, imaginary: bool) -> tuple[Any, Any]:
        found = (self._mp.mpf(0), self._mp.inf)
        for bits in STEP_BITS:
            orders = len(self._directions(imaginary=imaginary))
            self._mp.prec = (orders + 1) * (bits + 40) + 2 * self._spread
            coarse = self._difference(bits, imaginary=imaginary)
            fine = self._difference(bits + 2, imaginary=imaginary)
            found = (fine, abs(coarse - fine) + abs(fine) * self._mp.ldexp(1, -SHARP_BITS - bits))
            if found[1] <= abs(fine) * self._mp.ldexp(1, -SHARP_BITS) or not fine:
                break
        return found

    def kinked(self) -> bool:
        """Whether a first derivative is not the same to both sides."""
        directions = self._directions(imaginary=False)
        if len(directions) != 1:
            return False
        self._mp.prec = 3 * (STEP_BITS[-1] + 40) + 2 * self._spread
        step = self._step(directions[0], STEP_BITS[-1])
        right, middle, left = (
            self._value([(a, e, part, slope * sign * step) for a, e, part, slope in directions[0]], imaginary=False)
            for sign in (1, 0, -1)
        )
        ahead, behind = right - middle, middle - left
        return bool(abs(ahead - behind) > max(abs(ahead), abs(behind)) * self._mp.ldexp(1, -20))

    def _directions(self, *, imaginary: bool) -> list[list[Move]]:
        """The directions of the derivative, one after another; none for a value."""
        batch, kind = self._batch, self._batch.mode.kind
        if kind == "forward":
            return []
        if kind == "jvp":
            return [self._tangents(batch.weights)]
        names = batch.function.arguments
        if kind.startswith("hessian"):
            return [[(names.index(name), 0, imaginary, 1)] for name in self._place.argument.split(",")]
        unit: list[Move] = [(names.index(self._place.argument), self._place.element, imaginary, 1)]
        if kind.startswith("grad"):
            return [unit] * int(kind[-1])
        if kind == "vjp":
            return [unit]
        return [unit, *[self._tangents(batch.weights[1:])] * (2 if kind == "third" else 1)]

    def _tangents(self, weights: Sequence[Floats]) -> list[Move]:
        moves: list[Move] = []
        for index, weight in zip(self._batch.mode.traced, weights, strict=True):
            for element, slope in enumerate(weight[0].reshape(-1).tolist()):
                parts = (slope.real, slope.imag) if isinstance(slope, complex) else (slope,)
                moves += [(index, element, bool(part), self._mp.mpf(x)) for part, x in enumerate(parts) if x]
        return moves

    def _difference(self, bits: int, *, imaginary: bool) -> Any:
        directions = self._directions(imaginary=imaginary)
        steps = [self._step(direction, bits) for direction in directions]
        total = self._mp.mpf(0)
        for signs in product((1, -1), repeat=len(directions)):
            moves = [
                (array, element, part, slope * sign * step / 2)
                for direction, step, sign in zip(directions, steps, signs, strict=True)
                for array, element, part, slope in direction
            ]
            total += math.prod(signs) * self._value(moves, imaginary=imaginary)
        return total / math.prod(steps, start=self._mp.mpf(1))

    def _step(self, direction: Sequence[Move], bits: int) -> Any:
        """A step far below every number that moves; where only zeros move, below everything else."""
        ratios = []
        for array, element, part, slope in direction:
            number = self._batch.primals[array][0].reshape(-1)[element]
            size = abs(number.imag if part else number.real)
            if size and math.isfinite(size):
                ratios.append(abs(self._mp.mpf(float(size)) / slope))
        sizes = [abs(x) for array in self._batch.primals for x in _flat(array) if x and math.isfinite(x)]
        scale = min(ratios, default=self._mp.mpf(min([*sizes, 1.0])))
        return scale * self._mp.ldexp(1, -bits)

    def _value(self, moves: Sequence[Move], *, imaginary: bool) -> Any:
        """The number whose differences are taken: one result, or the weighted sum of all of them."""
        batch, mp = self._batch, self._mp
        arguments = []
        for index, (primal, fmt) in enumerate(zip(batch.primals, batch.argument_formats, strict=True)):
            make = mp.mpc if fmt.parts == 2 else mp.mpf
            elements = np.array([make(x) for x in primal[0].reshape(-1).tolist()], object)
            for array, element, part, amount in moves:
                if array == index:
                    elements[element] += mp.mpc(0, amount) if part else amount
            shaped = elements.reshape(primal.shape[1:])
            arguments.append(shaped if shaped.shape else shaped[()])
        results = np.asarray(call(batch.function.body, self._arithmetic, arguments, self._axes), object).reshape(-1)
        if batch.mode.kind in ("forward", "jvp"):
            result = mp.mpc(results[self._place.element])
            return result.imag if imaginary else result.real
        total = mp.mpf(0)
        for weight, result in zip(batch.weights[0][0].reshape(-1).tolist(), results, strict=True):
            # The pairing of pairs of reals.
            number, factor = mp.mpc(result), mp.mpc(weight)
            if factor:
                total += factor.real * number.real + factor.imag * number.imag
        return total

    def _apply(self, operation: str, operands: tuple[Any, ...], parameter: int | None) -> Any:
        numbers = [self._number(x) for x in operands]
        return OPERATIONS[operation].mp(self._mp, *numbers, *(() if parameter is None else (parameter,)))

    def _number(self, x: Any) -> Any:
        if isinstance(x, bool):
            return x
        return self._mp.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else self._mp.convert(x)


def _flat(array: Any) -> list[float]:
    parts = (array.real, array.imag) if np.iscomplexobj(array) else (array,)
    return [float(x) for part in parts for x in np.asarray(part).reshape(-1)]
