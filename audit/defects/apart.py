"""Which parts of a run have nothing to do with each other, so that their defects can be looked for apart."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq

from audit.defects.subjects import Subjects
from audit.rows import SCHEMA

_CASE = SCHEMA.get_field_index("case")


def apart(path: Path, subjects: Subjects) -> list[list[int]]:
    """Row groups by what they are about, those with the most rows first.

    Two cases belong together if they share an operation.

    Args:
        path: of a sealed file of rows, one row group a shard.
        subjects: what rows are about.
    """
    with pq.ParquetFile(path) as file:
        groups = [file.metadata.row_group(index) for index in range(file.num_row_groups)]
    cases = [_case(group) for group in groups]
    if None in cases:
        # Of many cases: all of it is one part.
        return [list(range(len(groups)))]
    leader = _leaders(subjects)
    found: dict[str, list[int]] = defaultdict(list)
    for index, case in enumerate(cases):
        assert case is not None
        found[leader.get(case, case)].append(index)
    return sorted(found.values(), key=lambda part: (-sum(groups[i].num_rows for i in part), part))


def _case(group: pq.RowGroupMetaData) -> str | None:
    """The case of a row group, None if there are several or that is not told."""
    statistics = group.column(_CASE).statistics
    if statistics is None or not statistics.has_min_max or statistics.min != statistics.max:
        return None
    return statistics.min


def _leaders(subjects: Subjects) -> dict[str, str]:
    """For every case the first of those with which it shares operations, directly or through others."""
    leader: dict[str, str] = {}

    def first(case: str) -> str:
        while leader.setdefault(case, case) != case:
            case = leader[case]
        return case

    owner: dict[str, str] = {}
    for (case, _), subject in sorted(subjects.items(), key=lambda pair: pair[0]):
        for operation in {subject.operation, subject.within or subject.operation}:
            one, other = first(case), first(owner.setdefault(operation, case))
            leader[max(one, other)] = min(one, other)
    return {case: first(case) for case in list(leader)}
