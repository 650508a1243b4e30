"""Taylor coefficients along a direction, of the function itself, on Arb power series.

Independent of the reverse sweep: it uses none of its derivative rules. Mixed second derivatives come from three
directions (polarization): with D2(v) the second coefficient along v, ``f_xy = D2(e_x + e_y) - D2(e_x) - D2(e_y)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import factorial

import flint
from flint import arb, arb_series

from audit.reference.balls import BALLS, NAN, ZERO, side
from audit.reference.derivative import Meaning
from audit.reference.evaluate import Dialect, NoDerivative, Undecided, evaluate, series_nodes
from audit.reference.program import Program
from audit.reference.saturating import first, sech, tanh

# With more results than this, one direction that meets all of them is checked in place of one direction each.
SEPARATE = 16

Numbers = list[arb]
Inputs = Callable[[str], Numbers]


SERIES = Dialect(
    name="series",
    scope={
        **BALLS.scope, "first": first, "tanh": tanh, "sech": sech, "side": side, "lift": arb_series,
        "zero": arb_series([0]), "one": arb_series([1]), "two": arb_series([2]),
    },
    constant=BALLS.constant,
    failed=None,
    failures=(Undecided, NoDerivative, ValueError, ZeroDivisionError),
)  # fmt: skip


@contextmanager
def _length(terms: int) -> Iterator[None]:
    before = flint.ctx.cap
    flint.ctx.cap = terms
    try:
        yield
    finally:
        flint.ctx.cap = before


def checks(meaning: Meaning, count: int, inputs: Inputs) -> Iterator[tuple[dict[int, int], Numbers]]:
    """What the results of a column must satisfy, computed without derivative rules.

    Args:
        meaning: what the results are. There is nothing to check of a ``value``.
        count: how many results.
        inputs: the balls of an input at every point, by its name.

    Yields:
        An integer combination of results, as coefficient by index, and for each point a ball it must overlap (not
        finite where there is none).
    """
    if meaning.kind == "tangent":
        direction = {name: inputs(tangent) for name, tangent in meaning.tangents}
        for index, column in enumerate(along(meaning.function, direction, 1, inputs)):
            yield {index: 1}, column
    elif meaning.kind == "partial":
        weights = [inputs(name) for name in meaning.weights]
        if count <= SEPARATE:
            for index, chain in enumerate(meaning.partials):
                yield {index: 1}, _partial(meaning.function, chain, weights, inputs)
        else:
            # Coefficients that differ from element to element, so that two exchanged elements are seen.
            combination = {index: (index * 37 + 11) % 61 + 1 for index in range(count)}
            slopes = {meaning.partials[index][0]: v for index, v in combination.items()}
            yield combination, _weighted(along(meaning.function, _constant(slopes, inputs), 1, inputs), weights, 1)


def _constant(slopes: dict[str, int], inputs: Inputs) -> dict[str, Numbers]:
    return {name: [arb(slope)] * len(inputs(name)) for name, slope in slopes.items()}


def _partial(function: Program, chain: tuple[str, ...], weights: list[Numbers], inputs: Inputs) -> Numbers:
    order = len(chain)

    def coefficient(names: Iterable[str]) -> Numbers:
        direction = _constant(dict.fromkeys(names, 1), inputs)
        return _weighted(along(function, direction, order, inputs), weights, factorial(order))

    if len(set(chain)) == 1:
        return coefficient(chain[:1])
    x, y = chain
    both, first, second = coefficient(chain), coefficient([x]), coefficient([y])
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
    with _length(order + 1):
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
