"""Differences of neighbours, also of higher order."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Homogeneous, Operation, Shift


def _differences(m: Any, x: Any, n: int, axis: int) -> Any:
    line = np.moveaxis(np.asarray(x), axis, -1)
    for _ in range(n):
        line = np.asarray(m.subtract(line[..., 1:], line[..., :-1]))
    return np.moveaxis(line, -1, axis)


OPERATIONS = (
    Operation(
        name="mx.diff",
        arguments=("x",),
        call=lambda x, n, axis: mx.diff(x, n=n, axis=axis),
        body=_differences,
        shapes=(((3, 4),), ((5,),), ((1, 2),), ((2, 3, 2),)),
        parameters={"n": (1, 2, 3, 0), "axis": (-1, 0, 1)},
        symmetries=(Homogeneous({"x": 1}), Shift("x")),
        tolerance=Tolerance(terms=3, reason="a difference rounds once, n of them n times"),
        formats=(*REAL_FORMATS, "complex64"),
        valid=lambda s, p: -len(s[0]) <= p["axis"] < len(s[0]) and s[0][p["axis"]] > p["n"],
    ),
)
