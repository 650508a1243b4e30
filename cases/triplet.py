"""Triplet loss: an anchor is nearer to a positive than to a negative sample, by a margin."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Operation, Values
from cases.losses import NONE_FIRST, reduced

_ROUNDINGS = Tolerance(terms=8, reason="differences, powers, sums, roots and their difference round one after another")

# Far below the root of eps, weights that are scaled up leave the format before what is small is reached.
_FAR = Values(exponents=(-6, 1100))


def _distance(m: Any, a: Any, b: Any, axis: int, p: int, eps: float) -> Any:
    size = m.subtract(a, b)
    powers = m.square(size) if p == 2 else m.power(m.abs(size), p)
    total = m.add(m.sum(powers, axis), eps)
    return total if p == 1 else m.sqrt(total) if p == 2 else m.power(total, 1 / p)


def _triplet(
    m: Any,
    anchors: Any,
    positives: Any,
    negatives: Any,
    axis: int = -1,
    p: int = 2,
    margin: float = 1.0,
    eps: float = 1e-6,
    reduction: str = "none",
) -> Any:
    near = _distance(m, anchors, positives, axis, p, eps)
    far = _distance(m, anchors, negatives, axis, p, eps)
    return reduced(m, m.maximum(m.add(m.subtract(near, far), margin), 0), reduction)


def _anchor_as_positive(anchors: mx.array, negatives: mx.array, p: int) -> mx.array:
    return nn.losses.triplet_loss(anchors, anchors, negatives, p=p, margin=8.0)


OPERATIONS = (
    Operation(
        name="nn.losses.triplet_loss",
        arguments=("anchors", "positives", "negatives"),
        call=nn.losses.triplet_loss,
        body=_triplet,
        shapes=(((2, 3),) * 3, ((4,),) * 3, ((2, 2, 2),) * 3),
        parameters={
            "axis": (-1, 0, 1),
            "p": (2, 1, 3),
            "margin": (1.0, 8.0, 0.5),
            "eps": (1e-6, 0.5, 0.25),
            "reduction": NONE_FIRST,
        },
        values=dict.fromkeys(("anchors", "positives", "negatives"), _FAR),
        tolerance=_ROUNDINGS,
        valid=lambda shapes, parameters: -len(shapes[0]) <= parameters["axis"] < len(shapes[0]),
        slow=True,
    ),
    Operation(
        name="nn.losses.triplet_loss[anchor as positive]",
        arguments=("anchors", "negatives"),
        call=lambda anchors, negatives, p: nn.losses.triplet_loss(
            anchors, mx.array(anchors), negatives, p=p, margin=8.0
        ),
        body=lambda m, anchors, negatives, p: _triplet(m, anchors, anchors, negatives, p=p, margin=8.0),
        shapes=(((2, 3),) * 2,),
        parameters={"p": (2, 3)},
        values=dict.fromkeys(("anchors", "negatives"), _FAR),
        tolerance=_ROUNDINGS,
        text="nn.losses.triplet_loss(anchors, anchors, negatives, p={p}, margin=8.0)",
    ),
)
