"""Two runs, or two implementations of one run, beside each other: what is fixed, still wrong, newly wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from audit.errors import AuditError
from audit.report.counts import chosen, mismatching
from audit.report.sides import Side
from audit.rows import row_name

Ids = NDArray[np.uint64]

UNJUDGED = ("not_run", "inconclusive")


@dataclass(frozen=True)
class Comparison:
    """Ids of comparisons by what became of them from `before` to `after`, each uint64 and in plan order.

    Args:
        before, after: what is compared, e.g. ``"before.json (mlx)"``.
        fixed: wrong before, right after.
        still_wrong: wrong in both.
        newly_wrong: wrong after but not before.
        not_judged: wrong before, and after it could not be judged (`not_run`, `inconclusive`).
        only_before, only_after: comparisons that only one of the two plans has.
        undefined_differs: no derivative exists there, and the two returned different numbers.
        compared: number of distinct comparisons in both.
        complete: whether both sides had all their rows; a JSON report has its mismatches only, so that `not_judged` and
            `undefined_differs` are not known from it.
    """

    before: str
    after: str
    fixed: Ids
    still_wrong: Ids
    newly_wrong: Ids
    not_judged: Ids
    only_before: Ids
    only_after: Ids
    undefined_differs: Ids
    compared: int
    complete: bool

    @property
    def exit_status(self) -> int:
        """1 when something is newly wrong, else 0."""
        return 1 if len(self.newly_wrong) else 0

    def ids(self) -> dict[str, Ids]:
        """The ids of each kind, by its name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _SCALARS}

    def to_json(self) -> dict[str, Any]:
        """Counts of all kinds, then the ids of each kind but `fixed`: what is not among them and was wrong is fixed."""
        kinds = self.ids()
        return {
            "schema": "gradaudit/comparison/1",
            "before": self.before,
            "after": self.after,
            "complete": self.complete,
            "compared": self.compared,
            "counts": {name: len(ids) for name, ids in kinds.items()},
            "ids": {name: [row_name(int(i)) for i in ids] for name, ids in kinds.items() if name != "fixed"},
        }

    def lines(self) -> list[str]:
        """The counts in words, one line a kind."""
        unknown = "" if self.complete else " (not known from JSON reports, which hold mismatches only)"
        counted = [
            ("fixed", len(self.fixed), ""),
            ("still wrong", len(self.still_wrong), ""),
            ("newly wrong", len(self.newly_wrong), ""),
            ("no longer judged", len(self.not_judged), unknown),
            ("only before", len(self.only_before), ""),
            ("only after", len(self.only_after), ""),
            ("undefined, and different", len(self.undefined_differs), unknown),
        ]
        head = [f"before: {self.before}", f"after:  {self.after}", f"{self.compared:>9} compared"]
        return head + [f"{'?' if note else count:>9} {name}{note}" for name, count, note in counted]


_SCALARS = ("before", "after", "compared", "complete")


def compare(before: Side, after: Side, *, intersect: bool = False) -> Comparison:
    """Join two sides on the ids of their rows.

    Args:
        before, after: the two sides.
        intersect: join what both plans have in common where they are not equal.

    Raises:
        AuditError: the plans are not equal and `intersect` is not set, or it is set and a side is a JSON report of
            another plan, which does not say what it compared.
    """
    if before.rows is None or after.rows is None:
        return _compare_reports(before, after, intersect=intersect)
    left, right = _Distinct.of(before.rows), _Distinct.of(after.rows)
    in_both, other_in_both = np.isin(left.ids, right.ids), np.isin(right.ids, left.ids)
    if not (in_both.all() and other_in_both.all()) and not intersect:
        raise _unequal(before, after)
    only_before, only_after = left.take(~in_both), right.take(~other_in_both)
    left, right = left.take(in_both), right.take(other_in_both)
    kinds = _kinds(left.rows, right.rows)
    return Comparison(
        before=before.label,
        after=after.label,
        only_before=only_before.in_plan_order(),
        only_after=only_after.in_plan_order(),
        compared=len(left.ids),
        complete=True,
        **{name: left.take(mask).in_plan_order() for name, mask in kinds.items()},
    )


