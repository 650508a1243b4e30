"""Right derivatives of products, systems of equations and Fourier transforms, written otherwise."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from cases.matrices import moved
from planted.otherwise import FIRST, SECOND, formula, otherwise
from planted.plant import At

_VJP = At()
_COMPLEX = At(("vjp", "jvp"), ("complex64",))
_HALF = At(("vjp", "jvp"), ("float16", "bfloat16"))
_LONG = At(("vjp", "jvp"), ("float16",), ("long",), size="default")


def _t(x: mx.array) -> mx.array:
    return mx.swapaxes(x, -1, -2)


def _broadcast(a: mx.array, b: mx.array) -> mx.array:
    """A product as a sum of broadcast products."""
    rows, columns = a.ndim == 1, b.ndim == 1
    a, b = a[None] if rows else a, b[:, None] if columns else b
    found = (a[..., :, :, None] * b[..., None, :, :]).sum(-2)
    found = found.squeeze(-1) if columns else found
    return found.squeeze(-1 if columns else -2) if rows else found


def _backwards(a: mx.array, b: mx.array) -> mx.array:
    """Terms in the reverse order."""
    return a[..., ::-1] @ (b[::-1] if b.ndim == 1 else b[..., ::-1, :])


def _transposed(a: mx.array, b: mx.array) -> mx.array:
    return _t(_t(b) @ _t(a)) if a.ndim > 1 and b.ndim > 1 else a @ b


def _in_parts(a: mx.array, b: mx.array) -> mx.array:
    """A complex product by four real ones."""
    (ar, ai), (br, bi) = ((mx.real(x), mx.imag(x)) for x in (a, b))
    return (ar @ br - ai @ bi) + 1j * (ar @ bi + ai @ br)


def _in_float32(a: mx.array, b: mx.array) -> mx.array:
    return (a.astype(mx.float32) @ b.astype(mx.float32)).astype(a.dtype)


def _exchanged(a: mx.array, b: mx.array, subscripts: str) -> mx.array:
    left, right = subscripts.split("->")
    first, second = left.split(",")
    return mx.einsum(f"{second},{first}->{right}", b, a)


def _kron(a: mx.array, b: mx.array) -> mx.array:
    rank = max(a.ndim, b.ndim)
    a, b = (x.reshape(*[1] * (rank - x.ndim), *x.shape) for x in (a, b))
    shape = [n for n in a.shape for n in (n, 1)], [n for n in b.shape for n in (1, n)]
    whole = a.reshape(shape[0]) * b.reshape(shape[1])
    return whole.reshape([m * n for m, n in zip(a.shape, b.shape, strict=True)])


def _cross(a: mx.array, b: mx.array, axis: int) -> mx.array:
    a, b = mx.broadcast_arrays(a, b)
    x, y = mx.moveaxis(a, axis, 0), mx.moveaxis(b, axis, 0)
    if x.shape[0] == 2:
        x, y = (mx.concatenate([v, mx.zeros_like(v[:1])]) for v in (x, y))
        # Of two vectors of the plane MLX gives all three components.
    parts = [x[(k + 1) % 3] * y[(k + 2) % 3] - x[(k + 2) % 3] * y[(k + 1) % 3] for k in range(3)]
    return mx.moveaxis(mx.stack(parts), 0, axis)


def _wide(*arrays: mx.array) -> list[mx.array]:
    return [x.astype(mx.float64) for x in arrays]


def _inverse_back(w: mx.array, a: mx.array, exponent: int) -> mx.array:
    w, wide = _wide(w, a)
    inverse = mx.linalg.inv(moved(wide, exponent))
    return (-(_t(inverse) @ w @ _t(inverse)) * 2.0**exponent).astype(a.dtype)


def _inverse_along(t: mx.array, a: mx.array, exponent: int) -> mx.array:
    t, wide = _wide(t, a)
    inverse = mx.linalg.inv(moved(wide, exponent))
    return (-(inverse @ (t * 2.0**exponent) @ inverse)).astype(a.dtype)


def _system(a: mx.array, b: mx.array, exponent: int) -> mx.array:
    """The solution by Cramer's rule for one or two unknowns, by the adjugate's cofactors for three."""
    whole = moved(a, exponent)
    found = _adjugate(whole) @ (b[..., None] if b.ndim == a.ndim - 1 else b) / _determinant(whole)[..., None, None]
    return found.squeeze(-1) if b.ndim == a.ndim - 1 else found


def _minor(a: mx.array, row: int, column: int) -> mx.array:
    keep = [[k for k in range(a.shape[-1]) if k != left] for left in (row, column)]
    return a[..., mx.array(keep[0]), :][..., mx.array(keep[1])]


def _determinant(a: mx.array) -> mx.array:
    """By Laplace's expansion along the first row."""
    if a.shape[-1] == 1:
        return a[..., 0, 0]
    found = a[..., 0, 0] * _determinant(_minor(a, 0, 0))
    for k in range(1, a.shape[-1]):
        found = found + (-1) ** k * a[..., 0, k] * _determinant(_minor(a, 0, k))
    return found


def _adjugate(a: mx.array) -> mx.array:
    n = a.shape[-1]
    if n == 1:
        return mx.ones_like(a)
    rows = [[(-1) ** (i + j) * _determinant(_minor(a, j, i)) for j in range(n)] for i in range(n)]
    return mx.stack([mx.stack(row, -1) for row in rows], -2)


def _by_cofactors(a: mx.array, exponent: int) -> mx.array:
    whole = moved(a, exponent)
    return _adjugate(whole) / _determinant(whole)[..., None, None]


