"""Wrong derivatives of a / b, one a defect."""
# ruff: noqa: ARG005  every piece takes the weight and both operands, whether it reads them or not

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from audit.formats import lookup
from audit.verdict import Verdict
from planted.points import SECOND_ORDER
from planted.rule import RIGHT, Piece, Rule, wide

_COTANGENT_A, _COTANGENT_B, _TANGENT_A, _TANGENT_B = RIGHT["divide"].values()
_ARRAYS = ("broadcast range", "matrix", "strided views")
_WIDE_RANGE = ("bfloat16", "float32")


def _rule(name: str, named: Verdict, /, formats: tuple[str, ...] | None = None, **given: Any) -> Rule:
    """Pieces are given by keywords: ``vjp_b=...`` replaces the part ``"vjp b"``."""
    options = {key: given.pop(key) for key in ("broken", "families", "broadcast", "vmap") if key in given}
    pieces = {key.replace("_", " "): piece for key, piece in given.items()}
    if formats is not None:
        options["formats"] = formats
    return Rule(name, "divide", pieces, named, **options)


def _b(change: Callable[[mx.array, mx.array, mx.array, mx.array], mx.array]) -> Piece:
    """The right derivative by b, changed: ``change(right, w, a, b)``, all in float64."""
    return wide(lambda w, a, b: change(_COTANGENT_B(w, a, b), w, a, b))


def _after_rounding(change: Callable[[mx.array], mx.array]) -> Piece:
    return lambda w, a, b: change(_COTANGENT_B(w, a, b).astype(b.dtype))


def _smallest_normal(x: mx.array) -> float:
    return lookup(str(x.dtype).removeprefix("mlx.core.")).smallest_normal


def _flushed(x: mx.array) -> mx.array:
    return mx.where(mx.abs(x) < _smallest_normal(x), mx.zeros_like(x), x)


def _eps(x: mx.array) -> float:
    return 2.0 ** (1 - lookup(str(x.dtype).removeprefix("mlx.core.")).precision)


@dataclass
class _Stale:
    """The right derivative with one operand (0 is the weight) of the call before, where that had the same shape."""

    right: Piece
    operand: int = 0
    last: mx.array | None = None

    def __call__(self, *operands: mx.array) -> mx.array:
        known, self.last = self.last, operands[self.operand]
        if known is None or known.shape != self.last.shape:
            return self.right(*operands)
        return self.right(*operands[: self.operand], known, *operands[self.operand + 1 :])


@dataclass
class _Accumulating:
    """The right derivative added to those of the calls before, as if the gradient had not been set to zero."""

    right: Piece
    sum: mx.array | None = None

    def __call__(self, w: mx.array, a: mx.array, b: mx.array) -> mx.array:
        now = self.right(w, a, b)
        before = self.sum if self.sum is not None and self.sum.shape == now.shape else mx.zeros_like(now)
        total = now + before
        self.sum = total
        return total


def _raise(*_: Any) -> Any:
    message = "no derivative today"
    raise ValueError(message)


def _missing(*_: Any) -> Any:
    message = "[Divide] vjp not implemented"
    raise NotImplementedError(message)


def _second_row_as_first(x: mx.array) -> mx.array:
    return mx.concatenate([x[:1], x[:1], x[2:]]) if x.ndim > 1 and len(x) > 1 else x


def _summed_to(x: mx.array, shape: tuple[int, ...]) -> mx.array:
    axes = [axis for axis, size in enumerate(shape) if size == 1 and x.shape[axis] != 1]
    return x.sum(axis=axes, keepdims=True) if axes else x


def _unreduced(reduce: Callable[[mx.array, tuple[int, ...]], mx.array]) -> Piece:
    """A whole vjp that sees operands before they are broadcast, and reduces the cotangent of b by itself."""

    def vjp(g: mx.array, primals: tuple[mx.array, ...]) -> tuple[mx.array, ...]:
        a, b = primals
        to_a, to_b = _COTANGENT_A(g, a, b), _COTANGENT_B(g, a, b)
        return _summed_to(to_a, a.shape).astype(a.dtype), reduce(to_b, b.shape).astype(b.dtype)

    return vjp


def _joint(tangents: tuple[mx.array | None, ...], primals: tuple[mx.array, ...]) -> mx.array:
    """Forgets the tangent of a where b has one too."""
    ta, tb = tangents
    value = _TANGENT_A(ta, *primals) if tb is None else _TANGENT_B(tb, *primals)
    return value.astype(primals[0].dtype)


def _none_as_one(tangents: tuple[mx.array | None, ...], primals: tuple[mx.array, ...]) -> mx.array:
    ta, tb = (mx.ones_like(primals[0]) if t is None else t for t in tangents)
    return (_TANGENT_A(ta, *primals) + _TANGENT_B(tb, *primals)).astype(primals[0].dtype)


def _swapped(g: mx.array, primals: tuple[mx.array, ...]) -> tuple[mx.array, ...]:
    return tuple(piece(g, *primals).astype(g.dtype) for piece in (_COTANGENT_B, _COTANGENT_A))


