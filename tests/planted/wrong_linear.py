"""Wrong derivatives of products, systems of equations and Fourier transforms."""
# ruff: noqa: ARG005  every piece takes the weight, the operands and the parameters, whether it reads them or not

from __future__ import annotations

from typing import Any

import mlx.core as mx

from audit.verdict import Verdict
from cases.matrices import moved
from planted.plant import At, Plant, pulled

_BOTH = At(("vjp", "jvp"))
_COMPLEX = At(formats=("complex64",))
_WRONG, _SIGN, _NONZERO, _VANISHED, _SHAPE = (
    Verdict.WRONG,
    Verdict.SIGN,
    Verdict.NONZERO,
    Verdict.VANISHED,
    Verdict.SHAPE,
)


def _t(x: mx.array) -> mx.array:
    return mx.swapaxes(x, -1, -2)


def _in_half(a: mx.array, b: mx.array) -> mx.array:
    return ((a.astype(mx.float16)) @ b.astype(mx.float16)).astype(a.dtype)


def _inverse(own: Any, w: mx.array, a: mx.array, exponent: int) -> tuple[mx.array, mx.array, float]:
    """The cotangent, the inverse of the moved matrix, and the factor of the argument in it."""
    return w, mx.linalg.inv(moved(a, exponent)), 2.0**exponent


def _solved(a: mx.array, b: mx.array) -> mx.array:
    return mx.linalg.solve(a, b)


def _half(own: Any, w: mx.array, x: mx.array, n: int | None, axis: int, norm: str) -> mx.array:
    """The middle of a half spectrum counted twice, as in the value of its inverse."""
    size = n or x.shape[axis]
    middle = mx.arange(w.shape[axis]).reshape([-1 if a == axis % x.ndim else 1 for a in range(x.ndim)])
    return own(w * mx.where((middle > 0) & (2 * middle < size), 2, 1))


def _odd(own: Any, w: mx.array, x: mx.array, n: int | None, axis: int, norm: str) -> mx.array:
    """The last frequency counted half, which stands for itself alone where the size is even only."""
    last = w.shape[axis] - 1
    place = mx.arange(last + 1).reshape([-1 if a == axis % x.ndim else 1 for a in range(x.ndim)])
    return own(w * mx.where((place == last) & ((n or x.shape[axis]) % 2 == 1) & (place > 0), 0.5, 1.0))


