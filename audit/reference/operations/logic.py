"""Conditions made of conditions."""

from __future__ import annotations

from audit.reference.operations.entry import Measure, Operation


def _own(z: Measure) -> int:
    return z("abs", z.value)


LOGIC = {
    "logical_and": Operation(
        "{0} and {1}", lambda _, x, y: bool(x and y), (None, None), rational="{0} and {1}", size=_own,
        commutative=True, logical=True,
    ),
    "logical_or": Operation(
        "{0} or {1}", lambda _, x, y: bool(x or y), (None, None), rational="{0} or {1}", size=_own,
        commutative=True, logical=True,
    ),
    "logical_not": Operation(
        "not {0}", lambda _, x: not x, (None,), rational="not {0}", size=_own, logical=True,
    ),
}  # fmt: skip
