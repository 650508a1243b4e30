"""Wrong derivatives of what takes, moves, repeats and joins elements."""
# ruff: noqa: ARG005  every piece takes the weight, the operands and the parameters, whether it reads them or not

from __future__ import annotations

from typing import Any

import mlx.core as mx

from audit.verdict import Verdict
from cases.indices import to_mlx
from planted.plant import At, Plant, pulled, pushed

_BASE = At(groups=("range", "special"))
_BOTH = At(("vjp", "jvp"))
_WRONG, _SIGN, _NONZERO, _VANISHED = Verdict.WRONG, Verdict.SIGN, Verdict.NONZERO, Verdict.VANISHED


def _eps(x: mx.array) -> float:
    return {mx.float16: 2.0**-10, mx.bfloat16: 2.0**-7, mx.float32: 2.0**-23}[x.dtype]


def _put(w: mx.array, x: mx.array, indices: Any, axis: Any) -> mx.array:
    """Zeros with the cotangents at their indices; of two at one place the last stays."""
    found = mx.zeros_like(x)
    found[(slice(None),) * (axis % x.ndim) + (to_mlx(indices),)] = w
    return found


def _at_the_start(w: mx.array, x: mx.array) -> mx.array:
    found = mx.zeros_like(x)
    found[tuple(slice(0, n) for n in w.shape)] = w
    return found


def _middle(x: mx.array, pad_width: Any) -> tuple[slice, ...]:
    """Where an array lies in its padded form, padded by pairs."""
    return tuple(slice(low, low + n) for n, (low, _) in zip(x.shape, pad_width, strict=True))


def _first_copy(w: mx.array, x: mx.array) -> mx.array:
    w = w.reshape(-1)[: x.size] if w.size >= x.size else mx.zeros(x.size, w.dtype)
    return w.reshape(x.shape)


def _shifted(x: mx.array, shift: Any, axis: Any) -> mx.array:
    return mx.roll(x, tuple(-s for s in shift) if isinstance(shift, tuple) else -shift, axis)


def _parts(arrays: tuple[mx.array, ...], axis: Any) -> list[mx.array]:
    return [a.reshape(-1) for a in arrays] if axis is None else list(arrays)


def _in_reverse(*arrays: mx.array, axis: Any) -> mx.array:
    return mx.concatenate(_parts(arrays, axis)[::-1], 0 if axis is None else axis)


