"""Systems with the matrix I + A, for strictly lower triangular A.

The inverse is made by block doubling: the inverses of diagonal blocks of size s give those of blocks of size 2 s, since
the block below the diagonal is ``-X22 A21 X11``. Unlike the terms of the Neumann series, which grow without bound for
correlated keys, no number is larger than those of the inverse itself. A product with an inverse is less accurate than
substitution where solutions are small beside what cancels in them, so that each is refined once: what is left over is
solved for, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import mlx.core as mx

from audit.kernels.rules import with_rules


def unit_lower_solve(a: mx.array, b: mx.array) -> mx.array:
    """``(I + A)^-1 B``.

    Args:
        a: strictly lower triangular ``[..., C, C]``, C a power of two.
        b: ``[..., C, D]``.
    """
    return _solve(a, b)[0]


def unit_lower_inverse(a: mx.array) -> mx.array:
    """``(I + A)^-1`` of a strictly lower triangular A, ``[..., C, C]``, C a power of two."""
    size = a.shape[-1]
    places = mx.arange(size)
    inverse = mx.broadcast_to(mx.eye(size, dtype=a.dtype), a.shape)
    block = 1
    while block < size:
        # Rows of the second half of a pair of blocks, columns of the first half of the same pair.
        halves, pairs = places // block, places // (2 * block)
        below = (pairs[:, None] == pairs) & (halves[:, None] > halves)
        inverse = inverse - inverse @ mx.where(below, a, 0) @ inverse
        block *= 2
    return inverse


def _forward(a: mx.array, b: mx.array) -> list[mx.array]:
    inverse = unit_lower_inverse(a)
    return [_refined(a, b, inverse), inverse]


def _refined(a: mx.array, b: mx.array, inverse: mx.array) -> mx.array:
    x = inverse @ b
    return x + inverse @ (b - x - a @ x)


def _vjp(
    primals: Sequence[mx.array], cotangents: Sequence[mx.array], outputs: Sequence[mx.array]
) -> tuple[mx.array, mx.array]:
    a, _ = primals
    x, inverse = outputs
    db = _refined(a.swapaxes(-1, -2), cotangents[0], inverse.swapaxes(-1, -2))
    return mx.tril(-(db @ x.swapaxes(-1, -2)), -1), db


def _jvp(primals: Sequence[mx.array], tangents: Sequence[mx.array]) -> list[mx.array]:
    a, b = primals
    da, db = tangents
    x, inverse = _forward(a, b)
    return [_refined(a, db - mx.tril(da, -1) @ x, inverse), mx.zeros_like(inverse)]


_solve = with_rules(_forward, _vjp, _jvp)