WRONG_LINEAR = (
    Plant(
        "second factor reshaped, not transposed",
        "mx.matmul",
        {"a": lambda own, w, a, b: w @ b.reshape(_t(b).shape) if a.ndim == b.ndim == 2 else own()},
        named=_WRONG,
    ),
    Plant(
        "transposed result", "mx.matmul", {"b": lambda own, w, a, b: _t(own()) if b.ndim > 1 else own()}, named=_SHAPE
    ),
    Plant(
        "missing conjugate", "mx.matmul", {"a": pulled(lambda a, b: a @ mx.conjugate(b), 0)}, named=_SIGN, at=_COMPLEX
    ),
    Plant(
        "sum over the batch forgotten, its first kept",
        "mx.matmul",
        {
            "b": lambda own, w, a, b: (
                own() if w.ndim < 3 else own(w * (mx.arange(w.shape[0]) == 0)[:, None, None] if w.ndim == 3 else w)
            )
        },
        named=_WRONG,
        only=lambda row: row["group"] == "plain",
    ),
    Plant(
        "tangent of a dropped",
        "mx.matmul",
        jvp={"a": lambda own, t, a, b: mx.zeros_like(own())},
        named=_WRONG,
        at=At(("jvp",)),
        broken=frozenset({"jvp a,b"}),
    ),
    Plant(
        "product of tangents added",
        "mx.matmul",
        jvp={"a": lambda own, t, a, b: own() + t @ b},
        named=_WRONG,
        at=At(("jvp",)),
        broken=frozenset({"jvp a,b"}),
    ),
    Plant(
        "computed in half precision",
        "mx.matmul",
        {"a": lambda own, w, a, b: _in_half(w, _t(b)) if w.ndim == b.ndim == 2 else own()},
        named=Verdict.OVERFLOWED,
    ),
    Plant(
        "terms of a tangent added one by one in half precision",
        "mx.matmul",
        jvp={"a": lambda own, t, a, b: mx.cumsum((t * _t(b)).reshape(-1))[-1].reshape(1, 1)},
        named=Verdict.INACCURATE,
        at=At(("jvp",), ("float16",), ("long",), size="default"),
        broken=frozenset({"jvp a,b"}),
    ),
    Plant(
        "beta ignored",
        "mx.addmm",
        {
            "c": lambda own, w, c, a, b, alpha, beta: (
                own() / beta if beta else own(w) + mx.vjp(lambda z: mx.broadcast_to(z, w.shape), [c], [w])[1][0]
            )
        },
        named=_WRONG,
        only=lambda row: "beta" in row["function"],
    ),
    Plant(
        "alpha applied twice",
        "mx.addmm",
        {"b": lambda own, w, c, a, b, alpha, beta: own() * alpha},
        named=_WRONG,
        only=lambda row: "alpha" in row["function"],
    ),
    Plant(
        "order of output subscripts ignored",
        "mx.einsum[2]",
        {"a": lambda own, w, a, b, subscripts: own(_t(w)) if subscripts == "ij,jk->ki" else own()},
        named=Verdict.INACCURATE,
        only=lambda row: "->ki" in row["function"],
    ),
    Plant(
        "a for b",
        "mx.inner",
        {
            "a": lambda own, w, a, b: (
                mx.vjp(lambda y: mx.inner(a, y), [b], [w])[1][0].reshape(b.shape) if a.shape == b.shape else own()
            )
        },
        named=_WRONG,
    ),
    Plant("sign of the vjp", "mx.outer", {"b": lambda own, w, a, b: -own()}, named=_SIGN),
    Plant(
        "indices of the blocks exchanged", "mx.kron", {"b": lambda own, w, a, b: own(mx.roll(w, 1, -1))}, named=_WRONG
    ),
    Plant(
        "contracted along the other axis",
        "mx.tensordot",
        {"a": lambda own, w, a, b, axes: own(_t(w)) if w.ndim == 2 and w.shape[0] == w.shape[1] else own()},
        named=_SIGN,
    ),
    Plant(
        "vector product the other way round", "mx.linalg.cross", {"a": lambda own, w, a, b, axis: -own()}, named=_SIGN
    ),
    Plant(
        "vector product without its sign in the jvp",
        "mx.linalg.cross",
        jvp={"b": lambda own, t, a, b, axis: -own()},
        named=_SIGN,
        at=At(("jvp",)),
        broken=frozenset({"jvp a,b"}),
    ),
    Plant(
        "inverse not transposed",
        "mx.linalg.inv",
        {
            "a": lambda own, w, a, exponent: (
                -(mx.linalg.inv(moved(a, exponent)) @ w @ mx.linalg.inv(moved(a, exponent))) * 2.0**exponent
            )
        },
        named=_SIGN,
    ),
    Plant(
        "one factor of two",
        "mx.linalg.inv",
        {"a": lambda own, w, a, exponent: -(_t(mx.linalg.inv(moved(a, exponent))) @ w)},
        named=_WRONG,
    ),
    Plant(
        "system not transposed",
        "mx.linalg.solve",
        {
            "a": lambda own, w, a, b, exponent: mx.zeros_like(a),
            "b": lambda own, w, a, b, exponent: mx.linalg.solve(moved(a, exponent), w),
        },
        named=_WRONG,
    ),
    Plant("cofactors not transposed", "mx.linalg.det", {"a": lambda own, w, a: _t(own())}, named=_SIGN),
    Plant(
        "divided by the determinant and multiplied: NaN where singular",
        "mx.linalg.det",
        {"a": lambda own, w, a: own() / mx.linalg.det(a)[..., None, None] * mx.linalg.det(a)[..., None, None]},
        named=Verdict.NAN,
        at=At(groups=("special",)),
    ),
    Plant(
        "last butterfly of the wrong sign",
        "mx.hadamard_transform",
        {"x": lambda own, w, x, scale: own(mx.where(mx.arange(w.size).reshape(w.shape) == w.size - 1, -w, w))},
        named=_SIGN,
    ),
    Plant(
        "missing conjugate",
        "mx.fft.fft",
        {
            "x": lambda own, w, x, **p: (
                mx.fft.fft(w, **p)[tuple(slice(0, n) for n in x.shape)] if w.shape == x.shape else own()
            )
        },
        named=_SIGN,
        at=_COMPLEX,
    ),
    Plant(
        "divided by n",
        "mx.fft.fft",
        {"x": lambda own, w, x, n, axis, norm: own() / (n or x.shape[axis])},
        named=_WRONG,
        at=_COMPLEX,
    ),
    Plant(
        "norm ignored",
        "mx.fft.ifft",
        {"x": lambda own, w, x, n, axis, norm: mx.vjp(lambda z: mx.fft.ifft(z, n=n, axis=axis), [x], [w])[1][0]},
        named=_WRONG,
        at=_COMPLEX,
        only=lambda row: "norm" in row["function"],
    ),
    Plant(
        "last frequency counted half where the size is odd",
        "mx.fft.rfft",
        {"x": _odd},
        named=Verdict.INACCURATE,
        at=_COMPLEX,
        only=lambda row: "n=2" not in row["function"],
    ),
    Plant("half spectrum counted twice", "mx.fft.rfft", {"x": _half}, named=_WRONG, at=_COMPLEX),
    Plant(
        "tangent conjugated",
        "mx.fft.fft",
        jvp={"x": lambda own, t, x, **p: own(mx.conjugate(t))},
        named=_SIGN,
        at=At(("vjp", "jvp"), ("complex64",)),
    ),
    Plant(
        "imaginary part dropped",
        "mx.fft.irfft",
        {"x": lambda own, w, x, **p: mx.real(own()).astype(mx.complex64)},
        named=_VANISHED,
        at=_COMPLEX,
    ),
    Plant(
        "axes of a plane exchanged",
        "mx.fft.fft2",
        {"x": lambda own, w, x, s, axes, norm: own(mx.roll(w, 1, -1))},
        named=_WRONG,
        at=_COMPLEX,
    ),
)
