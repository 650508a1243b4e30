"""One-sided derivatives of the function itself, at points where it has no Taylor series: ties, and slopes without end.

On a ray ``x + t d`` with small positive t a tie is settled by the first coefficient in which the two series differ, so
that the series of a piecewise smooth function is that of the piece on the ray. It uses none of the sweep's rules.
Inputs that do not move are plain numbers, and results whose weight is exactly zero are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import frexp
from typing import Any, Protocol

from flint import arb, arb_series

from audit.reference.balls import ONE, ZERO
from audit.reference.derivative import Meaning
from audit.reference.evaluate import Dialect, Undecided, evaluate, series_nodes
from audit.reference.taylor import SERIES, coefficient, length


class Numbers(Protocol):
    """The inputs at one point."""

    def __getitem__(self, name: str) -> float:
        """The number of an input."""
        ...


def _order(x: Any, y: Any) -> int:
    """1 if the series x is larger than y for small positive t, -1 if smaller, 0 if their known coefficients agree."""
    for power in range(2):
        a, b = (z[power] if isinstance(z, arb_series) else z if power == 0 else ZERO for z in (x, y))
        if a > b:
            return 1
        if a < b:
            return -1
        equal = a == b
        if not equal:
            raise Undecided
    return 0


ONE_SIDED = Dialect(
    name="one-sided series",
    scope={
        **SERIES.scope,
        "first": lambda x: x,
        # Where both stay equal along the ray, either will do.
        "above": lambda x, y: _order(x, y) >= 0,
        "apart": lambda x, y: _order(x, y) == 0,
        "exceeds": lambda x, y: ONE if _order(x, y) >= 0 else ZERO,
        "flat": lambda *_: ZERO,
        "less": lambda x, y: _order(x, y) < 0,
        "equal": lambda x, y: _order(x, y) == 0,
        "side": lambda x: ONE if _order(x, ZERO) >= 0 else -ONE,
    },
    constant=SERIES.constant,
    failed=None,
    # A function that jumps has no series: what is written for balls alone refuses one.
    failures=(*SERIES.failures, TypeError, AttributeError),
)


def agrees(meaning: Meaning, choices: Mapping[int, Sequence[arb]], numbers: Numbers) -> bool:
    """Whether the derivative on one ray is what the results of a column say of it, in one of their resolutions.

    Args:
        meaning: what the results are. Only first derivatives are looked at.
        choices: by result, its number in each resolution.
        numbers: the inputs at the point.
    """
    order_one = meaning.kind == "partial" and len(meaning.partials[0]) == 1
    if meaning.kind == "tangent":
        direction = {name: arb(numbers[tangent]) for name, tangent in meaning.tangents if numbers[tangent]}
        found = _along(meaning, list(choices), direction, numbers)
        expected = [list(vertex) for vertex in zip(*choices.values(), strict=True)]
    elif order_one:
        # As large as the input itself, so that a step of any size stays in sight of the other numbers.
        sizes = {index: abs(numbers[meaning.partials[index][0]]) for index in choices}
        largest = max(sizes.values())
        direction = {meaning.partials[k][0]: _step(k, size or largest) for k, size in sizes.items()}
        live = [place for place, name in enumerate(meaning.weights) if numbers[name]]
        rates = _along(meaning, live, direction, numbers)
        found = None
        if rates is not None:
            weights = [arb(numbers[meaning.weights[place]]) for place in live]
            found = [sum((w * r for w, r in zip(weights, rates, strict=True)), ZERO)]
        steps = [direction[meaning.partials[index][0]] for index in choices]
        expected = [
            [sum((s * x for s, x in zip(steps, vertex, strict=True)), ZERO)]
            for vertex in zip(*choices.values(), strict=True)
        ]
    else:
        return True
    if found is None or not all(x.is_finite() for x in found):
        return True
    return any(all(x.overlaps(y) for x, y in zip(found, vertex, strict=True)) for vertex in expected)


def _step(index: int, size: float) -> arb:
    return arb((coefficient(index), frexp(size)[1]))


def _along(
    meaning: Meaning, results: Sequence[int], direction: Mapping[str, arb], numbers: Numbers
) -> list[arb] | None:
    """The derivative of some of the function's results on a ray; None if there is none."""
    function = meaning.function.restricted(results)
    active = frozenset(direction)
    flags = series_nodes(function, active)
    with length(2):
        columns = [
            [arb_series([arb(numbers[name]), direction[name]]) if name in active else arb(numbers[name])]
            for name in function.inputs
        ]
        ends = [end for (end,) in evaluate(function, ONE_SIDED, columns, active)]
    if any(end is None for end in ends):
        return None
    return [end[1] if flags[output] else ZERO for end, output in zip(ends, function.outputs, strict=True)]
