"""Products of matrices over segments of the axis that is summed."""

from typing import Any

import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Homogeneous
from cases.by_text import by_text
from cases.indices import Indices


def _segmented(m: Any, a: Any, b: Any, segments: Indices) -> Any:
    return np.stack([m.matmul(a[:, low:high], b[low:high]) for low, high in segments.values])


OPERATIONS = (
    by_text(
        "mx.segmented_mm",
        "mx.segmented_mm(a, b, {segments})",
        _segmented,
        "a",
        "b",
        shapes=(((2, 4), (4, 3)), ((1, 4), (4, 1))),
        # In and out of order, with elements that are in no segment, in two, and with a segment of none.
        parameters={
            "segments": (Indices(((0, 1), (1, 4))), Indices(((2, 4), (0, 1))), Indices(((0, 3), (2, 2), (1, 4))))
        },
        values={},
        symmetries=(Homogeneous({"a": 1, "b": 1}),),
        tolerance=Tolerance(terms=2, reason="a sum of products rounds once a term"),
        formats=REAL_FORMATS,
        orders=1,
    ),
)
