"""Determinants, inverses, linear systems and factorisations of small matrices, the same program at every point.

There is no pivoting, which would depend on the values: determinants are sums of minors, without a division, and
systems are solved by Cramer's rule. Matrices are the last two axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from audit.errors import AuditError
from audit.reference.arrays.axes import Objects, elements, plain

Rows = list[list[Any]]


def _mapped(function: Callable[[Rows], Any], x: Any) -> Any:
    """A function of one matrix, given by its rows, on each matrix of an array."""
    x = elements(x)
    lead = x.shape[:-2]
    found = {place: np.asarray(function(x[place].tolist()), object) for place in np.ndindex(lead)}
    shape = next(iter(found.values())).shape
    result = np.empty((*lead, *shape), object)
    for place, value in found.items():
        result[place] = value[()] if value.ndim == 0 else value
    return plain(result)


def _determinant(m: Any, rows: Rows) -> Any:
    """Sum over columns of products and minors, the minors of the first rows before those of more."""
    n = len(rows)
    if n == 0:
        return 1
    minors: dict[int, Any] = {1 << column: value for column, value in enumerate(rows[0])}
    for count, row in enumerate(rows[1:], 1):
        longer: dict[int, Any] = {}
        for mask in (mask for mask in range(1 << n) if mask.bit_count() == count + 1):
            columns = [column for column in range(n) if mask >> column & 1]
            # The sign of moving the row's column behind the others, which are in order.
            signed = [
                row[column] if (count - place) % 2 == 0 else m.negative(row[column])
                for place, column in enumerate(columns)
            ]
            longer[mask] = m.dot(signed, [minors[mask ^ (1 << column)] for column in columns])
        minors = longer
    return minors[(1 << n) - 1]


def _cofactors(m: Any, rows: Rows) -> Rows:
    """The matrix of cofactors, transposed: the inverse times the determinant."""
    n = len(rows)
    result: Rows = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            rest = [[value for c, value in enumerate(row) if c != j] for r, row in enumerate(rows) if r != i]
            minor = _determinant(m, rest)
            result[j][i] = minor if (i + j) % 2 == 0 else m.negative(minor)
    return result


def det(m: Any, x: Any) -> Any:
    """Determinant."""
    return _mapped(lambda rows: _determinant(m, rows), x)


def slogdet(m: Any, x: Any) -> tuple[Any, Any]:
    """Sign of the determinant, and logarithm of its size."""
    value = det(m, x)
    return m.sign(value), m.log(m.abs(value))


def inv(m: Any, x: Any) -> Any:
    """Inverse."""

    def inverse(rows: Rows) -> Any:
        return m.divide(np.array(_cofactors(m, rows), object), _determinant(m, rows))

    return _mapped(inverse, x)


def _systems(a: Any, b: Any) -> tuple[Objects, Objects, bool]:
    """Matrices and right-hand sides with common leading axes, and whether the latter were vectors."""
    a, b = elements(a), elements(b)
    vector = b.ndim == 1 or (a.ndim > 2 and b.ndim == a.ndim - 1)
    if vector:
        b = b[..., None]
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return np.broadcast_to(a, (*lead, *a.shape[-2:])), np.broadcast_to(b, (*lead, *b.shape[-2:])), vector


def solve(m: Any, a: Any, b: Any) -> Any:
    """The x of ``a @ x = b``, for one right-hand side or a matrix of them."""
    a, b, vector = _systems(a, b)
    result = np.empty(b.shape, object)
    for place in np.ndindex(a.shape[:-2]):
        rows = a[place].tolist()
        divisor, cofactors = _determinant(m, rows), _cofactors(m, rows)
        for column in range(b.shape[-1]):
            side = b[place][:, column].tolist()
            for i, row in enumerate(cofactors):
                result[(*place, i, column)] = m.divide(m.dot(row, side), divisor)
    return result[..., 0] if vector else result


def solve_triangular(m: Any, a: Any, b: Any, *, upper: bool = False) -> Any:
    """The x of ``a @ x = b`` by substitution; the other triangle is not looked at."""
    a, b, vector = _systems(a, b)
    n = a.shape[-1]
    result = np.empty(b.shape, object)
    for place in np.ndindex(a.shape[:-2]):
        for column in range(b.shape[-1]):
            for i in reversed(range(n)) if upper else range(n):
                known = range(i + 1, n) if upper else range(i)
                sum_ = m.dot([a[(*place, i, j)] for j in known], [result[(*place, j, column)] for j in known])
                rest = m.subtract(b[(*place, i, column)], sum_)
                result[(*place, i, column)] = m.divide(rest, a[(*place, i, i)])
    return result[..., 0] if vector else result


def tri_inv(m: Any, a: Any, *, upper: bool = False) -> Any:
    """Inverse of a triangular matrix."""
    a = elements(a)
    identity = np.broadcast_to(np.eye(a.shape[-1], dtype=int).astype(object), a.shape)
    return solve_triangular(m, a, identity, upper=upper)


def cholesky(m: Any, a: Any, *, upper: bool = False) -> Any:
    """The lower triangular L of ``L @ L.T = a``, from the lower triangle of a; its transpose if `upper`."""

    def factor(rows: Rows) -> Any:
        n = len(rows)
        low: Rows = [[0] * n for _ in range(n)]
        for j in range(n):
            low[j][j] = m.sqrt(m.subtract(rows[j][j], m.dot(low[j][:j], low[j][:j])))
            for i in range(j + 1, n):
                low[i][j] = m.divide(m.subtract(rows[i][j], m.dot(low[i][:j], low[j][:j])), low[j][j])
        found = np.array(low, object)
        return found.T if upper else found

    return _mapped(factor, a)


def cholesky_inv(m: Any, a: Any, *, upper: bool = False) -> Any:
    """The inverse of the matrix that has this Cholesky factor: ``inv(L @ L.T)``, or ``inv(U.T @ U)``."""
    inverse = elements(tri_inv(m, a, upper=upper))
    turned = np.swapaxes(inverse, -1, -2)
    return m.matmul(inverse, turned) if upper else m.matmul(turned, inverse)


def qr(m: Any, a: Any) -> tuple[Any, Any]:
    """Orthogonal and upper triangular factor by Householder's reflections, with the signs that LAPACK gives."""
    a = elements(a)
    count = min(a.shape[-2:])

    def factors(rows: Rows) -> Any:
        r = np.array(rows, object)
        size = len(rows)
        q = np.eye(size, dtype=int).astype(object)
        # A column of one element is left as it is.
        for k in range(min(count, size - 1)):
            column = r[k:, k].tolist()
            length = m.sqrt(m.dot(column, column))
            top = m.where(m.less(column[0], 0), length, m.negative(length))
            mirror = [m.subtract(column[0], top), *column[1:]]
            half = m.divide(m.dot(mirror, mirror), 2)
            for part in (r[k:, k + 1 :], q.T[k:, :]):
                for j in range(part.shape[1]):
                    share = m.divide(m.dot(mirror, part[:, j].tolist()), half)
                    part[:, j] = m.subtract(part[:, j], m.multiply(np.array(mirror, object), share))
            r[k:, k] = [top, *[0] * (size - k - 1)]
        return np.concatenate([q[:, :count], r[:count].T], axis=0)

    both = elements(_mapped(factors, a))
    rows = a.shape[-2]
    return both[..., :rows, :], np.swapaxes(both[..., rows:, :], -1, -2)


