"""Largest and smallest elements so far."""

from __future__ import annotations

import numpy as np

from audit.operation import Homogeneous, Operation, Shift
from cases.scans import all_but_the_last, scanned, without_start, without_start_fits

OPERATIONS = tuple(
    Operation(
        name=f"mx.{name}",
        arguments=("x",),
        call=lambda x, axis, reverse, inclusive, name=name: without_start(
            scanned(name, x, axis, reverse, inclusive), axis, reverse, inclusive
        ),
        body=lambda m, x, axis, reverse, inclusive, name=name: getattr(m, name)(
            all_but_the_last(np.asarray(x), axis, reverse, inclusive), axis, reverse=reverse
        ),
        shapes=(((2, 3),), ((4,),), ((1, 3),), ((2, 1),), ((2, 3, 2),)),
        parameters={"axis": (-1, None, 0), "reverse": (False, True), "inclusive": (True, False)},
        symmetries=(Homogeneous({"x": 1}), Shift("x", gain=1)),
        also=(f"mx.array.{name}",),
        valid=without_start_fits,
        text=f"mx.{name}(x, axis={{axis}}, reverse={{reverse}}, inclusive={{inclusive}})",
        note="An exclusive scan begins with an infinity, which is left out.",
    )
    for name in ("cummax", "cummin")
)
