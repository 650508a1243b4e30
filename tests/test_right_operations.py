"""Rules of operations on arrays that are right and written in other ways: none may be flagged."""

from __future__ import annotations

import pytest
from planted.compared import compared
from planted.operations_right import RIGHT
from planted.plant import Plant

from audit.verdict import Verdict


@pytest.mark.parametrize("plant", RIGHT, ids=lambda plant: f"{plant.operation}: {plant.name}")
def test_a_right_rule_is_not_flagged(plant: Plant) -> None:
    for name in plant.at.formats:
        found = compared(plant, name)
        assert not found.bad, f"{name}: {found.verdicts}, {found.bad[:5]}"
        assert found.verdicts[Verdict.MATCH] > 0
        assert set(found.verdicts) <= {Verdict.MATCH, Verdict.ALLOWED, Verdict.OUTSIDE}, f"{name}: {found.verdicts}"
        assert found.verdicts.get(Verdict.ALLOWED, 0) < found.verdicts[Verdict.MATCH] / 4, found.verdicts


def test_there_are_enough_right_rules() -> None:
    assert len({(plant.operation, plant.name) for plant in RIGHT}) == len(RIGHT) >= 60
    assert len({plant.operation for plant in RIGHT}) >= 30
