"""Norms of vectors and matrices, by the table in the library's documentation."""

from __future__ import annotations

from math import inf, isinf
from typing import Any

import numpy as np

from audit.errors import AuditError
from audit.reference.arrays.axes import Axes, axes_of, elements
from audit.reference.arrays.solving import singular_values


def _squares(m: Any, x: Any) -> Any:
    """Squares of sizes, which are real."""
    return m.add(m.square(m.real(x)), m.square(m.imag(x)))


def _powers(m: Any, x: Any, order: float) -> Any:
    """Sizes to a power; even integer powers without the kink that a size has at zero."""
    if order == int(order):
        whole = int(order)
        return m.power(m.abs(x), whole) if whole % 2 else m.power(_squares(m, x), whole // 2)
    return m.power(m.abs(x), order)


def _vector(m: Any, x: Any, order: float, axes: tuple[int, ...], keepdims: bool) -> Any:
    if isinf(order):
        return (m.max if order > 0 else m.min)(m.abs(x), axes, keepdims=keepdims)
    if order == 0:
        return m.sum(m.where(m.equal(x, 0), 0, 1), axes, keepdims=keepdims)
    if order == 1:
        return m.sum(m.abs(x), axes, keepdims=keepdims)
    if order == 2:
        return m.sqrt(m.sum(_squares(m, x), axes, keepdims=keepdims))
    total = m.sum(_powers(m, x, order), axes, keepdims=keepdims)
    return m.power(total, m.divide(1, order))


def _matrix(m: Any, x: Any, order: float | str, axes: tuple[int, int], keepdims: bool) -> Any:
    rows, columns = axes
    if order in (1, -1, inf, -inf):
        added, compared = (rows, columns) if order in (1, -1) else (columns, rows)
        sums = m.sum(m.abs(x), added, keepdims=True)
        result = (m.max if order in (1, inf) else m.min)(sums, compared, keepdims=True)
    elif order in (2, -2, "nuc"):
        values = elements(singular_values(m, np.moveaxis(x, axes, (-2, -1))))
        found = m.sum(values, -1) if order == "nuc" else values[..., 0 if order == 2 else -1]
        result = np.expand_dims(elements(found), tuple(sorted(axes)))
    else:
        raise AuditError(f"A matrix has no norm of order {order!r}.")
    return result if keepdims else m.sum(result, axes)


def norm(m: Any, x: Any, order: float | str | None = None, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """Norm of a vector along one axis, of a matrix along two, or of all elements as one vector.

    Args:
        m: the arithmetic.
        x: the array.
        order: a number, infinity, ``"fro"``, ``"nuc"``, or None for the Euclidean norm.
        axis: one axis, two axes, or None.
        keepdims: whether the axes stay, with length 1.
    """
    x = elements(x)
    given = axes_of(None, x.ndim) if axis is None else axis
    axes = (int(given),) if isinstance(given, (int, np.integer)) else tuple(int(a) for a in given)
    axes = tuple(a + x.ndim if a < 0 else a for a in axes)
    if order is None or order == "fro":
        return m.sqrt(m.sum(_squares(m, x), axes, keepdims=keepdims))
    if len(axes) == 1 and not isinstance(order, str):
        return _vector(m, x, order, axes, keepdims)
    if len(axes) != 2:
        raise AuditError(f"A norm of order {order!r} along the axes {axes}.")
    return _matrix(m, x, order, (axes[0], axes[1]), keepdims)


NORMS = {"norm": norm}
