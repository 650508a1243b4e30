"""Columns that are computed together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from audit.reference.derivative import Column
from audit.reference.program import Builder, Program


@dataclass(frozen=True)
class Plan:
    """Columns of one batch that are computed together, and the one program that computes them."""

    columns: tuple[Column, ...]

    @cached_property
    def program(self) -> Program:
        """Every element of every column, then the function's own results."""
        builder = Builder()
        included = [builder.include(column.program) for column in self.columns]
        counts = [column.count for column in self.columns]
        elements = [node for nodes, count in zip(included, counts, strict=True) for node in nodes[:count]]
        return builder.extract([*elements, *included[0][counts[0] :]])

    @cached_property
    def lanes(self) -> int:
        """Number of elements of all columns."""
        return sum(column.count for column in self.columns)

    @cached_property
    def ranges(self) -> list[range]:
        """The lanes of each column."""
        ends = np.cumsum([0, *(column.count for column in self.columns)]).tolist()
        return [range(start, end) for start, end in pairwise(ends)]
