"""Places at which values would be put into a sorted row: the derivative is zero wherever they do not jump."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import Operation


def _place(m: Any, sequence: Any, values: Any, side: str) -> Any:
    """How many numbers of the sequence are less than a value, or not greater."""
    values = np.asarray(values)[..., None]
    counted = m.less(sequence, values) if side == "left" else m.less_equal(sequence, values)
    return m.sum(m.where(counted, 1, 0), -1)


OPERATIONS = (
    Operation(
        name="mx.searchsorted",
        arguments=("sorted_sequence", "values"),
        call=lambda sorted_sequence, values, side: mx.searchsorted(mx.sort(sorted_sequence), values, side).astype(
            values.dtype
        ),
        body=lambda m, sorted_sequence, values, side: _place(m, sorted_sequence, values, side),
        shapes=(((4,), (2, 3)), ((3,), ()), ((1,), (2,)), ((4,), (0,))),
        parameters={"side": ("left", "right")},
        text="mx.searchsorted(mx.sort(sorted_sequence), values, '{side}').astype(values.dtype)",
    ),
)
