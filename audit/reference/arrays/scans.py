"""Cumulative sums, products, extremes and logarithms of sums along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from audit.errors import AuditError
from audit.reference.arrays.axes import Objects, along, stacked


def _scan(
    operation: Callable[[Any, Any], Any], x: Any, axis: int | None, start: Any, *, reverse: bool, inclusive: bool
) -> Any:
    """Partial results along an axis; exclusive ones begin with `start`, and leave the last element out."""
    line, restored = along(x, axis)
    if not inclusive and start is None:
        raise AuditError("An exclusive scan of this kind begins with an infinity: scan all but one element instead.")
    if reverse:
        line = np.flip(line, -1)
    found = _partial(operation, line, start, inclusive=inclusive)
    return restored(np.flip(found, -1) if reverse else found)


def _partial(operation: Callable[[Any, Any], Any], line: Objects, start: Any, *, inclusive: bool) -> Objects:
    count = line.shape[-1]
    if not count:
        return line
    rows = [line[..., 0]]
    for place in range(1, count if inclusive else count - 1):
        rows.append(operation(rows[-1], line[..., place]))
    if not inclusive:
        rows = [np.full(line.shape[:-1], start, object), *rows][:count]
    return stacked(rows)


def cumsum(m: Any, x: Any, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True) -> Any:
    """Sums of the elements so far."""
    return _scan(m.add, x, axis, 0, reverse=reverse, inclusive=inclusive)


def cumprod(m: Any, x: Any, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True) -> Any:
    """Products of the elements so far."""
    return _scan(m.multiply, x, axis, 1, reverse=reverse, inclusive=inclusive)


def cummax(m: Any, x: Any, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True) -> Any:
    """Largest element so far."""
    return _scan(m.maximum, x, axis, None, reverse=reverse, inclusive=inclusive)


def cummin(m: Any, x: Any, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True) -> Any:
    """Smallest element so far."""
    return _scan(m.minimum, x, axis, None, reverse=reverse, inclusive=inclusive)


def logcumsumexp(m: Any, x: Any, axis: int | None = None, *, reverse: bool = False, inclusive: bool = True) -> Any:
    """Logarithms of the sums of the exponentials so far."""
    if not inclusive:
        raise AuditError("An exclusive logcumsumexp begins with an infinity: scan all but one element instead.")
    return m.log(cumsum(m, m.exp(x), axis, reverse=reverse))


SCANS = {"cumsum": cumsum, "cumprod": cumprod, "cummax": cummax, "cummin": cummin, "logcumsumexp": logcumsumexp}