WRONG_INDEXING = (
    Plant(
        "last of repeated indices wins",
        "mx.take",
        {"x": lambda own, w, x, indices, axis: _put(w, x, indices, axis)},
        named=_WRONG,
        at=_BASE,
        only=lambda row: row["element"] % 4 == 2,
    ),
    Plant(
        "repeated indices averaged",
        "mx.take",
        {"x": lambda own, w, x, **p: own() / mx.maximum(own(mx.ones_like(w)), 1)},
        named=_WRONG,
        at=_BASE,
        only=lambda row: row["element"] % 4 == 2,
    ),
    Plant("no gradient at all", "mx.take", {"x": lambda own, w, x, **p: mx.zeros_like(x)}, named=_VANISHED, at=_BASE),
    Plant(
        "first element of the axis counted twice",
        "mx.take_along_axis",
        {"x": lambda own, w, x, **p: own() * (1 + (mx.arange(x.size).reshape(x.shape) == 0))},
        named=_WRONG,
        only=lambda row: row["element"] == 0,
    ),
    Plant(
        "last of repeated indices wins",
        "mx.take_along_axis",
        {"x": lambda own, w, x, indices, axis: mx.put_along_axis(mx.zeros_like(x), to_mlx(indices), w, axis)},
        named=_WRONG,
        at=_BASE,
    ),
    Plant(
        "array not masked where values were put",
        "mx.put_along_axis",
        {"a": lambda own, w, *rest, **p: w},
        named=_NONZERO,
    ),
    Plant(
        "values read at the start",
        "mx.put_along_axis",
        {"values": lambda own, w, a, values, **p: own(mx.roll(w, 1, 0))},
        named=_SIGN,
    ),
    Plant("start ignored", "mx.slice", {"a": lambda own, w, a, **p: _at_the_start(w, a)}, named=_NONZERO),
    Plant(
        "array not masked under the update",
        "mx.slice_update",
        {"a": lambda own, w, *rest, **p: w},
        named=_NONZERO,
    ),
    Plant(
        "tangent of the update dropped",
        "mx.slice_update",
        jvp={"update": lambda own, t, a, update, **p: mx.zeros_like(a)},
        named=_VANISHED,
        at=_BOTH,
    ),
    Plant(
        "takes the start, not the middle",
        "mx.pad",
        {"x": lambda own, w, x, **p: w[tuple(slice(0, n) for n in x.shape)]},
        named=_SIGN,
    ),
    Plant(
        "margin of copies dropped",
        "mx.pad[edge]",
        {"x": lambda own, w, x, pad_width, mode: w[_middle(x, pad_width)]},
        named=_WRONG,
        at=_BASE,
        # One row before the first, two columns before and one after: all but the middle of the second row is summed.
        only=lambda row: row["element"] != 4,
    ),
    Plant(
        "margin of copies averaged",
        "mx.pad[edge]",
        {"x": lambda own, w, x, **p: own() / own(mx.ones_like(w))},
        named=_WRONG,
    ),
    Plant(
        "second read where the first lies",
        "mx.concatenate",
        {
            "b": lambda own, w, a, b, c, axis: mx.vjp(
                lambda y: mx.concatenate(_parts((y, a, c), axis), 0 if axis is None else axis), [b], [w]
            )[1][0]
        },
        named=_SIGN,
    ),
    Plant(
        "tangents joined in reverse",
        "mx.concatenate",
        jvp={name: pushed(_in_reverse, place) for place, name in enumerate("abc")},
        named=_WRONG,
        at=At(("jvp",)),
        broken=frozenset({"jvp a,b,c"}),
    ),
    Plant(
        "double counting",
        "mx.concatenate[twice]",
        {"a": lambda own, w, a, b: own() * 2},
        named=_WRONG,
    ),
    Plant(
        "one of two places forgotten",
        "mx.concatenate[twice]",
        {"a": lambda own, w, a, b: w[:, : a.shape[1]]},
        named=_WRONG,
    ),
    Plant("turned once more", "mx.flip", {"x": lambda own, w, x, axis: w}, named=_SIGN),
    Plant(
        "shifted on, not back", "mx.roll", {"x": lambda own, w, x, shift, axis: mx.roll(w, shift, axis)}, named=_SIGN
    ),
    Plant(
        "tangents shifted back",
        "mx.roll",
        jvp={"x": lambda own, t, x, shift, axis: _shifted(t, shift, axis)},
        named=_SIGN,
        at=_BOTH,
    ),
    Plant(
        "first copy only",
        "mx.tile",
        {"x": lambda own, w, x, reps: _first_copy(w, x)},
        named=_WRONG,
    ),
    Plant(
        "order of a tile",
        "mx.repeat",
        {
            "x": pulled(
                lambda x, repeats, axis: (
                    mx.concatenate([x.reshape(-1) if axis is None else x] * repeats, 0 if axis is None else axis)
                    if repeats
                    else mx.repeat(x, 0, axis)
                )
            )
        },
        named=_WRONG,
    ),
    Plant(
        "permutation in place of its inverse",
        "mx.transpose",
        {"x": lambda own, w, x, axes: mx.transpose(w, axes).reshape(x.shape)},
        named=_SIGN,
        only=lambda row: "axes=None" not in row["function"] and "axes=(1, 0)" not in row["function"],
    ),
    Plant(
        "20 ulp too many",
        "mx.transpose",
        {"x": lambda own, w, *rest, **p: own() * (1 + 20 * _eps(w))},
        named=Verdict.INACCURATE,
        at=At(formats=("float16", "bfloat16", "float32")),
    ),
    Plant(
        "axes moved back where they came from",
        "mx.moveaxis",
        {"x": lambda own, w, x, source, destination: mx.moveaxis(w, source, destination).reshape(x.shape)},
        named=_SIGN,
    ),
    Plant(
        "mean in place of the sum",
        "mx.broadcast_to",
        {"x": lambda own, w, x, shape: own() / (w.size / max(x.size, 1))},
        named=_WRONG,
    ),
    Plant(
        "axes in front not summed",
        "mx.broadcast_to",
        {"x": lambda own, w, x, shape: w},
        named=Verdict.SHAPE,
    ),
    Plant(
        "condition ignored",
        "mx.where",
        {
            "x": lambda own, w, x, y, condition: (
                own(w) + mx.vjp(lambda z: mx.where(mx.array(condition), y, z), [x], [w])[1][0]
            )
        },
        named=_NONZERO,
    ),
    Plant(
        "branches exchanged in the jvp",
        "mx.where",
        jvp={"x": pushed(lambda x, y, condition: mx.where(mx.array(condition), y, x), 0)},
        named=_VANISHED,
        at=_BOTH,
    ),
    Plant(
        "gradient of the wider type",
        "mx.where",
        {"x": lambda own, w, *rest, **p: own().astype(mx.float32)},
        named=Verdict.DTYPE,
        at=At(formats=("float16",)),
    ),
)
