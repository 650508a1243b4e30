"""Wrong rules of operations on arrays: every one must be caught, where it is wrong and only there."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from planted.compared import ORIGIN, REFERENCES, compared, operations
from planted.operations_wrong import WRONG
from planted.plant import Piece, Plant

from audit.case import Batch, Mode
from audit.comparison import Question, compare
from audit.formats import lookup
from audit.reference.shape import result_shape
from audit.verdict import MISMATCHES, Verdict


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
        # What cannot be computed at all is no wrong number.
        assert not [row for row in found.bad if row["verdict"] in (Verdict.RAISES, Verdict.UNIMPLEMENTED)], told


def test_there_are_enough_wrong_rules() -> None:
    assert len({(plant.operation, plant.name) for plant in WRONG}) == len(WRONG) >= 60
    assert len({plant.operation for plant in WRONG}) >= 30


def off_by_one_percent(place: int) -> Piece:
    """MLX's own gradient with one element too large."""

    def piece(own: Piece, w: mx.array, *primals: mx.array, **parameters: Any) -> mx.array:
        found = own()
        return found * (1 + 0.01 * (mx.arange(found.size) == place).reshape(found.shape)).astype(found.dtype)

    return piece


OF_4096 = {
    "mx.matmul": (((64, 64), (64, 64)), "b", {}),
    "mx.softmax": (((4096,),), "x", {"axis": -1, "precise": False}),
    "mx.fast.layer_norm": (((1, 4096), (4096,), (4096,)), "x", {"eps": 1e-5}),
    "mx.conv1d": (((1, 2048, 2), (1, 3, 2)), "x", {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}),
    "mx.cumsum": (((64, 64),), "x", {"axis": 0, "reverse": False, "inclusive": True}),
}


@pytest.mark.parametrize("name", OF_4096)
def test_one_element_of_4096_that_is_off_by_one_percent_is_named(name: str) -> None:
    shapes, argument, parameters = OF_4096[name]
    operation = operations()[name]
    function = operation.function(operation.base | parameters, elementwise=False)
    rng = np.random.default_rng(7)
    arrays = [rng.choice([-1.0, 1.0], (1, *shape)) * rng.integers(64, 128, (1, *shape)) / 64 for shape in shapes]
    weight = rng.choice([-1.0, 1.0], (1, *result_shape(function, shapes, (1,) * len(shapes), 1)))
    batch = Batch(
        "4096",
        function,
        lookup("float32"),
        Mode("vjp", operation.traced),
        tuple(arrays),
        (weight,),
        operation.tolerance,
    )
    place = 1931
    plant = Plant("one of 4096", name, {argument: off_by_one_percent(place)})
    rows = compare(Question(batch, ORIGIN, REFERENCES.enclose(batch)), plant.implementation(), REFERENCES)
    found = rows.select(["argument", "element", "verdict"]).to_pylist()
    assert sum(row["argument"] == argument for row in found) == 4096
    bad = [row for row in found if row["verdict"] in MISMATCHES]
    assert bad == [{"argument": argument, "element": place, "verdict": Verdict.INACCURATE}]
