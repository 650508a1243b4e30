"""Products of matrices over segments of the axis that is summed."""

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Homogeneous, Operation

Segments = tuple[tuple[int, int], ...]


def _segmented(m: Any, a: Any, b: Any, segments: Segments) -> Any:
    return np.stack([m.matmul(a[:, low:high], b[low:high]) for low, high in segments])


OPERATIONS = (
    Operation(
        name="mx.segmented_mm",
        arguments=("a", "b"),
        call=lambda a, b, segments: mx.segmented_mm(a, b, mx.array(segments, dtype=mx.uint32)),
        body=_segmented,
        shapes=(((2, 4), (4, 3)), ((1, 4), (4, 1))),
        # In and out of order, with elements that are in no segment, in two, and with a segment of none.
        parameters={"segments": (((0, 1), (1, 4)), ((2, 4), (0, 1)), ((0, 3), (2, 2), (1, 4)))},
        symmetries=(Homogeneous({"a": 1, "b": 1}),),
        tolerance=Tolerance(terms=2, reason="a sum of products rounds once a term"),
        formats=REAL_FORMATS,
        orders=1,
    ),
)
