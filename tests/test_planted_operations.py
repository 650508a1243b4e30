"""Wrong rules of operations on arrays: every one must be caught, where it is wrong and only there."""

from __future__ import annotations

import pytest
from planted.compared import compared
from planted.operations_wrong import WRONG
from planted.plant import Plant


@pytest.mark.parametrize("plant", WRONG, ids=lambda plant: f"{plant.operation}: {plant.name}")
def test_a_wrong_rule_is_caught(plant: Plant) -> None:
    """Caught under its name, in every part and format in which it is wrong, and nowhere else."""
    for name in plant.at.formats:
        found = compared(plant, name)
        told = f"{name}: {found.verdicts}, {found.bad[:5]}"
        assert plant.named in {row["verdict"] for row in found.bad if row["part"] in plant.wrong}, told
        assert plant.wrong <= {row["part"] for row in found.bad}, told
        elsewhere = [row for row in found.bad if not (plant.touches(row["part"]) and plant.only(row))]
        assert not elsewhere, elsewhere[:5]


def test_there_are_enough_wrong_rules() -> None:
    assert len({(plant.operation, plant.name) for plant in WRONG}) == len(WRONG) >= 60
    assert len({plant.operation for plant in WRONG}) >= 30