def lu(m: Any, a: Any) -> tuple[Any, Any]:
    """Factors of the matrix whose rows stand in the order that partial pivoting gives them: unit lower, and upper.

    Which row becomes a pivot depends on the values: every row is chosen by the same conditions at every point.
    """
    a = elements(a)
    count = min(a.shape[-2:])

    def factors(rows: Rows) -> Any:
        work = np.array(rows, object)
        size = len(rows)
        for k in range(count):
            # Of equal candidates the first one.
            best, chosen = m.abs(work[k, k]), [True] + [False] * (size - k - 1)
            for i in range(k + 1, size):
                larger = m.less(best, m.abs(work[i, k]))
                best = m.where(larger, m.abs(work[i, k]), best)
                chosen = [m.logical_and(c, m.logical_not(larger)) for c in chosen[: i - k]] + [
                    larger,
                    *chosen[i - k + 1 :],
                ]
            top = work[k].copy()
            for i in range(k + 1, size):
                row, found = work[i].copy(), chosen[i - k]
                work[k] = [m.where(found, new, old) for new, old in zip(row, work[k], strict=True)]
                work[i] = [m.where(found, old, new) for new, old in zip(row, top, strict=True)]
            for i in range(k + 1, size):
                share = m.divide(work[i, k], work[k, k])
                work[i, k] = share
                for j in range(k + 1, work.shape[1]):
                    work[i, j] = m.subtract(work[i, j], m.multiply(share, work[k, j]))
        return work

    both = elements(_mapped(factors, a))
    rows, columns = a.shape[-2:]
    places = np.subtract.outer(np.arange(rows), np.arange(columns))
    zero, one = np.full((), 0, object), np.full((), 1, object)
    low = np.where(places == 0, one, np.where(places > 0, both, zero))[..., :count]
    return low, np.where(places <= 0, both, zero)[..., :count, :]


