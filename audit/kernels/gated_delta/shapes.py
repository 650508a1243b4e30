"""The shapes of the gated delta rule, checked before any work."""

from __future__ import annotations

from dataclasses import dataclass

import mlx.core as mx

FLOATING = (mx.float32, mx.float16, mx.bfloat16)


@dataclass(frozen=True)
class Sizes:
    """Sizes of one call.

    Args:
        batch: B, rows.
        length: T, tokens.
        keys: Hk, heads of keys and queries.
        values: Hv, heads of values; each key serves Hv / Hk of them.
        width: Dk, of a key.
        height: Dv, of a value.
        vector: whether a gate has a number for each component of a key.
    """

    batch: int
    length: int
    keys: int
    values: int
    width: int
    height: int
    vector: bool

    @property
    def groups(self) -> int:
        """How many heads of values share a key."""
        return self.values // self.keys


def sizes(
    q: mx.array,
    k: mx.array,
    v: mx.array,
    gate: mx.array,
    beta: mx.array,
    state: mx.array | None,
    mask: mx.array | None,
    *,
    names: tuple[str, str] = ("log_g", "beta"),
) -> Sizes:
    """The sizes of a call, from arrays that fit together.

    Args:
        q, k: ``[B, T, Hk, Dk]``.
        v: ``[B, T, Hv, Dv]``, Hv a multiple of Hk.
        gate: ``[B, T, Hv]`` or ``[B, T, Hv, Dk]``.
        beta: ``[B, T, Hv]``.
        state: ``[B, Hv, Dv, Dk]`` float32, or None.
        mask: ``[B, T]`` bool, or None.
        names: what the caller calls gate and beta.

    Raises:
        ValueError: something does not fit; the message names it, its shape or dtype, and what is expected.
    """
    for name, array in (("q", q), ("k", k), ("v", v), (names[0], gate), (names[1], beta)):
        if array.dtype not in FLOATING:
            raise ValueError(f"{name} has dtype {array.dtype}: float32, float16 or bfloat16 is expected.")
    if k.ndim != 4:
        raise ValueError(f"k has shape {k.shape}: [B, T, Hk, Dk] is expected.")
    if v.ndim != 4:
        raise ValueError(f"v has shape {v.shape}: [B, T, Hv, Dv] is expected.")
    rows, length, keys, width = k.shape
    values, height = v.shape[2:]
    _expect("q", q, {(rows, length, keys, width)}, "that of k")
    if v.shape[:2] != (rows, length):
        raise ValueError(f"v has shape {v.shape}: [{rows}, {length}, Hv, Dv] is expected, as k has shape {k.shape}.")
    if not keys or values % keys:
        raise ValueError(f"v has {values} heads: a multiple of the {keys} heads of k is expected.")
    scalar = (rows, length, values)
    _expect(names[0], gate, {scalar, (*scalar, width)}, "[B, T, Hv] or [B, T, Hv, Dk]")
    _expect(names[1], beta, {scalar}, "[B, T, Hv]")
    for name, array in (("k", k), ("v", v)):
        if array.dtype != q.dtype:
            raise ValueError(f"{name} has dtype {array.dtype}: that of q, {q.dtype}, is expected.")
    if state is not None:
        _expect("state", state, {(rows, values, height, width)}, "[B, Hv, Dv, Dk]")
        if state.dtype != mx.float32:
            raise ValueError(f"state has dtype {state.dtype}: float32 is expected, as it sums over all tokens.")
    if mask is not None:
        _expect("mask", mask, {(rows, length)}, "[B, T]")
        if mask.dtype != mx.bool_:
            raise ValueError(f"mask has dtype {mask.dtype}: bool is expected, true where a token counts.")
    return Sizes(rows, length, keys, values, width, height, gate.ndim == 4)


def _expect(name: str, array: mx.array, shapes: set[tuple[int, ...]], what: str) -> None:
    if array.shape not in shapes:
        expected = " or ".join(str(shape) for shape in sorted(shapes, key=len))
        raise ValueError(f"{name} has shape {array.shape}: {expected} is expected, {what}.")
