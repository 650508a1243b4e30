"""Points that kill are found by halving, and nothing is blamed that does not kill."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from audit.run.blame import Span
from audit.run.board import Sight
from audit.run.process import Death
from audit.run.search import DEATHS, Search
from audit.verdict import Verdict

SIGHT = Sight(1, None, 0, 0, "mlx", "")
CRASH = Death(Verdict.CRASH, "SIGABRT", SIGHT, outside=False)
HANG = Death(Verdict.HANG, "no answer", SIGHT, outside=False)
KILLED = Death(Verdict.CRASH, "SIGKILL", SIGHT, outside=True)


class Workers:
    """Die of spans that hold enough of the killers."""

    def __init__(self, killers: set[int], death: Death = CRASH, least: int = 1) -> None:
        self.killers, self.death, self.least = killers, death, least
        self.tried: list[Span] = []
        self.deaths = 0

    def __call__(self, span: Span) -> Death | None:
        self.tried.append(span)
        dies = len(self.killers & set(range(span.start, span.stop))) >= self.least
        self.deaths += dies
        return self.death if dies else None


def found(workers: Callable[[Span], Death | None], points: int, **options: object) -> list[tuple[int, int]]:
    blamed = Search(workers, workers, points, **options).run()  # type: ignore[arg-type]
    return [(blame.span.start, blame.span.stop) for blame in blamed]


@given(st.integers(1, 200), st.sets(st.integers(0, 199), max_size=3), st.sampled_from([CRASH, HANG, KILLED]))
def test_exactly_the_killers_are_blamed(points: int, killers: set[int], death: Death) -> None:
    killers = {killer for killer in killers if killer < points}
    workers = Workers(killers, death)
    assert found(workers, points) == [(killer, killer + 1) for killer in sorted(killers)]
    # One death a level and killer, and one to be sure.
    assert workers.deaths <= len(killers) * (points.bit_length() + 2)


@given(st.integers(2, 100), st.data())
def test_pairs_are_blamed_by_the_smallest_span_that_still_kills(points: int, data: st.DataObject) -> None:
    pair = data.draw(st.sets(st.integers(0, points - 1), min_size=2, max_size=2))
    ((start, stop),) = found(Workers(pair, least=2), points)
    assert start <= min(pair) < max(pair) < stop
    left, right = Span(start, stop).halves()
    assert stop - start == 2 or not any(half.start <= min(pair) and max(pair) < half.stop for half in (left, right))


def test_where_every_point_kills_the_search_ends_and_all_are_blamed() -> None:
    workers = Workers(set(range(4096)))
    blamed = Search(workers, workers, 4096).run()
    assert workers.deaths <= DEATHS + 20
    assert sum(blame.span.points for blame in blamed) == 4096
    assert [blame.span.start for blame in blamed] == sorted(blame.span.start for blame in blamed)
    assert all(("not singled out" in blame.message) == (blame.span.points > 1) for blame in blamed)


def test_suspects_are_tried_first_and_only_if_they_kill_blamed() -> None:
    right = Workers({70})
    assert found(right, 128, suspects=[Span(70, 71)]) == [(70, 71)]
    assert right.deaths == 1
    wrong = Workers({70})
    assert found(wrong, 128, suspects=[Span(3, 4), Span(500, 501)]) == [(70, 71)]


def test_what_does_not_die_again_is_not_blamed() -> None:
    """A process killed from outside while it was tried, or held up for a while."""
    for death in (HANG, KILLED):
        ends = iter([death])
        assert found(lambda _, ends=ends: next(ends, None), 64) == []
        ends = iter([death] * 7)
        search = Search(lambda _, ends=ends: next(ends, None), lambda _: None, 64)
        assert search.run() == []
