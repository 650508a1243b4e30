"""Other ways to round a right value than to nearest: all are faithful, and none is an error."""

from __future__ import annotations

from collections.abc import Callable

import mlx.core as mx

from audit.formats import lookup
from planted.rule import Piece

Away = Callable[[mx.array, mx.array], mx.array]
"""Of the exact value and its nearest number (both float64): whether the one further from zero is taken instead."""

_UNSIGNED = {mx.float16: mx.uint16, mx.bfloat16: mx.uint16, mx.float32: mx.uint32}


def rounded(piece: Piece, away: Away) -> Piece:
    """A piece whose float64 value is rounded to the number that is further from zero, or nearer, as told."""

    def rounding(w: mx.array, *primals: mx.array) -> mx.array:
        value = piece(w, *primals)
        nearest = value.astype(w.dtype)
        back = mx.abs(nearest.astype(mx.float64))
        inexact = mx.isfinite(value) & (back != mx.abs(value))
        take = away(value, nearest.astype(mx.float64))
        grow = inexact & take & (back < mx.abs(value))
        shrink = inexact & ~take & (back > mx.abs(value))
        unsigned = _UNSIGNED[w.dtype]
        bits = nearest.view(unsigned) + grow.astype(unsigned) - shrink.astype(unsigned)
        return bits.view(w.dtype)

    return rounding


def toward_zero(value: mx.array, _: mx.array) -> mx.array:
    """Truncation."""
    return mx.zeros_like(value).astype(mx.bool_)


def away_from_zero(value: mx.array, _: mx.array) -> mx.array:
    """The larger magnitude."""
    return mx.ones_like(value).astype(mx.bool_)


def upward(value: mx.array, _: mx.array) -> mx.array:
    """Toward plus infinity."""
    return value > 0


def downward(value: mx.array, _: mx.array) -> mx.array:
    """Toward minus infinity."""
    return value < 0


def other_neighbour(value: mx.array, nearest: mx.array) -> mx.array:
    """The number on the other side, which is up to one ulp off."""
    return mx.abs(nearest) < mx.abs(value)


def other_subnormal(name: str) -> Away:
    """To nearest among normal numbers, to the other side among subnormal ones."""
    edge = lookup(name).smallest_normal

    def away(value: mx.array, nearest: mx.array) -> mx.array:
        other = mx.abs(nearest) < mx.abs(value)
        return mx.where(mx.abs(value) < edge, other, ~other)

    return away
