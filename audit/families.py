"""Scale families: axes that give both a fixed grid and a Hypothesis strategy.

A family is a set of named axes (exponents, mantissas, signs, weights ...) and one function that builds a batch from
columns, one per axis. The grid runs through the product of the axes; the strategy draws one point from the same axes
and shrinks to each axis' simplest value, which for exponents is the one nearest to 0.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from audit.case import Batch
from audit.errors import AuditError
from audit.formats import Floats, Format

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Columns = Mapping[str, Floats]


class Axis(Protocol):
    """One direction in which the points of a family differ."""

    def grid(self, fmt: Format, points: int | None) -> Floats:
        """At most `points` values spread over the axis (all of them for None), float64 [n]."""
        ...

    def sample(self, fmt: Format, rng: np.random.Generator, points: int) -> Floats:
        """`points` values drawn evenly from all of the axis, float64 [points]."""
        ...

    def strategy(self, fmt: Format) -> SearchStrategy[float]:
        """Draws any value of the axis; shrinks to the simplest."""
        ...


@dataclass(frozen=True)
class Exponents:
    """Exponents of powers of two between two bounds that depend on the format, both included.

    Args:
        low, high: the bounds, as functions of the format.
    """

    low: Callable[[Format], int]
    high: Callable[[Format], int]

    def grid(self, fmt: Format, points: int | None) -> Floats:
        """All exponents, or spread ones, always with the ends, their neighbours, 0 and the edge of normal.

        A grid of more points holds every one of fewer: what a quick run finds, a nightly one finds too. The spread ones
        are a van der Corput sequence (1935), which fills the largest gaps first.
        """
        low, high = self.low(fmt), self.high(fmt)
        if points is None or high - low < points:
            return np.arange(low, high + 1, dtype=np.float64)
        marks = (low, low + 1, high - 1, high, -1, 0, 1, fmt.emin - 1, fmt.emin)
        kept = {mark for mark in marks if low <= mark <= high}
        place = itertools.count(1)
        while len(kept) < points:
            kept.add(low + int((high - low + 1) * _mirrored(next(place))))
        return np.array(sorted(kept), np.float64)

    def sample(self, fmt: Format, rng: np.random.Generator, points: int) -> Floats:
        """Exponents drawn evenly."""
        return rng.integers(self.low(fmt), self.high(fmt) + 1, points).astype(np.float64)

    def strategy(self, fmt: Format) -> SearchStrategy[float]:
        """Any exponent; shrinks toward the one nearest to 0."""
        from hypothesis import strategies as st

        low, high = self.low(fmt), self.high(fmt)
        nearest = min(max(0, low), high)
        return st.integers(low - nearest, high - nearest).map(lambda k: float(k + nearest))


@dataclass(frozen=True)
class Choice:
    """A few values, the simplest first."""

    values: tuple[float, ...]

    def grid(self, fmt: Format, points: int | None) -> Floats:  # noqa: ARG002  the same in every format
        """All values, however many points are asked for."""
        return np.array(self.values)

    def sample(self, fmt: Format, rng: np.random.Generator, points: int) -> Floats:  # noqa: ARG002
        """Values drawn evenly."""
        return rng.choice(np.array(self.values), points)

    def strategy(self, fmt: Format) -> SearchStrategy[float]:  # noqa: ARG002
        """One of the values; shrinks to the first."""
        from hypothesis import strategies as st

        return st.sampled_from(self.values)


@dataclass(frozen=True)
class Mantissas:
    """Significands in [1, 2): short ones on the grid, any of the format in the strategy."""

    short: tuple[float, ...] = (1.0, 1.5, 1.25)

    def grid(self, fmt: Format, points: int | None) -> Floats:  # noqa: ARG002  short ones are in every format
        """The short significands."""
        return np.array(self.short)

    def sample(self, fmt: Format, rng: np.random.Generator, points: int) -> Floats:
        """Significands of the format drawn evenly."""
        return 1.0 + np.ldexp(rng.integers(0, 2 ** (fmt.precision - 1), points).astype(np.float64), 1 - fmt.precision)

    def strategy(self, fmt: Format) -> SearchStrategy[float]:
        """Any significand of the format; shrinks to 1, and to few digits before many."""
        from hypothesis import strategies as st

        digits = fmt.precision - 1
        short = st.integers(0, 15).map(lambda n: 1.0 + n / 16)
        full = st.integers(0, 2**digits - 1).map(lambda n: 1.0 + math.ldexp(n, -digits))
        return st.one_of(short, full)


@dataclass(frozen=True)
class Family:
    """A scale family of one function.

    Args:
        name: name of the group its rows belong to.
        axes: the axes by name.
        build: makes a batch from a format and one column per axis. Columns may hold combinations that the format
            cannot represent; `build` drops those points itself.
        density: grid points per exponent axis in a default run (None: every exponent).
        random_share: part of a run's random points that this family takes; small where MLX sees one point at a time.
    """

    name: str
    axes: Mapping[str, Axis]
    build: Callable[[Format, Columns], Iterable[Batch]]
    density: int | None = None
    random_share: float = 1.0

    def grid(self, fmt: Format, scale: float = 1.0) -> Iterator[Batch]:
        """The fixed grid: every combination of the axes' grid values.

        Args:
            fmt: the format.
            scale: multiplies the density; 0.25 for a quick run, infinite for every exponent.
        """
        yield from self._batches(fmt, self._grid(fmt, scale))

    def random(self, fmt: Format, points: int, seed: int) -> Iterator[Batch]:
        """Points drawn evenly from the axes by a generator that depends on seed, family and format only."""
        yield from self._batches(fmt, self._random(fmt, points, seed))

    def batches(self, fmt: Format, scale: float, points: int, seed: int) -> Iterator[Batch]:
        """The points of the grid and the random ones together, each once."""
        yield from self._batches(fmt, np.concatenate([self._grid(fmt, scale), self._random(fmt, points, seed)]))

    def strategy(self, fmt: Format, points: int = 1) -> SearchStrategy[list[Batch]]:
        """Points from the same axes, as a list of batches; shrinks to one point, and that to the simplest.

        Args:
            fmt: the format.
            points: at most so many, since a batch of many points costs little more than one of a single point.
        """
        from hypothesis import strategies as st

        def batches(drawn: list[tuple[float, ...]]) -> list[Batch]:
            return list(self._batches(fmt, np.array(drawn)))

        one = st.tuples(*(axis.strategy(fmt) for axis in self.axes.values()))
        return st.lists(one, min_size=1, max_size=points).map(batches)

    def _grid(self, fmt: Format, scale: float) -> Floats:
        points = None
        if self.density is not None and math.isfinite(scale):
            points = max(int(self.density * scale), 3)
        elif scale < 1:
            points = 24
        columns = [axis.grid(fmt, points) for axis in self.axes.values()]
        return np.array(list(itertools.product(*columns)))

    def _random(self, fmt: Format, points: int, seed: int) -> Floats:
        points = round(points * self.random_share)
        rng = np.random.default_rng([seed, zlib.crc32(f"{self.name} {fmt.name}".encode())])
        return np.stack([axis.sample(fmt, rng, points) for axis in self.axes.values()], axis=1)

    def _batches(self, fmt: Format, table: Floats) -> Iterator[Batch]:
        columns = {name: table[:, index] for index, name in enumerate(self.axes)}
        for batch in self.build(fmt, columns):
            if batch.group != self.name:
                raise AuditError(f"Family {self.name!r} built a batch of the group {batch.group!r}.")
            if batch.points:
                yield batch.distinct()


def _mirrored(place: int) -> float:
    """The binary digits of an integer, mirrored at the point: 1/2, 1/4, 3/4, 1/8, 5/8 ..."""
    return int(f"{place:b}"[::-1], 2) / 2 ** place.bit_length()


def power(exponent: Any) -> Floats:
    """2 ** exponent, exactly, for exponents within float64's range (subnormals included)."""
    return np.ldexp(1.0, np.asarray(exponent).astype(np.int64))
