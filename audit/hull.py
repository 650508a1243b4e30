"""Where a derivative is a set: the point of the convex hull that is nearest to what was got.

At a kink every convex combination of the one-sided derivatives is right, as a whole vector: at a tie of two, (1, 0),
(0, 1) and (1/2, 1/2) are, (1, 1) is not. What was got is judged against the nearest combination, element by element as
anywhere else, so that it matches if it lies in the hull and is named by its distance if it does not.

The nearest combination is found in double precision (P. Wolfe, Finding the nearest point in a polytope, Mathematical
Programming 11, 1976), and then, since float64 has no digits to spare, once more on the vertices it consists of, in
balls. Each element counts relative to its own size: first that of its largest vertex, then that of what was got.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from audit.formats import Floats, Format
from audit.modes import Got
from audit.reference import Answer, Hull
from audit.reference.balls import precision
from audit.reference.convert import convert
from audit.reference.enclosure import Enclosures, Right, Rounded, State

BITS = 256
# What is smaller than this part of the whole is rounding.
SMALL = 1e-12

Component = tuple[Right, Right | None]
Flags = NDArray[np.bool_]


def settle(
    answers: Sequence[Answer], rounded: Sequence[Component], formats: Sequence[Format], got: Sequence[Got | None]
) -> tuple[list[Component], list[Flags]]:
    """Put the nearest right values in the place of sets.

    Args:
        answers: to one batch.
        rounded: the same in their formats, by component.
        formats: of each answer.
        got: what there is to compare with each answer, None where there is nothing.

    Returns:
        The right values, and for each answer where they are chosen from a set.
    """
    flags = [np.zeros(len(answer.real), bool) for answer in answers]
    hulls = answers[0].hulls if answers else ()
    if not hulls:
        return list(rounded), flags
    found = [[_copy(part) for part in parts] for parts in rounded]
    for hull in hulls:
        there = np.array([got[answer] is not None for answer in hull.answers])
        # What a check objected to is no set, and says nothing.
        sure = all(_is_set(rounded[answer][part], row) for answer, row, part in _places(hull))
        if not there.any() or not sure:
            continue
        elements = [place for place, one in zip(_places(hull), there, strict=True) if one]
        numbers = np.array([_number(got[answer], row, part) for answer, row, part in elements])
        fmts = [formats[answer] for answer, _, _ in elements]
        best = _nearest(numbers, hull.vertices.take((slice(None), there)), fmts)
        for place, (answer, row, part) in enumerate(elements):
            target = found[answer][part]
            assert target is not None
            _put(target, row, best.take(slice(place, place + 1)).to_format(formats[answer]))
            flags[answer][row] = True
    return [(parts[0] or rounded[k][0], parts[1]) for k, parts in enumerate(found)], flags


def _places(hull: Hull) -> list[tuple[int, int, int]]:
    """Answer, row and part of each element."""
    return list(zip(hull.answers.tolist(), hull.rows.tolist(), hull.parts.tolist(), strict=True))


def _is_set(right: Right | None, row: int) -> bool:
    return right is not None and right.where[row] == Rounded.SET


def _copy(right: Right | None) -> Right | None:
    if right is None:
        return None
    return replace(
        right, **{name: getattr(right, name).copy() for name in ("value", "residual", "radius", "where", "terms")}
    )


def _put(target: Right, row: int, right: Right) -> None:
    for name in ("value", "residual", "radius", "where", "terms"):
        getattr(target, name)[row] = getattr(right, name)[0]


def _number(got: Got | None, row: int, part: int) -> float:
    assert got is not None
    numbers = got.imag if part else got.real
    assert numbers is not None
    return float(numbers.reshape(-1)[row])


def _nearest(got: Floats, vertices: Enclosures, formats: Sequence[Format]) -> Enclosures:
    """The combination of vertices ``[v, n]`` that is nearest to n numbers."""
    exponents = np.frexp(vertices.head)[1] + vertices.exponent
    tops = np.where(vertices.head != 0, exponents, np.iinfo(np.int64).min).max(axis=0)
    tops = np.where(tops == np.iinfo(np.int64).min, 0, tops)
    # An infinity counts as the first number beyond the format, as it does for the verdict.
    edges = np.array([fmt.emax + 1 for fmt in formats])
    got_exponent = np.where(np.isinf(got), edges, np.frexp(np.where(np.isfinite(got), got, 0.0))[1])
    fraction = np.where(np.isinf(got), np.sign(got), np.frexp(np.where(np.isfinite(got), got, 0.0))[0])
    known = ~np.isnan(got)
    candidates: list[tuple[float, Enclosures]] = []
    for scale in (tops, np.where((fraction != 0) & known, got_exponent, tops)):
        corner = _scaled(vertices.head, vertices.exponent - scale) * known
        target = _scaled(fraction, got_exponent - scale) * known
        support = _wolfe(corner - target)
        point = _combined(vertices, support, got, scale, known)
        candidates.append((_farthest(got, point, formats), point))
        if candidates[-1][0] <= 0.5:
            break
    return min(candidates, key=lambda candidate: candidate[0])[1]


def _scaled(x: Floats, exponent: NDArray[np.int64]) -> Floats:
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(x, np.clip(exponent, -2000, 500))


def _farthest(got: Floats, point: Enclosures, formats: Sequence[Format]) -> float:
    """The largest distance of an element, in units in the last place at the right value."""
    far = 0.0
    for place, fmt in enumerate(formats):
        right = point.take(slice(place, place + 1)).to_format(fmt)
        value = float(right.value[0])
        if np.isfinite(value) and np.isfinite(got[place]):
            with np.errstate(over="ignore"):
                distance = (got[place] - value) / fmt.ulp(np.array([value]))[0]
            far = max(far, abs(float(distance - right.residual[0])))
    return far


def _wolfe(p: Floats) -> list[int]:
    """Which of the rows ``[v, n]`` the point of their hull that is nearest to the origin is a combination of."""
    norms = (p * p).sum(axis=1)
    scale = max(float(norms.max(initial=0.0)), 1e-300)
    corral = [int(norms.argmin())]
    weights = np.ones(1)
    for _ in range(20 * len(p) + 20):
        x = weights @ p[corral]
        products = p @ x
        best = int(products.argmin())
        if products[best] >= x @ x - SMALL * scale or best in corral:
            break
        corral, weights = [*corral, best], np.append(weights, 0.0)
        while True:
            free = _affine(p[corral])
            if (free > SMALL).all():
                weights = free
                break
            falling = free <= SMALL
            with np.errstate(divide="ignore", invalid="ignore"):
                steps = np.where(falling, weights / (weights - free), np.inf)
            step = min(1.0, float(np.nanmin(steps)))
            weights = (1 - step) * weights + step * free
            weights[int(np.nanargmin(steps))] = 0.0
            kept = weights > SMALL
            corral = [index for index, keep in zip(corral, kept, strict=True) if keep]
            weights = weights[kept] / weights[kept].sum()
            if len(corral) == 1:
                break
    return corral


def _affine(p: Floats) -> Floats:
    """Weights, of sum 1, of the combination of rows that is nearest to the origin, negative ones allowed."""
    size = len(p)
    system = np.ones((size + 1, size + 1))
    system[:size, :size] = p @ p.T
    system[size, size] = 0.0
    right = np.zeros(size + 1)
    right[size] = 1.0
    return np.asarray(np.linalg.lstsq(system, right, rcond=None)[0][:size], np.float64)


def _combined(
    vertices: Enclosures, support: list[int], got: Floats, scale: NDArray[np.int64], known: Flags
) -> Enclosures:
    """The combination of some vertices that is nearest to what was got, in balls."""
    width = vertices.head.shape[1]
    with precision(BITS):
        rows = [[_ball(vertices, v, place) for place in range(width)] for v in support]
        weights = _weights(rows, got, scale, known) if len(support) > 1 else [arb(1)]
        total = [sum((w * row[place] for w, row in zip(weights, rows, strict=True)), arb(0)) for place in range(width)]
        # Where vertices cancel to nothing but the rounding of the weights, the point lies at zero.
        tops = [max((abs(row[place]).abs_upper() for row in rows), default=arb(0)) for place in range(width)]
        total = [
            arb(0) if x.contains(0) and x.abs_upper() <= top * arb((1, -BITS // 2)) else x
            for x, top in zip(total, tops, strict=True)
        ]
        converted = convert(total)
    states = np.where(converted.narrow, State.KNOWN, State.INCONCLUSIVE).astype(np.uint8)
    # The terms of a combination are at least its vertices.
    sizes = np.abs(vertices.head).max(axis=0)
    return Enclosures(
        converted.head,
        converted.tail,
        converted.radius,
        converted.exponent,
        states,
        sizes,
        vertices.exponent.max(axis=0),
    )


def _ball(vertices: Enclosures, vertex: int, place: int) -> arb:
    index = (vertex, place)
    middle = arb(float(vertices.head[index])) + arb(float(vertices.tail[index]))
    return (middle + arb(0, float(vertices.radius[index]))) * arb((1, int(vertices.exponent[index])))


def _weights(rows: list[list[arb]], got: Floats, scale: NDArray[np.int64], known: Flags) -> list[arb]:
    """The best weights of rows, of sum 1: from the normal equations of the differences to the first row."""
    places: list[int] = np.flatnonzero(known & np.isfinite(got)).tolist()
    units = {place: arb((1, -int(scale[place]))) for place in places}
    first = rows[0]
    steps = [[(row[place] - first[place]).mid() * units[place] for place in places] for row in rows[1:]]
    due = [(arb(float(got[place])) - first[place].mid()) * units[place] for place in places]
    gram = arb_mat([[sum((a * b for a, b in zip(x, y, strict=True)), arb(0)) for y in steps] for x in steps])
    right = arb_mat([[sum((a * b for a, b in zip(x, due, strict=True)), arb(0))] for x in steps])
    try:
        solved = [solution.mid() for (solution,) in gram.solve(right).tolist()]
    except ZeroDivisionError:
        solved = [arb(0) for _ in steps]
    solved = [min(max(weight, arb(0)), arb(1)) for weight in solved]
    rest = arb(1) - sum(solved, arb(0))
    return [rest.mid() if rest > 0 else arb(0), *solved]
