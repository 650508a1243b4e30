"""Coordinate arrays of a grid; each axis is repeated along the others."""

from __future__ import annotations

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation

OPERATIONS = (
    Operation(
        name="mx.meshgrid",
        arguments=("a", "b", "c"),
        call=lambda a, b, c, sparse, indexing, output: mx.meshgrid(a, b, c, sparse=sparse, indexing=indexing)[output],
        body=lambda m, a, b, c, sparse, indexing, output: np.meshgrid(  # noqa: ARG005
            a, b, c, sparse=sparse, indexing=indexing
        )[output],
        shapes=(((2,), (3,), (2,)), ((1,), (3,), (2,)), ((2,), (1,), (1,))),
        parameters={"sparse": (False, True), "indexing": ("xy", "ij"), "output": (1, 0, 2)},
        tolerance=Tolerance(terms=2, reason="the derivative of a repeated element is a sum in the format"),
        formats=(*REAL_FORMATS, "complex64"),
        text="mx.meshgrid(a, b, c, sparse={sparse}, indexing='{indexing}')[{output}]",
    ),
)
