"""Scale families reach what they are for, nest, repeat themselves, and shrink to what is simplest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from audit.case import Batch, Function, Mode
from audit.errors import AuditError
from audit.families import Choice, Columns, Exponents, Family, Mantissas, power
from audit.formats import FLOAT16, FLOAT32, FLOAT64, REAL_FORMATS, Format
from audit.reference import References, Rounded
from audit.run.plan import DENSITY
from cases.divide_families import FAMILIES

WHOLE = Exponents(lambda f: f.esub, lambda f: f.emax)
ABOVE = Exponents(lambda _: 3, lambda f: f.emax)
BELOW = Exponents(lambda f: f.esub, lambda _: -2)
SIZES = [DENSITY["quick"], DENSITY["default"], DENSITY["nightly"], math.inf]
SQUARE = Function("square", ("x",), lambda m, x: m.square(x), "mx.square(x)")

QUIET = settings(max_examples=300, database=None, derandomize=True, deadline=None)
UNSHRUNK = settings(QUIET, phases=[Phase.generate])

by_format = pytest.mark.parametrize("fmt", REAL_FORMATS, ids=lambda fmt: fmt.name)
by_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


def squares(name: str, density: int | None = None) -> Family:
    """Squares over the whole range, as an example of a family."""

    def build(fmt: Format, c: Columns) -> Iterator[Batch]:
        x = c["m"] * power(c["k"])
        yield Batch(name, SQUARE, fmt, Mode("vjp", (0,)), (x,), (c["w"],))

    axes = {"k": Exponents(lambda f: f.emin, lambda f: f.emax), "m": Mantissas(), "w": Choice((1.0, -0.5))}
    return Family(name, axes, build, density)


def points(batches: Iterable[Batch]) -> Counter[tuple[str, tuple[int, ...], bytes]]:
    """How often each point comes, by mode and by the bits of its numbers."""
    found: Counter[tuple[str, tuple[int, ...], bytes]] = Counter()
    for batch in batches:
        whole = [array.reshape(batch.points, -1) for array in (*batch.primals, *batch.weights)]
        rows = np.concatenate(whole, axis=1)
        found.update((batch.mode.kind, batch.mode.traced, row.tobytes()) for row in rows)
    return found


@cache
def reached(fmt: Format) -> dict[str, Counter[str]]:
    """How many rows of the quick grid have what, by family."""
    references, found = References(opinions=0), {}
    for family in FAMILIES:
        counts: Counter[str] = Counter()
        for batch in family.grid(fmt, 0.25):
            numbers = np.concatenate([x.reshape(batch.points, -1) for x in (*batch.primals, *batch.weights)], axis=1)
            with np.errstate(invalid="ignore"):
                counts["subnormal input"] += _rows((numbers != 0) & (np.abs(numbers) < fmt.smallest_normal))
            counts["largest input"] += _rows(np.abs(numbers) >= 2.0**fmt.emax)
            counts["zero input"] += _rows(numbers == 0)
            counts["negative zero input"] += _rows((numbers == 0) & np.signbit(numbers))
            counts["infinite input"] += _rows(np.isinf(numbers))
            for answer in references.enclose(batch):
                right = answer.real.to_format(fmt)
                size = np.abs(right.value)
                inside = right.where == Rounded.INSIDE
                counts["overflow"] += int((right.where == Rounded.OVERFLOWS).sum())
                counts["underflow"] += int((right.where == Rounded.UNDERFLOWS).sum())
                counts["zero"] += int((right.where == Rounded.ZERO).sum())
                counts["undefined"] += int((right.where == Rounded.UNDEFINED).sum())
                counts["subnormal result"] += int((inside & (size < fmt.smallest_normal)).sum())
                counts["next to overflow"] += int((inside & (size >= 2.0 ** (fmt.emax - 1))).sum())
                # Terms of the sum that are far larger than what is left of them.
                cancelling = (right.terms / 16 > size) & (right.where <= Rounded.ZERO)
                counts["cancellation"] += int(cancelling.sum())
        found[family.name] = counts
    return found


def _rows(there: np.ndarray) -> int:
    return int(there.any(axis=1).sum())


# What each family is for. Arrays stay six powers of two inside the range by design.
CLAIMS = {
    "common scale": {"zero input"},
    "scaled identity": {"cancellation", "zero"},
    "scaled square": {"cancellation", "zero"},
    "opposite scale": {"overflow", "subnormal input", "subnormal result"},
    "zero numerator": {"zero input", "negative zero input", "subnormal input", "largest input", "zero", "overflow"},
    "exponents": {"overflow", "underflow", "subnormal input", "subnormal result", "largest input"},
    "result exponents": {"subnormal input", "subnormal result", "next to overflow", "largest input"},
    "second order": {"overflow", "underflow", "subnormal input", "subnormal result"},
    "invariance range": {"cancellation", "zero", "subnormal input", "overflow", "subnormal result"},
    "special values": {"undefined", "infinite input", "zero input", "subnormal input", "largest input"},
}


@by_format
@pytest.mark.parametrize("name", CLAIMS)
def test_a_family_reaches_what_it_is_for(fmt: Format, name: str) -> None:
    counts = reached(fmt)[name]
    assert not {what for what in CLAIMS[name] if counts[what] == 0}, counts


@by_format
def test_the_families_together_reach_every_trap_often(fmt: Format) -> None:
    total = sum((counts for counts in reached(fmt).values()), Counter())
    # Even the quick grids; 40,000 rows a format in all.
    traps = ("overflow", "underflow", "zero", "subnormal input", "subnormal result", "next to overflow", "cancellation")
    assert {trap: total[trap] for trap in traps if total[trap] < 100} == {}


# Found by a search, so a property test of a few hundred examples meets them too.
TRAPS: dict[str, Callable[[Format, float, float, float], bool]] = {
    "subnormal input": lambda fmt, a, b, g: min(abs(a), abs(b), abs(g)) < fmt.smallest_normal,
    "subnormal result": lambda fmt, a, b, g: fmt.smallest_subnormal < abs(slope(a, b, g)) < fmt.smallest_normal,
    "overflow": lambda fmt, a, b, g: abs(slope(a, b, g)) > 2 * Fraction(fmt.largest),
    "underflow": lambda fmt, a, b, g: 0 < abs(slope(a, b, g)) < Fraction(fmt.smallest_subnormal) / 2,
}


@by_format
@pytest.mark.parametrize("trap", TRAPS)
def test_a_strategy_reaches_the_traps(fmt: Format, trap: str) -> None:
    family = next(family for family in FAMILIES if family.name == "exponents")

    def met(batches: list[Batch]) -> bool:
        return any(TRAPS[trap](fmt, a, b, g) for a, b, g in operands(batches))

    ((a, b, g),) = set(operands(find(family.strategy(fmt), met, settings=UNSHRUNK)))
    assert TRAPS[trap](fmt, a, b, g)


def operands(batches: list[Batch]) -> list[tuple[float, float, float]]:
    """Numerators, denominators and cotangents of the points of a/b."""
    asked = [batch for batch in batches if batch.mode.kind == "vjp"]
    return [tuple(map(float, point)) for b in asked for point in zip(*b.primals, *b.weights, strict=True)]  # type: ignore[misc]


def slope(a: float, b: float, g: float) -> Fraction:
    """The cotangent of b, exactly."""
    return -Fraction(g) * Fraction(a) / Fraction(b) ** 2


@by_format
@pytest.mark.parametrize("axis", [WHOLE, ABOVE, BELOW], ids=["whole", "above 0", "below 0"])
@pytest.mark.parametrize("count", [3, 10, 30, 100, None])
def test_a_grid_of_exponents_holds_its_ends_and_the_edges(fmt: Format, axis: Exponents, count: int | None) -> None:
    low, high = axis.low(fmt), axis.high(fmt)
    grid = axis.grid(fmt, count)
    assert set(grid) >= {float(k) for k in (low, high, -1, 0, 1, fmt.emin - 1, fmt.emin) if low <= k <= high}
    assert grid.min() == low
    assert grid.max() == high
    assert (np.diff(grid) >= 1).all()
    # Nine exponents are always there; beyond, no more are given than were asked for.
    assert len(grid) <= max(count or math.inf, 9)


@by_format
def test_grids_of_exponents_nest_and_leave_no_wide_gap(fmt: Format) -> None:
    width = fmt.emax - fmt.esub
    before: set[float] = set()
    for count in (*range(3, 60), 100, 200, 300):
        grid = WHOLE.grid(fmt, count)
        assert set(grid) >= before
        before = set(grid)
        if count > 9:
            # Nine are at the marks; the others halve gaps, so that none is twice as wide as another but for rounding.
            assert np.diff(grid).max() <= 2 * width / (count - 9) + 1
    assert set(WHOLE.grid(fmt, None)) >= before


@pytest.mark.parametrize("fmt", [FLOAT16, FLOAT32], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize(
    "family", [f for f in FAMILIES if f.name not in ("second order", "exponents")], ids=lambda family: family.name
)
def test_the_grid_of_a_larger_run_holds_that_of_a_smaller_one(family: Family, fmt: Format) -> None:
    sizes = SIZES[:3] if family.name == "result exponents" else SIZES
    grids = [set(points(family.grid(fmt, scale))) for scale in sizes]
    for smaller, larger in pairwise(grids):
        assert smaller <= larger
    assert len(grids[0]) > 0


@by_family
def test_a_point_of_a_batch_comes_once(family: Family) -> None:
    for batch in family.batches(FLOAT16, 0.25, 200, 1):
        assert max(points([batch]).values()) == 1


@by_format
def test_random_points_depend_on_the_seed_the_family_and_the_format_only(fmt: Format) -> None:
    family = squares("one")
    drawn = points(family.random(fmt, 500, seed=3))
    state = np.random.get_state()  # noqa: NPY002  it must not matter
    np.random.seed(11)  # noqa: NPY002
    again = points(family.random(fmt, 500, seed=3))
    np.random.set_state(state)  # noqa: NPY002
    assert drawn == again
    assert drawn != points(family.random(fmt, 500, seed=4))
    assert drawn != points(squares("other").random(fmt, 500, seed=3))


def test_random_points_of_two_formats_differ() -> None:
    """The same exponents and significands in both would be half the information."""
    single, double = (next(squares("one").random(fmt, 500, seed=3)) for fmt in (FLOAT32, FLOAT64))
    assert not np.isin(single.primals[0], double.primals[0]).any()


@by_family
def test_random_points_come_in_the_asked_share(family: Family) -> None:
    """A share of the points is asked; what a format cannot hold is dropped, so there are no more than that."""
    most = max((batch.points for batch in family.random(FLOAT32, 400, 5)), default=0)
    assert most <= round(400 * family.random_share)
    if family.random_share == 1.0:
        assert most >= 20


@by_format
@pytest.mark.parametrize(
    ("axis", "simplest"), [(WHOLE, 0.0), (ABOVE, 3.0), (BELOW, -2.0)], ids=["whole", "above 0", "below 0"]
)
def test_exponents_shrink_to_the_one_nearest_to_zero(fmt: Format, axis: Exponents, simplest: float) -> None:
    assert find(axis.strategy(fmt), lambda _: True, settings=QUIET) == simplest
    assert find(WHOLE.strategy(fmt), lambda k: abs(k) >= 7, settings=QUIET) in (7.0, -7.0)


@by_format
def test_significands_shrink_to_one_and_choices_to_the_first(fmt: Format) -> None:
    assert find(Mantissas().strategy(fmt), lambda _: True, settings=QUIET) == 1.0
    assert find(Mantissas().strategy(fmt), lambda m: m > 1.3, settings=QUIET) == 1.3125
    assert find(Choice((5.0, 0.0, -1.0)).strategy(fmt), lambda _: True, settings=QUIET) == 5.0


def test_a_family_shrinks_to_its_simplest_point() -> None:
    (batch,) = find(squares("one").strategy(FLOAT32, 40), lambda _: True, settings=QUIET)
    assert (batch.primals[0].tolist(), batch.weights[0].tolist()) == ([1.0], [1.0])
    (batch,) = find(
        squares("one").strategy(FLOAT32, 40), lambda batches: any(batches[0].primals[0] >= 2.0**40), settings=QUIET
    )
    assert batch.primals[0].tolist() == [2.0**40]


@by_format
@given(data=st.data())
def test_what_a_strategy_draws_lies_on_its_axis(fmt: Format, data: st.DataObject) -> None:
    k = data.draw(WHOLE.strategy(fmt))
    m = data.draw(Mantissas().strategy(fmt))
    assert k == int(k)
    assert fmt.esub <= k <= fmt.emax
    assert 1 <= m < 2
    assert fmt.contains(m)


@by_format
def test_what_is_sampled_lies_on_its_axis(fmt: Format) -> None:
    rng = np.random.default_rng(0)
    exponents, significands = WHOLE.sample(fmt, rng, 20_000), Mantissas().sample(fmt, rng, 2000)
    assert (exponents.min(), exponents.max()) == (fmt.esub, fmt.emax) or fmt == FLOAT64
    assert (exponents == np.rint(exponents)).all()
    assert fmt.contains(significands).all()
    assert significands.min() >= 1
    assert significands.max() < 2
    # Short significands alone would not show what rounding does.
    assert len(set(significands)) > 100
    assert set(Choice((1.0, -2.0)).sample(fmt, rng, 100)) == {1.0, -2.0}


def test_a_batch_under_another_name_is_refused() -> None:
    family = squares("one")
    misnamed = Family("two", family.axes, family.build)
    with pytest.raises(AuditError, match="Family 'two' built a batch of the group 'one'"):
        list(misnamed.grid(FLOAT32))


def test_powers_of_two_are_exact() -> None:
    assert power([-1074, -1, 0, 1023]).tolist() == [5e-324, 0.5, 1.0, 2.0**1023]