@dataclass(frozen=True)
class _Distinct:
    """Rows in ascending order of their ids, each id once, and where each stood in the plan."""

    rows: pa.Table
    ids: Ids
    position: NDArray[np.int64]

    @staticmethod
    def of(rows: pa.Table) -> _Distinct:
        # A plan may come upon the same point twice. Where the two were not judged alike, the wrong one counts.
        ids = rows["id"].to_numpy()
        order = np.lexsort((~mismatching(rows), ids))
        distinct, first = np.unique(ids[order], return_index=True)
        position = np.minimum.reduceat(order, first) if len(order) else order
        return _Distinct(rows.take(pa.array(order[first])), distinct, position)

    def take(self, mask: NDArray[np.bool_]) -> _Distinct:
        return _Distinct(self.rows.filter(pa.array(mask)), self.ids[mask], self.position[mask])

    def in_plan_order(self) -> Ids:
        return self.ids[np.argsort(self.position)]


def _kinds(left: pa.Table, right: pa.Table) -> dict[str, NDArray[np.bool_]]:
    wrong, wrong_after = mismatching(left), mismatching(right)
    unjudged, undefined = _has(right, UNJUDGED), _has(left, ("undefined",)) & _has(right, ("undefined",))
    return {
        "fixed": wrong & ~wrong_after & ~unjudged,
        "still_wrong": wrong & wrong_after,
        "newly_wrong": ~wrong & wrong_after,
        "not_judged": wrong & unjudged,
        "undefined_differs": undefined & _got_differs(left, right),
    }


def by_implementation(before: Sequence[Side], after: Sequence[Side]) -> list[tuple[Side, Side]]:
    """Pair the sides of two runs: each with the same implementation, or the only ones there are.

    Raises:
        AuditError: the runs have no implementation in common and more than one each.
    """
    named = {side.implementation: side for side in after}
    pairs = [(side, named[side.implementation]) for side in before if side.implementation in named]
    if pairs:
        return pairs
    if len(before) == len(after) == 1:
        return [(before[0], after[0])]
    names = (", ".join(side.implementation for side in sides) for sides in (before, after))
    raise AuditError(
        "The runs have no implementation in common: {} and {}. Name one of each, as in FOLDER@NAME.".format(*names)
    )


def _compare_reports(before: Side, after: Side, *, intersect: bool) -> Comparison:
    if before.series_hash != after.series_hash:
        if intersect:
            raise AuditError(
                f"{before.label} and {after.label} have unequal plans, and a JSON report does not say what it compared "
                "beside its mismatches. Name the run folders instead, which have all rows."
            )
        raise _unequal(before, after)
    wrong, wrong_after = before.mismatches, after.mismatches
    return Comparison(
        before=before.label,
        after=after.label,
        fixed=wrong[~np.isin(wrong, wrong_after)],
        still_wrong=wrong[np.isin(wrong, wrong_after)],
        newly_wrong=wrong_after[~np.isin(wrong_after, wrong)],
        not_judged=_none(),
        only_before=_none(),
        only_after=_none(),
        undefined_differs=_none(),
        compared=before.count,
        complete=False,
    )


def _unequal(before: Side, after: Side) -> AuditError:
    return AuditError(
        f"{before.label} and {after.label} have unequal plans ({before.count} and {after.count} comparisons of "
        f"the named series, hashes {before.series_hash[:12]} and {after.series_hash[:12]}). "
        "Compare runs of one selection, or add --intersect to join what both have."
    )


def _has(rows: pa.Table, verdicts: Sequence[str]) -> NDArray[np.bool_]:
    return chosen(rows, "verdict", lambda name: name in verdicts)


def _got_differs(left: pa.Table, right: pa.Table) -> NDArray[np.bool_]:
    differs = np.zeros(len(left), bool)
    for column in ("got", "got_imag"):
        a, b = left[column], right[column]
        missing = a.is_null().to_numpy() != b.is_null().to_numpy()
        differs |= missing | (a.fill_null(0).to_numpy() != b.fill_null(0).to_numpy())
    return differs


def _none() -> Ids:
    return np.empty(0, np.uint64)
