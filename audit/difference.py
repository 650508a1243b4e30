"""Central differences of the forward value: the witness beside the reference.

The n-th central difference with step h is the mean of the n-th derivative over ``[x - n*h/2, x + n*h/2]`` weighted by a
B-spline of variance ``n * h**2 / 12`` (Curry and Schoenberg 1966), so that it differs from the derivative at x by at
most ``n * h**2 / 24`` times the largest (n+2)-th derivative there; Arb bounds that derivative over the whole interval.
To it comes the rounding of the forward values. The step is a power of two and scales with the primals; where a point is
no number of the format, there is no witness.

The witness never decides alone. Where it contradicts the reference beyond both bounds, the same difference is taken of
right forward values: only if that contradicts too is it an error of the audit; otherwise MLX's forward value is off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import comb
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from audit import modes
from audit.case import Batch, Mode
from audit.families import power
from audit.formats import FLOAT64, Floats
from audit.reference import Answer, References, Rounded
from audit.reference.remainder import Line, largest_derivatives
from audit.watch import during

Index = NDArray[np.intp]
Source = Callable[[list[Floats], tuple[int, ...]], tuple[Floats, Floats]]

# A forward value is trusted to this many ulps; where that is wrong, the contradiction is traced to it.
FORWARD_ULPS = 4.0


@dataclass(frozen=True)
class Witness:
    """Central differences of n rows.

    Args:
        value: float64 [n], NaN where none was taken.
        bound: float64 [n], proven bound of the distance from the right value as long as forward values are right.
    """

    value: Floats
    bound: Floats


@dataclass(frozen=True)
class Scaled:
    """Differences ``value * 2**exponent``, whose powers of two are put together before they can overflow."""

    value: Floats
    bound: Floats
    exponent: NDArray[np.int64]

    def witness(self) -> Witness:
        """As float64; NaN where it has no such number."""
        value = np.ldexp(self.value, self.exponent)
        bound = np.where(self.bound == 0, 0.0, np.nextafter(np.ldexp(self.bound, self.exponent), np.inf))
        known = np.isfinite(value) & np.isfinite(bound)
        return Witness(np.where(known, value, np.nan), np.where(known, bound, np.nan))


@dataclass
class Differences:
    """Takes central differences, and keeps what contradicts the reference.

    Args:
        references: give right forward values where reference and witness disagree.
        arithmetic: the namespace with which MLX evaluates a function.
        contradictions: one message for each row where a difference of right forward values disagrees too.
    """

    references: References
    arithmetic: Any = mx
    contradictions: list[str] = field(default_factory=list)

    def of(self, batch: Batch) -> Taker | None:
        """The taker of witnesses for a batch, None if it has none.

        There is none for forward values, second derivatives along tangents, points that are rows of a mapped function,
        and complex numbers.
        """
        if batch.mode.kind == "forward" or batch.mode.directional or batch.wrap.startswith("vmap-") or batch.complex:
            return None
        return Taker(self, batch)


@dataclass(frozen=True)
class Taker:
    """Takes central differences for the rows of one batch; each once, whoever asks for it."""

    differences: Differences
    batch: Batch
    taken: dict[tuple[str, bytes], Witness] = field(default_factory=dict)

    @during("witnesses")
    def __call__(self, answer: Answer, rows: Index) -> Witness:
        """Witnesses of some rows of an answer, and a note of every one that contradicts the reference."""
        key = (answer.argument, rows.tobytes())
        if key not in self.taken:
            with np.errstate(all="ignore"):
                self.taken[key] = self._take(answer, rows, self._library).witness()
            self._confront(answer, rows, self.taken[key])
        return self.taken[key]

    def _take(self, answer: Answer, rows: Index, source: Source) -> Scaled:
        batch, kind = self.batch, self.batch.mode.kind
        elements = max(math.prod(answer.shape), 1)
        points, element = rows // elements, rows % elements
        primals = [primal[points] for primal in batch.primals]
        names = batch.function.arguments
        if kind == "jvp":
            tangents = dict(zip(batch.mode.traced, (w[points] for w in batch.weights), strict=True))
            directions = [tangents.get(i, np.zeros_like(p)) for i, p in enumerate(primals)]
            size = 1 if batch.function.elementwise else math.prod(answer.shape)
            weights = (np.arange(size) == element[:, None]).astype(float) if size > 1 else np.ones((len(rows), 1))
            return self._along(primals, directions, weights, 1, source)
        weights = batch.weights[0][points].reshape(len(rows), -1)
        if not kind.startswith("hessian"):
            unit = _unit(primals, names.index(answer.argument), element)
            return self._along(primals, unit, weights, batch.mode.order, source)
        first, second = (names.index(name) for name in answer.argument.split(","))
        if first == second:
            return self._along(primals, _unit(primals, first, element), weights, 2, source)
        return self._mixed(primals, first, second, weights, source)

    def _mixed(self, primals: list[Floats], first: int, second: int, weights: Floats, source: Source) -> Scaled:
        """Polarisation: ``4 u v f_xy`` is the second difference along (u, v) less that along (u, -v)."""
        exponents = [np.frexp(primals[i])[1].astype(np.int64) - 1 for i in (first, second)]
        found = []
        for sign in (1.0, -1.0):
            directions = [np.zeros_like(primal) for primal in primals]
            directions[first], directions[second] = power(exponents[0]), sign * power(exponents[1])
            found.append(self._along(primals, directions, weights, 2, source))
        # Both lines have the same step, and so the same scale.
        value, bound = found[0].value - found[1].value, found[0].bound + found[1].bound
        return Scaled(value, bound, found[0].exponent - exponents[0] - exponents[1] - 2)

    def _along(
        self, primals: list[Floats], directions: list[Floats], weights: Floats, order: int, source: Source
    ) -> Scaled:
        """The n-th derivative of the weighted sum of the outputs along a line, from n + 1 forward values.

        Args:
            primals, directions: one array ``[rows, *shape]`` an argument.
            weights: of the outputs, ``[rows, outputs]``.
            order: n, from 1 to 3.
            source: of the forward values.
        """
        fmt, rows = self.batch.format, len(weights)
        step = _step(primals, directions, fmt.precision // (order + 3))
        total, rounding = np.zeros(rows), np.zeros(rows)
        # The weights' common exponent is put back at the end: their products must not underflow.
        lift = np.frexp(np.abs(weights).max(axis=1, initial=0.0))[1].astype(np.int64) - 1
        weights = np.ldexp(weights, -lift[:, None])
        exact = np.ones(rows, bool)
        additions = (weights.shape[1] + order + 2) * np.finfo(float).eps
        for k in range(order + 1):
            shift = (order / 2 - k) * np.ldexp(1.0, step)
            moved = []
            for primal, direction in zip(primals, directions, strict=True):
                along = shift.reshape(-1, *[1] * (primal.ndim - 1))
                offset = along * direction
                point = fmt.round(primal + offset)
                # Where the offset itself underflows in float64, the point is not on the line.
                held = (point - primal == offset) & ((2 * k == order) | (offset / along == direction))
                exact &= held.reshape(rows, -1).all(axis=1)
                moved.append(point)
            values, errors = source(moved, weights.shape)
            coefficient = comb(order, k)
            total += (-1) ** k * coefficient * (weights * values).sum(axis=1)
            # The sums here are rounded as well: once a product, and once an addition.
            rounding += coefficient * (np.abs(weights) * (errors + additions * np.abs(values))).sum(axis=1)
        line = Line(self.batch.function, tuple(primals), tuple(directions), np.ldexp(1.0, step))
        remainder = largest_derivatives(line, half_width=order / 2, order=order + 2)
        truncation = order / 24 * (np.abs(weights) * remainder).sum(axis=1)
        return Scaled(np.where(exact, total, np.nan), truncation + rounding, lift - order * step)

    @during("mlx")
    def _library(self, primals: list[Floats], shape: tuple[int, ...]) -> tuple[Floats, Floats]:
        """MLX's own forward values, ``[rows, outputs]``; NaN, and so no witness, where it gives none of that shape."""
        nothing = np.full(shape, np.nan)
        try:
            got = modes.ask(self._forward_batch(primals), self.differences.arithmetic)[0]
        except (Exception, SystemExit):  # noqa: BLE001  the row of the forward value says what was raised
            return nothing, nothing
        if got.fault or got.real.size != math.prod(shape):
            return nothing, nothing
        values = got.real.reshape(shape)
        return values, FORWARD_ULPS * self.batch.format.ulp(values)

    def _certified(self, primals: list[Floats], shape: tuple[int, ...]) -> tuple[Floats, Floats]:
        """The right forward values, rounded to float64."""
        right = self.differences.references.enclose(self._forward_batch(primals))[0].real.to_format(FLOAT64)
        values = np.where(right.where <= Rounded.UNDERFLOWS, right.value, np.nan).reshape(shape)
        return values, FLOAT64.ulp(values)

    def _forward_batch(self, primals: list[Floats]) -> Batch:
        forward = Mode("forward", ())
        return replace(self.batch, mode=forward, primals=tuple(primals), weights=(), compared=None, wrap="")

    def _confront(self, answer: Answer, rows: Index, witness: Witness) -> None:
        """Where witness and reference contradict each other, the same difference of right values must agree."""
        suspects = self._apart(answer, rows, witness)
        if not len(suspects):
            return
        with np.errstate(all="ignore"):
            certified = self._take(answer, rows[suspects], self._certified).witness()
        for place in self._apart(answer, rows[suspects], certified):
            point = rows[suspects][place] // max(math.prod(answer.shape), 1)
            self.differences.contradictions.append(
                f"{self.batch.group} {self.batch.function.name} {self.batch.format.name} {self.batch.mode.kind} "
                f"{answer.argument}, point {point}: the reference is not the central difference of right values, "
                f"{certified.value[place]!r} +- {certified.bound[place]!r}"
            )

    def _apart(self, answer: Answer, rows: Index, witness: Witness) -> Index:
        """Which witnesses are further from the right value than both bounds allow."""
        fmt = self.batch.format
        right = answer.real.take(rows).to_format(fmt)
        ulp = fmt.ulp(right.value)
        with np.errstate(all="ignore"):
            distance = np.abs(witness.value - right.value - right.residual * ulp)
            apart = distance > witness.bound + right.radius * ulp
        return np.flatnonzero(apart & np.isfinite(right.value))


