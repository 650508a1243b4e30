"""Taylor coefficients along a direction, of the function itself, on Arb power series.

Independent of the reverse sweep: it uses none of its derivative rules. Mixed second derivatives come from three
directions (polarization): with D2(v) the second coefficient along v, ``f_xy = D2(e_x + e_y) - D2(e_x) - D2(e_y)``.
Gradients and derivatives along tangents are checked along one more direction, which meets every element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import factorial

import flint
from flint import arb, arb_series

from audit.reference.balls import BALLS, NAN, ZERO, side
from audit.reference.derivative import Meaning
from audit.reference.evaluate import Dialect, NoDerivative, Undecided, evaluate, series_nodes
from audit.reference.program import Program

Numbers = list[arb]
Inputs = Callable[[str], Numbers]
Exponents = Callable[[str], Sequence[int | None]]


SERIES = Dialect(
    name="series",
    scope={
        **BALLS.scope, "side": side, "lift": arb_series,
        "zero": arb_series([0]), "one": arb_series([1]), "two": arb_series([2]),
    },
    constant=BALLS.constant,
    failed=None,
    failures=(Undecided, NoDerivative, ValueError, ZeroDivisionError),
    by_value=True,
)  # fmt: skip


@contextmanager
def length(terms: int) -> Iterator[None]:
    """A context in which power series have so many coefficients."""
    before = flint.ctx.cap
    flint.ctx.cap = terms
    try:
        yield
    finally:
        flint.ctx.cap = before


@dataclass(frozen=True)
class Check:
    """What the results of a column must satisfy at every point.

    Args:
        factors: by result, its factor in a sum, a ball a point; None for a factor of 1.
        expected: what the sum must overlap with, a ball a point; not finite where there is none.
    """

    factors: Mapping[int, Numbers | None]
    expected: Numbers


def checks(meaning: Meaning, count: int, inputs: Inputs, exponents: Exponents) -> Iterator[Check]:
    """What the results of a column must satisfy, computed without derivative rules.

    Of several partial derivatives it is one direction that meets all of them, whose coefficients differ from element to
    element, so that two exchanged elements are seen.

    Args:
        meaning: what the results are. There is nothing to check of a ``value``.
        count: how many results.
        inputs: the balls of an input at every point, by its name.
        exponents: the exponents of the sizes of an input at every point, by its name; None of a zero.
    """
    function = meaning.function
    tangents = {name: inputs(tangent) for name, tangent in meaning.tangents}
    if not function.outputs or (meaning.kind == "tangent" and not tangents):
        # Of a result without elements, or along an argument without any, every derivative is zero.
        return
    weights = [inputs(name) for name in meaning.weights]
    if meaning.kind == "tangent":
        for index, column in enumerate(along(function, tangents, 1, inputs)):
            yield Check({index: None}, column)
    elif meaning.kind == "partial" and count == 1:
        yield Check({0: None}, _partial(function, meaning.partials[0], weights, inputs))
    elif meaning.kind == "partial":
        names = [name for (name,) in meaning.partials]
        slopes = _directions(names, names, names, exponents)
        expected = _weighted(along(function, slopes, 1, inputs), weights, 1)
        yield Check({index: slopes[name] for index, name in enumerate(names)}, expected)
    elif meaning.kind == "directional":
        names = [name for (name,) in meaning.partials]
        own = dict(meaning.tangents)
        slopes = _directions(names, [own[name] for name in names], list(own.values()), exponents)
        yield Check(
            {index: slopes[name] for index, name in enumerate(names)},
            _along_both(function, tangents, slopes, meaning.order, weights, inputs),
        )


def coefficient(index: int) -> int:
    """The coefficient of an element in the direction that meets all of them."""
    return (index * 37 + 11) % 61 + 1


def _directions(
    names: Sequence[str], own: Sequence[str], every: Sequence[str], exponents: Exponents
) -> dict[str, Numbers]:
    """A direction that moves every input, each by about the size of its own counterpart, or else of the largest."""
    sizes = [exponents(name) for name in own]
    whole = sizes if own == every else [exponents(name) for name in every]
    largest = [max((e for e in row if e is not None), default=0) for row in zip(*whole, strict=True)]
    return {
        name: [
            arb((coefficient(index), top if size is None else size)) for size, top in zip(column, largest, strict=True)
        ]
        for index, (name, column) in enumerate(zip(names, sizes, strict=True))
    }


def _along_both(
    function: Program,
    tangents: dict[str, Numbers],
    slopes: dict[str, Numbers],
    order: int,
    weights: list[Numbers],
    inputs: Inputs,
) -> Numbers:
    """The derivative along d of the (order - 1)-th derivative along v, by polarization.

    With D the Taylor coefficient of this order, ``f_vd = D(v + d) - D(v) - D(d)`` for the second and
    ``f_vvd = D(v + d) - D(v - d) - 2 D(d)`` for the third.
    """
    zeros = [ZERO] * len(next(iter(slopes.values())))

    def at(v: int, d: int) -> Numbers:
        direction: dict[str, Numbers] = {}
        for name in {**tangents, **slopes}:
            pairs = zip(tangents.get(name, zeros), slopes.get(name, zeros), strict=True)
            direction[name] = [v * x + d * y for x, y in pairs]
        return _weighted(along(function, direction, order, inputs), weights, 1)

    both, along_d = at(1, 1), at(0, 1)
    if order == 2:
        return [b - p - q for b, p, q in zip(both, at(1, 0), along_d, strict=True)]
    return [b - p - 2 * q for b, p, q in zip(both, at(1, -1), along_d, strict=True)]


def _constant(slopes: dict[str, int], inputs: Inputs) -> dict[str, Numbers]:
    return {name: [arb(slope)] * len(inputs(name)) for name, slope in slopes.items()}


def _partial(function: Program, chain: tuple[str, ...], weights: list[Numbers], inputs: Inputs) -> Numbers:
    order = len(chain)

    def along_all(names: Iterable[str]) -> Numbers:
        direction = _constant(dict.fromkeys(names, 1), inputs)
        return _weighted(along(function, direction, order, inputs), weights, factorial(order))

    if len(set(chain)) == 1:
        return along_all(chain[:1])
    x, y = chain
    both, first, second = along_all(chain), along_all([x]), along_all([y])
    return [(b - p - q) / 2 for b, p, q in zip(both, first, second, strict=True)]


def _weighted(columns: list[Numbers], weights: list[Numbers], factor: int) -> Numbers:
    times = arb(factor)
    total: Numbers = []
    for column, weight in zip(columns, weights, strict=True):
        pairs = zip(column, weight, strict=True)
        terms = [c * w for c, w in pairs] if factor == 1 else [times * c * w for c, w in pairs]
        total = [t + s for t, s in zip(total, terms, strict=True)] if total else terms
    return total


def along(function: Program, direction: dict[str, Numbers], order: int, inputs: Inputs) -> list[Numbers]:
    """Taylor coefficient of this order of each result along the direction, at every point."""
    active = frozenset(direction)
    with length(order + 1):
        columns = [
            [arb_series(list(pair)) for pair in zip(inputs(name), direction[name], strict=True)]
            if name in direction
            else inputs(name)
            for name in function.inputs
        ]
        results = evaluate(function, SERIES, columns, active)
    flags = series_nodes(function, active)
    points = len(next(iter(direction.values())))
    return [
        [NAN if y is None else y[order] for y in result] if flags[output] else [ZERO] * points
        for result, output in zip(results, function.outputs, strict=True)
    ]