def _with_b(change: Callable[[mx.array], mx.array]) -> Piece:
    """A whole vjp whose cotangent of b is rounded to the format and then changed."""

    def vjp(g: mx.array, primals: tuple[mx.array, ...]) -> tuple[mx.array, ...]:
        return _COTANGENT_A(g, *primals).astype(g.dtype), change(_COTANGENT_B(g, *primals).astype(g.dtype))

    return vjp


def _doubtful(w: mx.array, a: mx.array, b: mx.array) -> mx.array:
    quotient = a / b
    return _COTANGENT_B(w, a, b) + (quotient - quotient)


def _as(dtype: mx.Dtype) -> Piece:
    return _with_b(lambda r: r.astype(dtype))


def _divided_in(dtype: mx.Dtype) -> Piece:
    return lambda w, a, b: w.astype(dtype) / b.astype(dtype)


def _but_the_last(x: mx.array) -> mx.array:
    return mx.arange(x.size).reshape(x.shape) < x.size - 1


_JOINT = frozenset({"jvp a,b"})
_ALONE = frozenset({"jvp a", "jvp b"})
_VJPS = frozenset({"vjp a", "vjp b"})
_VJP_B, _SECOND = frozenset({"vjp b"}), frozenset({"second"})
_NAN, _SIGN, _WRONG, _VANISHED = Verdict.NAN, Verdict.SIGN, Verdict.WRONG, Verdict.VANISHED
_OVERFLOWED, _INACCURATE, _NONZERO = Verdict.OVERFLOWED, Verdict.INACCURATE, Verdict.NONZERO

