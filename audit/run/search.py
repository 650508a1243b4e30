"""Which points of a batch kill the process that asks them: found by halving, in workers that are thrown away.

Points are blamed only if the process dies of them alone, and of fewer of them it does not. A point that dies only
together with others is not singled out: the smallest span that still kills is blamed as a whole, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from audit.run.blame import Blamed, Span
from audit.run.process import Death
from audit.verdict import Verdict

# So many processes may die for one batch; what is not decided by then is blamed together.
DEATHS = 40

TryOut = Callable[[Span], Death | None]
"""Asks some points in a worker; how it died, or None if it did not."""


@dataclass
class Search:
    """The search in one unit.

    Args:
        try_out: asks some points.
        confirm: asks them with the patience that a whole run has.
        points: how many points the unit has.
        suspects: spans to be tried first: those that kill in other batches of the shard, at the same places.
    """

    try_out: TryOut
    confirm: TryOut
    points: int
    suspects: Sequence[Span] = ()
    _deaths: int = 0
    _blamed: list[Blamed] = field(default_factory=list)

    def run(self) -> list[Blamed]:
        """The spans that kill; none if the unit can be asked alone."""
        free = [Span(0, self.points)]
        for suspect in self.suspects:
            if suspect.stop <= self.points and self._alone(suspect):
                free = [rest for span in free for rest in _without(span, suspect)]
        for span in free:
            death = self._try(span)
            if death:
                self._divide(span, death)
        return sorted(self._blamed, key=lambda blamed: blamed.span.start)

    def _divide(self, span: Span, death: Death) -> None:
        if span.points == 1:
            self._alone(span, death)
            return
        if self._deaths >= DEATHS:
            self._blame(span, death, f"; asked with {span.points - 1} others, not singled out")
            return
        dying = [(half, end) for half in span.halves() if (end := self._try(half))]
        for half, end in dying:
            self._divide(half, end)
        if not dying:
            again = self.confirm(span)
            if again:
                self._blame(span, again, f"; the halves of these {span.points} points did not")

    def _alone(self, span: Span, death: Death | None = None) -> bool:
        """Blame a span if it kills by itself, twice where the first time may have another reason."""
        first = death or self._try(span)
        if first is None:
            return False
        sure = first.verdict == Verdict.CRASH and not first.outside
        last = first if sure else self.confirm(span)
        if last is not None:
            self._blame(span, last)
        return last is not None

    def _try(self, span: Span) -> Death | None:
        death = self.try_out(span)
        self._deaths += death is not None
        return death

    def _blame(self, span: Span, death: Death, circumstances: str = "") -> None:
        self._blamed.append(Blamed(span, death.verdict, death.message + circumstances))


def _without(span: Span, taken: Span) -> list[Span]:
    if taken.stop <= span.start or span.stop <= taken.start:
        return [span]
    rest = [Span(span.start, taken.start), Span(taken.stop, span.stop)]
    return [part for part in rest if part.points > 0]
