"""The fused cross entropy."""

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Shift, Values
from cases.indices import Indices

_CLASSES = (Indices((2, 0)), Indices((3, 3)), Indices((0, 1)))


def _call(logits: mx.array, targets: Indices) -> mx.array:
    # The loss itself is in float32.
    return mx.fast.cross_entropy(logits, targets.mlx).astype(logits.dtype)


def _body(m: Any, logits: Any, targets: Indices) -> Any:
    picked = np.take_along_axis(logits, targets.numpy[:, None], -1)[:, 0]
    return m.subtract(m.logsumexp(logits, -1), picked)


OPERATIONS = (
    Operation(
        name="mx.fast.cross_entropy",
        arguments=("logits",),
        call=_call,
        body=_body,
        shapes=(((2, 4),),),
        parameters={"targets": _CLASSES},
        values={"logits": Values(singular=(0.0,))},
        symmetries=(Shift("logits", 0),),
        tolerance=Tolerance(terms=4, reason="the exponentials, their sum, its logarithm and the difference round"),
        long=(((2, 1024),),),
        text="mx.fast.cross_entropy(logits, {targets}).astype(logits.dtype)",
    ),
)