def _cholesky(a: mx.array, exponent: int, upper: bool) -> mx.array:
    """A row after another."""
    whole = moved(a, exponent)
    whole = (whole + _t(whole)) / 2
    n = a.shape[-1]
    found: list[list[mx.array]] = [[mx.zeros_like(whole[..., 0, 0])] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = whole[..., i, j]
            for k in range(j):
                rest = rest - found[i][k] * found[j][k]
            found[i][j] = mx.sqrt(rest) if i == j else rest / found[j][j]
    lower = mx.stack([mx.stack(row, -1) for row in found], -2)
    return _t(lower) if upper else lower


def _hadamard(x: mx.array, scale: Any) -> mx.array:
    matrix = np.ones((1, 1))
    while len(matrix) < x.shape[-1]:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return x @ mx.array(matrix.astype(np.float32)).astype(x.dtype) * (x.shape[-1] ** -0.5 if scale is None else scale)


def _fitted(x: mx.array, n: int | None, axis: int) -> mx.array:
    """Cut or filled with zeros to a length along an axis that is moved to the end."""
    x = mx.moveaxis(x, axis, -1)
    n = x.shape[-1] if n is None else n
    x = x[..., :n]
    return mx.concatenate([x, mx.zeros((*x.shape[:-1], n - x.shape[-1]), x.dtype)], -1) if x.shape[-1] < n else x


def _factor(n: int, norm: str, inverse: bool) -> float:
    if norm == "ortho":
        return n**-0.5
    return 1 / n if (norm == "backward") == inverse else 1.0


def _twiddles(n: int, sign: int) -> mx.array:
    turns = np.outer(np.arange(n), np.arange(n)) % n
    return mx.array(np.exp(sign * 2j * np.pi * turns / n).astype(np.complex64))


def _fourier(inverse: bool) -> Any:
    """A transform as a product with its matrix."""

    def transform(x: mx.array, n: int | None, axis: int, norm: str) -> mx.array:
        fitted = _fitted(x, n, axis)
        size = fitted.shape[-1]
        found = fitted @ _twiddles(size, 1 if inverse else -1) * _factor(size, norm, inverse)
        return mx.moveaxis(found, -1, axis)

    return transform


def _by_conjugates(x: mx.array, n: int | None, axis: int, norm: str) -> mx.array:
    """A transform by the inverse one of the conjugate."""
    opposite = {"backward": "forward", "forward": "backward", "ortho": "ortho"}[norm]
    return mx.conjugate(mx.fft.ifft(mx.conjugate(x), n=n, axis=axis, norm=opposite))


def _half(x: mx.array, n: int | None, axis: int, norm: str) -> mx.array:
    """Half of the whole spectrum."""
    whole = mx.fft.fft(x.astype(mx.complex64), n=n, axis=axis, norm=norm)
    return mx.moveaxis(mx.moveaxis(whole, axis, 0)[: whole.shape[axis] // 2 + 1], 0, axis)


def _plane(x: mx.array, s: Any, axes: Any, norm: str) -> mx.array:
    """An axis after another."""
    for k, axis in enumerate(axes):
        x = mx.fft.fft(x, n=None if s is None else s[k], axis=axis, norm=norm)
    return x


RIGHT_LINEAR = (
    otherwise("a sum of broadcast products", "mx.matmul", _broadcast, SECOND),
    otherwise("in float64", "mx.matmul", lambda a, b: a @ b, _HALF, wide=True),
    otherwise("terms in reverse", "mx.matmul", _backwards, FIRST),
    otherwise("the product of the transposes", "mx.matmul", _transposed, FIRST),
    otherwise("four real products", "mx.matmul", _in_parts, _COMPLEX),
    otherwise("in float32", "mx.matmul", _in_float32, _LONG),
    otherwise(
        "products and a sum",
        "mx.addmm",
        lambda c, a, b, alpha, beta: beta * c + alpha * (a @ b),
        At(("vjp",)),
        wide=True,
    ),
    otherwise("operands exchanged", "mx.einsum[2]", _exchanged, FIRST),
    otherwise(
        "product with the transpose",
        "mx.inner",
        lambda a, b: mx.tensordot(a, b, axes=[[a.ndim - 1], [b.ndim - 1]]) if a.ndim and b.ndim else a * b,
        FIRST,
    ),
    otherwise("broadcast", "mx.outer", lambda a, b: a.reshape(-1)[:, None] * b.reshape(-1)[None], SECOND),
    otherwise("broadcast and made flat", "mx.kron", _kron, FIRST),
    otherwise("components", "mx.linalg.cross", _cross, At(("vjp", "jvp"), ("float32", "float16")), wide=True),
    formula("two factors of the inverse", "mx.linalg.inv", FIRST, {"a": _inverse_along}, a=_inverse_back),
    otherwise(
        "cofactors over the determinant",
        "mx.linalg.inv",
        _by_cofactors,
        FIRST,
        wide=True,
    ),
    otherwise("Cramer's rule", "mx.linalg.solve", _system, FIRST, wide=True),
    otherwise("Laplace's expansion", "mx.linalg.det", _determinant, SECOND, wide=True),
    otherwise("a row after another", "mx.linalg.cholesky", _cholesky, FIRST, wide=True),
    otherwise("product with the matrix", "mx.hadamard_transform", _hadamard, FIRST, wide=True),
    otherwise("product with the matrix", "mx.fft.fft", _fourier(inverse=False), _COMPLEX),
    otherwise("product with the matrix", "mx.fft.ifft", _fourier(inverse=True), _COMPLEX),
    otherwise("the inverse between conjugates", "mx.fft.fft", _by_conjugates, _COMPLEX),
    otherwise("half of the whole", "mx.fft.rfft", _half, _COMPLEX),
    otherwise("an axis after another", "mx.fft.fft2", _plane, _COMPLEX),
)