def pinv(m: Any, a: Any) -> Any:
    """Pseudo-inverse of a matrix of full rank."""
    a = elements(a)
    turned = np.swapaxes(a, -1, -2)
    if a.shape[-2] >= a.shape[-1]:
        return m.matmul(inv(m, m.matmul(turned, a)), turned)
    return m.matmul(turned, inv(m, m.matmul(a, turned)))


def eigvalsh(m: Any, a: Any) -> Any:
    """Eigenvalues of symmetric matrices of order 1 or 2, ascending, from the lower triangle."""

    def values(rows: Rows) -> list[Any]:
        if len(rows) == 1:
            return [rows[0][0]]
        if len(rows) != 2:
            raise AuditError("The reference has the eigenvalues of matrices of order 1 and 2.")
        (a, _), (b, d) = rows
        middle, half = m.divide(m.add(a, d), 2), m.divide(m.subtract(a, d), 2)
        radius = m.hypot(half, b)
        return [m.subtract(middle, radius), m.add(middle, radius)]

    return _mapped(values, a)


def singular_values(m: Any, a: Any) -> Any:
    """Singular values of matrices with one or two rows or columns, descending."""

    def values(rows: Rows) -> list[Any]:
        lines = rows if len(rows) <= len(rows[0]) else [list(column) for column in zip(*rows, strict=True)]
        if len(lines) == 1:
            return [m.sqrt(m.dot(lines[0], lines[0]))]
        if len(lines) != 2:
            raise AuditError("The reference has the singular values of matrices with one or two rows or columns.")
        x, y = lines
        p, q, r = m.dot(x, x), m.dot(y, y), m.dot(x, y)
        root = m.hypot(m.divide(m.subtract(p, q), 2), r)
        largest = m.sqrt(m.add(m.divide(m.add(p, q), 2), root))
        # The product of both is the area that the two rows span: the sum of squares of all minors of two columns.
        minors = [m.subtract(m.multiply(x[i], y[j]), m.multiply(x[j], y[i])) for j in range(len(x)) for i in range(j)]
        area = m.abs(minors[0]) if len(minors) == 1 else m.sqrt(m.dot(minors, minors))
        return [largest, m.divide(area, largest)]

    return _mapped(values, a)


SOLVING = {
    "det": det, "slogdet": slogdet, "inv": inv, "solve": solve, "solve_triangular": solve_triangular,
    "tri_inv": tri_inv, "cholesky": cholesky, "cholesky_inv": cholesky_inv, "lu": lu, "qr": qr, "pinv": pinv,
    "eigvalsh": eigvalsh, "singular_values": singular_values,
}  # fmt: skip
