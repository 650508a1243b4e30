"""Rules that are right and written in other ways: none may be flagged, in a million comparisons."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from planted.points import audited
from planted.right_quotients import RIGHT_QUOTIENTS
from planted.right_unary import RIGHT_UNARY

from audit.verdict import MISMATCHES, Verdict

SUBJECTS = (*RIGHT_QUOTIENTS, *RIGHT_UNARY)


@cache
def verdicts(place: int) -> dict[str, Counter[Verdict]]:
    """Verdicts of one subject by format."""
    found = {}
    for name, counts in audited(SUBJECTS[place]).items():
        found[name] = Counter()
        for (_, verdict), count in counts.items():
            found[name][verdict] += count
    return found


@pytest.mark.parametrize("place", range(len(SUBJECTS)), ids=lambda k: f"{SUBJECTS[k].operation}: {SUBJECTS[k].name}")
def test_a_right_rule_is_not_flagged(place: int) -> None:
    for name, counts in verdicts(place).items():
        assert not MISMATCHES & set(counts), f"{name}: {counts}"
        assert counts[Verdict.MATCH] > 0
        assert set(counts) <= {Verdict.MATCH, Verdict.ALLOWED, Verdict.OUTSIDE}, f"{name}: {counts}"


def test_there_are_enough_right_rules() -> None:
    assert len({(s.operation, s.name) for s in SUBJECTS}) == len(SUBJECTS) >= 40


def test_a_million_comparisons_of_right_rules_match() -> None:
    total = sum((counts for place in range(len(SUBJECTS)) for counts in verdicts(place).values()), Counter())
    assert total[Verdict.MATCH] >= 1_000_000, total
    assert total[Verdict.ALLOWED] < total[Verdict.MATCH] / 100, total