WRONG_QUOTIENTS = (
    _rule("sign of the vjp for b", _SIGN, vjp_b=_b(lambda r, w, a, b: -r)),
    _rule("sign of the jvp for b", _SIGN, jvp_b=_b(lambda r, w, a, b: -r)),
    _rule("twice the vjp for b", _WRONG, vjp_b=_b(lambda r, w, a, b: 2 * r)),
    _rule("half the jvp for a", _WRONG, jvp_a=wide(lambda t, a, b: t / b / 2)),
    _rule("no conjugate in the vjp for a", _SIGN, formats=("complex64",), vjp_a=lambda g, a, b: g / b),
    _rule("no conjugate in the vjp for b", _SIGN, formats=("complex64",), vjp_b=lambda g, a, b: -g * a / (b * b)),
    _rule("conjugate in the jvp for a", _WRONG, formats=("complex64",), jvp_a=lambda t, a, b: mx.conjugate(t) / b),
    _rule("no gradient for b", _VANISHED, vjp_b=lambda g, a, b: mx.zeros_like(b)),
    _rule("no tangent of b", _VANISHED, jvp_b=lambda t, a, b: mx.zeros_like(b)),
    _rule("joint jvp drops its first term", _WRONG, jvp=_joint, broken=_JOINT),
    _rule("tangent None read as one", _WRONG, jvp=_none_as_one, broken=_ALONE),
    _rule("denominator squared in the vjp", _OVERFLOWED, vjp_b=lambda g, a, b: -g * a / (b * b)),
    _rule("denominator squared in the jvp", _VANISHED, jvp_b=lambda t, a, b: -t * (a / (b * b))),
    _rule("quotient rounded before it is used", _VANISHED, vjp_b=lambda g, a, b: -g * (a / b) / b),
    _rule("both quotients rounded", _OVERFLOWED, vjp_b=lambda g, a, b: -(g / b) * (a / b)),
    _rule("reciprocal rounded before it is used", _OVERFLOWED, vjp_a=lambda g, a, b: g * (1 / b)),
    _rule("denominator squared in the vjp for a", _WRONG, vjp_a=wide(lambda g, a, b: g / (b * b))),
    _rule("cotangents swapped", _WRONG, vjp=_swapped, broken=_VJPS),
    _rule("primals swapped in the vjp for b", _WRONG, vjp_b=_b(lambda r, w, a, b: _COTANGENT_B(w, b, a + (a == 0)))),
    _rule("cotangent read as one", _WRONG, vjp_b=_b(lambda r, w, a, b: _COTANGENT_B(mx.ones_like(w), a, b))),
    _rule(
        "broadcast sum missing", Verdict.SHAPE, families=("broadcast range",), broken=_VJP_B, broadcast=False,
        vjp=_unreduced(lambda x, shape: x),
    ),
    _rule(
        "first row in place of the broadcast sum", _WRONG, families=("broadcast range",), broken=_VJP_B,
        broadcast=False, vjp=_unreduced(lambda x, shape: x[:1]),
    ),
    _rule(
        "broadcast sum along the wrong axis", Verdict.SHAPE, families=("broadcast range",), broken=_VJP_B,
        broadcast=False, vjp=_unreduced(lambda x, shape: x.sum(axis=1, keepdims=True)),
    ),
    _rule(
        "mean in place of the broadcast sum", _WRONG, families=("broadcast range",), broken=_VJP_B, broadcast=False,
        vjp=_unreduced(lambda x, shape: x.mean(axis=0, keepdims=True)),
    ),
    _rule("cotangent read in the wrong order", _WRONG, vjp_a=wide(lambda g, a, b: g.T.reshape(g.shape) / b)),
    _rule("row 1 read as row 0", _WRONG, vjp_b=_b(lambda r, w, a, b: _COTANGENT_B(w, _second_row_as_first(a), b))),
    _rule(
        "mapped rows all read row 0 of b", _WRONG, families=("vmap axis 0", "vmap axis 1"), broken=_VJPS | _JOINT,
        vmap=lambda a, b: [a, mx.broadcast_to(b[:1], b.shape)],
    ),
    _rule("last element left out", _VANISHED, vjp_a=wide(lambda g, a, b: g / b * _but_the_last(g))),
    _rule("24 ulp too many", _INACCURATE, vjp_b=lambda g, a, b: _COTANGENT_B(g, a, b) * (1 + 24 * _eps(b))),
    _rule("20 ulp too few in the jvp", _INACCURATE, jvp_a=lambda t, a, b: _TANGENT_A(t, a, b) * (1 - 20 * _eps(b))),
    _rule("NaN where the numerator is zero", _NAN, vjp_b=wide(lambda g, a, b: -g * mx.square(a / b) / a)),
    _rule("NaN where the quotient overflows", _NAN, vjp_b=_doubtful),
    _rule("subnormal results flushed to zero", _VANISHED, vjp_b=_after_rounding(_flushed)),
    _rule("subnormal numerators read as zero", _VANISHED, vjp_b=lambda g, a, b: _COTANGENT_B(g, _flushed(a), b)),
    _rule("subnormal denominators read as zero", _OVERFLOWED, jvp_a=lambda t, a, b: _TANGENT_A(t, a, _flushed(b))),
    _rule("subnormal cotangents read as zero", _VANISHED, vjp_a=lambda g, a, b: _COTANGENT_A(_flushed(g), a, b)),
    _rule("not zero where it should be", _NONZERO, vjp_b=_after_rounding(lambda r: r + 2 * _smallest_normal(r))),
    _rule("tangent of the call before", _INACCURATE, jvp_a=_Stale(_TANGENT_A), broken=_JOINT),
    _rule("numerator of the call before", _WRONG, vjp_b=_Stale(_COTANGENT_B, operand=1)),
    _rule("gradients added up over calls", _WRONG, vjp_b=_Accumulating(_COTANGENT_B)),
    _rule("an axis too many", Verdict.SHAPE, vjp=_with_b(lambda r: r[None]), broken=_VJP_B, families=_ARRAYS),
    _rule("dtype wider than the input", Verdict.DTYPE, ("float16",), vjp=_as(mx.float32), broken=_VJP_B),
    _rule("dtype narrower than the input", Verdict.DTYPE, ("float32",), vjp=_as(mx.float16), broken=_VJP_B),
    _rule("clamped denominator", _WRONG, vjp_a=wide(lambda g, a, b: g / (mx.sign(b) * mx.maximum(mx.abs(b), 1e-6)))),
    _rule("epsilon beside the squared denominator", _WRONG, vjp_b=wide(lambda g, a, b: -g * a / (b * b + 1e-12))),
    _rule("abs(b) in place of b", _SIGN, vjp_a=wide(lambda g, a, b: g / mx.abs(b))),
    _rule("abs(g) in place of g", _SIGN, vjp_b=_b(lambda r, w, a, b: _COTANGENT_B(mx.abs(w), a, b))),
    _rule("zero for negative cotangents", _VANISHED, vjp_a=wide(lambda g, a, b: mx.maximum(g, 0) / b)),
    _rule("wrong only for b exactly 1", _WRONG, vjp_b=_b(lambda r, w, a, b: mx.where(b == 1, 3 * r, r))),
    _rule("saturates beyond 1e30", _WRONG, _WIDE_RANGE, vjp_b=_b(lambda r, w, a, b: mx.clip(r, -1e30, 1e30))),
    _rule("computed in bfloat16", _INACCURATE, ("float32",), vjp_a=_divided_in(mx.bfloat16)),
    _rule("computed in float16", _OVERFLOWED, _WIDE_RANGE, jvp_a=_divided_in(mx.float16)),
    _rule("right vjp, jvp for b three times too large", _WRONG, jvp_b=_b(lambda r, w, a, b: 3 * r)),
    _rule(
        "detached: no second derivative", _VANISHED, broken=_SECOND, families=SECOND_ORDER,
        vjp_b=lambda g, a, b: mx.stop_gradient(_COTANGENT_B(g, a, b)),
    ),
    _rule(
        "detached denominator: half of the second derivative", _VANISHED, broken=_SECOND, families=SECOND_ORDER,
        vjp_a=wide(lambda g, a, b: g / mx.stop_gradient(b)),
    ),
    _rule("raises", Verdict.RAISES, vjp=_raise, broken=_VJPS),
    _rule("has no vjp", Verdict.UNIMPLEMENTED, vjp=_missing, broken=_VJPS),
)  # fmt: skip