def _unit(primals: list[Floats], argument: int, element: Index) -> list[Floats]:
    """Directions along one element of one argument, a row each."""
    directions = [np.zeros_like(primal) for primal in primals]
    flat = directions[argument].reshape(len(element), -1)
    flat[np.arange(len(element)), element] = 1.0
    return directions


def _step(primals: list[Floats], directions: list[Floats], bits: int) -> NDArray[np.int64]:
    """Exponent of the step: `bits` below the least ratio of a primal to its direction."""
    rows = len(primals[0])
    least = np.full(rows, np.inf)
    largest = np.zeros(rows)
    steepest = np.zeros(rows)
    for primal, direction in zip(primals, directions, strict=True):
        if not primal.size:
            continue
        size, slope = np.abs(primal).reshape(rows, -1), np.abs(direction).reshape(rows, -1)
        moving = (slope > 0) & (size > 0)
        ratio = np.where(moving, size / np.where(slope > 0, slope, 1.0), np.inf)
        least = np.minimum(least, ratio.min(axis=1))
        largest, steepest = np.maximum(largest, size.max(axis=1)), np.maximum(steepest, slope.max(axis=1))
    # Where only zeros move, the largest other primal gives the scale.
    fallback = np.where((largest > 0) & (steepest > 0), largest / np.where(steepest > 0, steepest, 1.0), 1.0)
    return np.frexp(np.where(np.isfinite(least), least, fallback))[1].astype(np.int64) - 1 - bits
