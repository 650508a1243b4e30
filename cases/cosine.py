"""Cosine similarity."""

from typing import Any

import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation
from cases.losses import NONE_FIRST, reduced


def _cosine(m: Any, x1: Any, x2: Any, axis: int, eps: float, reduction: str) -> Any:
    sizes = m.multiply(m.norm(x1, axis=axis), m.norm(x2, axis=axis))
    return reduced(m, m.divide(m.sum(m.multiply(x1, x2), axis), m.maximum(sizes, eps)), reduction)


OPERATIONS = (
    Operation(
        name="nn.losses.cosine_similarity_loss",
        arguments=("x1", "x2"),
        call=nn.losses.cosine_similarity_loss,
        body=_cosine,
        shapes=(((2, 3),) * 2, ((2, 1),) * 2, ((2, 4, 2),) * 2),
        parameters={"axis": (1, 0, -1), "eps": (1e-8, 0.5, 64.0), "reduction": NONE_FIRST},
        symmetries=(Homogeneous({"x1": 0, "x2": 0}),),
        tolerance=Tolerance(terms=8, reason="squares, sums, roots, products and quotients round one after another"),
        slow=True,
    ),
)
