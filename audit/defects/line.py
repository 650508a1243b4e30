"""Lines of inputs, on which some numbers scale with a power of two: where a rule is right and wrong by exponent.

The shrunk input tells which number leads: the one furthest from 1. Others may have to move with it, or against it, for
the right value to stay within the format all along, since only there a rule can be seen to be wrong: of the lines on
which each array moves with the lead, against it, or not at all, the one with most right values inside it is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from audit.defects.again import Asker, Place, changed
from audit.formats import Floats, Format
from audit.verdict import MISMATCHES

Ints = NDArray[np.int64]

# Exponents at which lines are compared with each other, and how many lines of more than three arrays there may be.
TRIED = 41
# Every exponent up to this is tried.
CLOSE = 9
LINES = 27
# Exponents up to this are left to numbers that do not move.
ORDINARY = 3


@dataclass(frozen=True)
class Line:
    """Inputs of which some scale with a power of two.

    Args:
        place: the question.
        mantissas: of each array.
        direction: of each number, its exponent at k = 1: 1, -1 or 0.
        text: which inputs move, in words.
    """

    place: Place
    mantissas: tuple[Floats, ...]
    direction: tuple[Floats, ...]
    text: str

    def inside(self, exponents: Ints, fmt: Format) -> Ints:
        """Those exponents at which every input is a number of the format."""
        return exponents[self._arrays(exponents, fmt)[1]]

    def at(self, exponents: Ints, fmt: Format) -> Place | None:
        """The question at 2**k, a point for each k; None where it cannot be asked in the format."""
        arrays, _ = self._arrays(exponents, fmt)
        return changed(lambda: self.place.with_arrays(arrays, fmt))

    def _arrays(self, exponents: Ints, fmt: Format) -> tuple[list[Floats], NDArray[np.bool_]]:
        """The inputs, ``[exponents, *shape]`` each, and where all of them are numbers of the format."""
        arrays, held = [], np.ones(len(exponents), bool)
        for mantissa, direction in zip(self.mantissas, self.direction, strict=True):
            along = exponents.reshape(-1, *[1] * (mantissa.ndim - 1))
            with np.errstate(all="ignore"):
                array = np.ldexp(mantissa, (along * direction).astype(np.int64))
                # A mantissa that loses bits in the subnormal range is another input.
                whole = fmt.contains(array) & (np.isfinite(array) | ~np.isfinite(mantissa))
                whole &= (array != 0) | (mantissa == 0)
            held &= whole.reshape(len(exponents), -1).all(axis=1)
            arrays.append(array)
        return arrays, held


def best_line(place: Place, asker: Asker) -> Line | None:
    """The line on which a defect of the range shows best.

    Args:
        place: the shrunk input.
        asker: asks at some exponents of each line.

    Returns:
        None where the input is complex, all its exponents are near 0, or no line shows anything wrong.
    """
    fmt = place.batch.format
    tried = TRIED if place.batch.function.elementwise else TRIED // 3
    wide = np.rint(np.linspace(fmt.esub, fmt.emax, tried)).astype(np.int64)
    exponents = np.union1d(wide, np.arange(-CLOSE, CLOSE + 1, 1 if place.batch.function.elementwise else 4))
    best, most = None, (0, 0)
    for line in _lines(place):
        inside = line.inside(exponents, fmt)
        asked = line.at(inside, fmt) if len(inside) else None
        verdicts = asker.verdicts(asked) if asked is not None else []
        # Where the right value leaves the format, nothing can be told.
        told = sum(verdict in MISMATCHES or verdict in ("match", "allowed") for verdict in verdicts)
        wrong = sum(verdict in MISMATCHES for verdict in verdicts)
        near = [verdict for k, verdict in zip(inside, verdicts, strict=False) if abs(k) == abs(inside).min()]
        if wrong and not any(verdict in MISMATCHES for verdict in near) and (told, wrong) > most:
            best, most = line, (told, wrong)
    return best


def _lines(place: Place) -> Iterator[Line]:
    """Lines through the shrunk input's mantissas, those on which least moves first."""
    if place.batch.format.parts == 2 or any(np.iscomplexobj(array) for array in place.arrays):
        return
    mantissas, exponents = [], []
    for array in place.arrays:
        finite = np.isfinite(array) & (array != 0)
        exponent = np.where(finite, np.frexp(array)[1] - 1, 0)
        exponents.append(exponent)
        mantissas.append(np.where(finite, np.ldexp(array, -exponent), array))
    reaches = [int(np.abs(e).max(initial=0)) for e in exponents]
    if max(reaches, default=0) < 2:
        return
    leader = reaches.index(max(reaches))
    names = [*place.subject.function.arguments, *(f"w{i or ''}" for i in range(len(place.batch.weights)))]
    count = len(mantissas)
    choices = sorted(product((0, 1, -1), repeat=count - 1), key=lambda c: (sum(map(abs, c)), c))
    if not place.batch.function.elementwise:
        # Asked point by point: the lead alone, or everything with it, and the weights against it.
        primals = len(place.batch.primals)
        choices = [(0,) * (count - 1), (1,) * (count - 1), (1,) * (primals - 1) + (-1,) * (count - primals)]
    for chosen in choices[:LINES]:
        slopes = [*chosen[:leader], 1, *chosen[leader:]]
        # Arrays that stay keep their own exponents, unless those are far from 0 too.
        near = [np.where(np.abs(e) <= ORDINARY, e, 0) for e in exponents]
        starts = [np.ldexp(m, e) if slope == 0 else m for slope, m, e in zip(slopes, mantissas, near, strict=True)]
        directions = [np.full(m.shape, slope) for slope, m in zip(slopes, mantissas, strict=True)]
        moving = [f"{name} scales as 2^{'' if s > 0 else '-'}k" for name, s in zip(names, slopes, strict=True) if s]
        yield Line(place, tuple(starts), tuple(directions), ", ".join(moving))
    if place.arrays[leader].size > 1:
        # One number of an array alone.
        single = exponents[leader] == exponents[leader].reshape(-1)[np.abs(exponents[leader]).argmax()]
        starts, directions = list(place.arrays), [np.zeros(m.shape, int) for m in mantissas]
        starts[leader] = np.where(single, mantissas[leader], starts[leader])
        directions[leader] = single.astype(int)
        yield Line(place, tuple(starts), tuple(directions), f"some numbers of {names[leader]} scale as 2^k")
