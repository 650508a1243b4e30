"""Columns that are computed together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise

from audit.reference.derivative import Column, Meaning, Task
from audit.reference.program import Program
from audit.reference.resolve import Subject


@dataclass(frozen=True)
class Plan:
    """Columns of one batch that are computed together, and the one program that computes them.

    Args:
        columns: some columns of one task, at least one.
    """

    columns: tuple[Column, ...]

    @property
    def task(self) -> Task:
        """What the columns are part of."""
        return self.columns[0].task

    @cached_property
    def program(self) -> Program:
        """Every element of every column, then what must exist."""
        return self.task.program.restricted(self._outputs)

    @cached_property
    def careful(self) -> Program:
        """The same results, gated."""
        return self.task.careful.restricted(self._outputs)

    @cached_property
    def values(self) -> Program:
        """Every element of every column alone."""
        return Program(self.program.nodes, self.program.outputs[: self.lanes])

    @cached_property
    def together(self) -> Meaning | None:
        """What all lanes mean, if they are the elements of several array arguments; None otherwise."""
        meanings = [column.meaning for column in self.columns]
        chains = tuple(chain for meaning in meanings for chain in meaning.partials)
        arrays = len(meanings) > 1 and len(chains) > len(meanings) and all(len(chain) == 1 for chain in chains)
        return replace(meanings[0], partials=chains) if arrays else None

    @cached_property
    def subject(self) -> Subject:
        """What the results are derivatives of."""
        owners: list[frozenset[str] | int] = []
        for column in self.columns:
            owners.extend(map(frozenset, column.meaning.partials) if column.meaning.partials else range(column.count))
        return Subject(self.task.moving, owners, self.columns[0].meaning.weights)

    @property
    def lanes(self) -> int:
        """Number of elements of all columns."""
        return sum(column.count for column in self.columns)

    @cached_property
    def ranges(self) -> list[range]:
        """The lanes of each column."""
        ends = accumulate((column.count for column in self.columns), initial=0)
        return [range(start, end) for start, end in pairwise(ends)]

    @property
    def _outputs(self) -> list[int]:
        return [*(lane for column in self.columns for lane in column.lanes), *self.task.required]
