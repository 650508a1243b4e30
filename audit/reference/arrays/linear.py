"""Products of arrays: einsum, tensordot and their relatives, diagonals and triangles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit.reference.arrays.axes import Objects, elements, plain


def addmm(m: Any, c: Any, a: Any, b: Any, alpha: Any = 1, beta: Any = 1) -> Any:
    """``beta * c + alpha * (a @ b)``."""
    return m.add(m.multiply(beta, c), m.multiply(alpha, m.matmul(a, b)))


def vecdot(m: Any, x: Any, y: Any, axis: int = -1) -> Any:
    """Sum of the products along an axis, the first operand conjugated."""
    return m.sum(m.multiply(m.conj(elements(x)), elements(y)), axis)


def inner(m: Any, x: Any, y: Any) -> Any:
    """Sums of products over the last axes of both."""
    x, y = elements(x), elements(y)
    if not (x.ndim and y.ndim):
        return m.multiply(x, y)
    return tensordot(m, x, y, ((-1,), (-1,)))


def outer(m: Any, x: Any, y: Any) -> Any:
    """Products of each element of the one, flat, with each of the other."""
    return m.multiply(elements(x).reshape(-1, 1), elements(y).reshape(1, -1))


def tensordot(m: Any, x: Any, y: Any, axes: int | Sequence[Sequence[int]] = 2) -> Any:
    """Sums of products over pairs of axes: the last and first `axes` ones, or those listed for each."""
    x, y = elements(x), elements(y)
    if isinstance(axes, int):
        axes = (tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes)))
    left = [a % x.ndim for a in axes[0]]
    right = [a % y.ndim for a in axes[1]]
    rows = [a for a in range(x.ndim) if a not in left]
    columns = [a for a in range(y.ndim) if a not in right]
    shape = tuple(x.shape[a] for a in rows) + tuple(y.shape[a] for a in columns)
    summed = int(np.prod([x.shape[a] for a in left], dtype=int))
    a = x.transpose(rows + left).reshape(int(np.prod([x.shape[i] for i in rows], dtype=int)), summed)
    b = y.transpose(right + columns).reshape(summed, int(np.prod([y.shape[i] for i in columns], dtype=int)))
    return plain(elements(m.matmul(a, b)).reshape(shape))


def einsum(m: Any, subscripts: str, *operands: Any) -> Any:
    """Sums of products over the indices that the result lacks, in Einstein's notation; ``...`` is allowed."""
    given, result = _subscripts(subscripts, [elements(x) for x in operands])
    letters = [letter for letter in dict.fromkeys("".join(given)) if letter not in result]
    order = result + "".join(letters)
    spread = [_spread(elements(operand), names, order) for names, operand in zip(given, operands, strict=True)]
    shape = np.broadcast_shapes(*(x.shape for x in spread))
    terms = spread[0]
    for term in spread[1:-1]:
        terms = elements(m.multiply(terms, term))
    rows = np.broadcast_to(terms, shape).reshape(*shape[: len(result)], -1)
    columns = np.broadcast_to(spread[-1], shape).reshape(rows.shape)
    found = np.empty(shape[: len(result)], object)
    for place in np.ndindex(found.shape):
        numbers = columns[place].tolist()
        found[place] = m.total(numbers) if len(spread) == 1 else m.dot(rows[place].tolist(), numbers)
    return plain(found)


def _subscripts(text: str, operands: list[Objects]) -> tuple[list[str], str]:
    """Names of the axes of each operand and of the result, with capitals from Z downwards for an ellipsis."""
    left, arrow, right = text.replace(" ", "").partition("->")
    given = left.split(",")
    widest = 0
    for place, (names, x) in enumerate(zip(given, operands, strict=True)):
        hidden = x.ndim - len(names.replace("...", ""))
        widest = max(widest, hidden if "..." in names else 0)
        given[place] = names.replace("...", "".join(chr(ord("Z") - k) for k in reversed(range(hidden))))
    rest = "".join(chr(ord("Z") - k) for k in reversed(range(widest)))
    if not arrow:
        counted = "".join(given)
        right = rest + "".join(sorted(c for c in set(counted) if counted.count(c) == 1 and c not in rest))
    return given, right.replace("...", rest)


def _spread(x: Objects, names: str, order: str) -> Objects:
    """The array with one axis per name of `order`, of length 1 where it has none; a name met twice is a diagonal."""
    while len(set(names)) < len(names):
        letter = next(c for c in names if names.count(c) > 1)
        first = names.index(letter)
        second = names.index(letter, first + 1)
        x = np.moveaxis(np.diagonal(x, 0, first, second), -1, first)
        names = names[:second] + names[second + 1 :]
    present = [letter for letter in order if letter in names]
    x = x.transpose([names.index(letter) for letter in present])
    return x.reshape([x.shape[present.index(letter)] if letter in names else 1 for letter in order])


def kron(m: Any, x: Any, y: Any) -> Any:
    """Kronecker product."""
    x, y = elements(x), elements(y)
    axes = max(x.ndim, y.ndim)
    a = x.reshape((1,) * (axes - x.ndim) + x.shape)
    b = y.reshape((1,) * (axes - y.ndim) + y.shape)
    shape = [p * q for p, q in zip(a.shape, b.shape, strict=True)]
    spread = a.reshape([n for p in a.shape for n in (p, 1)])
    repeated = b.reshape([n for q in b.shape for n in (1, q)])
    return elements(m.multiply(spread, repeated)).reshape(shape)


def trace(m: Any, x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Sum of a diagonal."""
    return m.sum(np.diagonal(elements(x), offset, axis1, axis2), -1)


def diag(_: Any, x: Any, k: int = 0) -> Any:
    """The matrix with this diagonal, or the diagonal of this matrix."""
    x = elements(x)
    if x.ndim == 2:
        return np.diagonal(x, k)
    size = len(x) + abs(k)
    result = np.full((size, size), 0, object)
    for place, value in enumerate(x):
        result[place + max(-k, 0), place + max(k, 0)] = value
    return result


def _triangle(x: Objects, k: int) -> NDArray[np.bool_]:
    """Where a matrix is not above a diagonal."""
    rows, columns = x.shape[-2:]
    return np.arange(columns)[None, :] <= np.arange(rows)[:, None] + k


def tril(_: Any, x: Any, k: int = 0) -> Any:
    """The matrix with zeros above a diagonal."""
    x = elements(x)
    return np.where(_triangle(x, k), x, np.full((), 0, object))


def triu(_: Any, x: Any, k: int = 0) -> Any:
    """The matrix with zeros below a diagonal."""
    x = elements(x)
    return np.where(_triangle(x, k - 1), np.full((), 0, object), x)


def cross(m: Any, x: Any, y: Any, axis: int = -1) -> Any:
    """Vector product; a vector of two components has a third one of zero."""
    a, b = (np.moveaxis(elements(v), axis, -1) for v in (x, y))
    a, b = (np.concatenate([v, np.full((*v.shape[:-1], 1), 0, object)], -1) if v.shape[-1] == 2 else v for v in (a, b))
    rows = [
        m.subtract(m.multiply(a[..., i], b[..., j]), m.multiply(a[..., j], b[..., i]))
        for i, j in ((1, 2), (2, 0), (0, 1))
    ]
    return np.moveaxis(np.stack([elements(row) for row in rows], -1), -1, axis)


LINEAR = {
    "addmm": addmm, "vecdot": vecdot, "inner": inner, "outer": outer, "tensordot": tensordot,
    "einsum": einsum, "kron": kron, "trace": trace, "diag": diag, "tril": tril, "triu": triu, "cross": cross,
}  # fmt: skip
