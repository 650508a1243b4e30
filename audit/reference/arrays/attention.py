"""Attention, rotary positions and the two normalisations of the last axis, as in ``mx.fast``."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from audit.reference.arrays.axes import elements


def scaled_dot_product_attention(
    m: Any, q: Any, k: Any, v: Any, scale: Any = 1, mask: Any = None, sinks: Any = None
) -> Any:
    """``softmax(scale * q @ k.T + mask) @ v``.

    Args:
        m: the arithmetic.
        q: ``[B, heads, T, D]``.
        k, v: ``[B, heads / groups, S, D]``; each head of them serves `groups` heads of q.
        scale: factor of the products.
        mask: None, ``"causal"`` (the last query sees every key), an array of truth values (where a key is seen), or
            numbers that are added, of a shape that broadcasts to ``[B, heads, T, S]``.
        sinks: for each head the logarithm of what is added to the sum of the exponentials.
    """
    q, k, v = elements(q), elements(k), elements(v)
    groups = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, groups, axis=1), np.repeat(v, groups, axis=1)
    scores = elements(m.multiply(m.matmul(q, np.swapaxes(k, -1, -2)), scale))
    if isinstance(mask, str):
        queries, keys = scores.shape[-2:]
        mask = np.arange(keys)[None, :] <= np.arange(queries)[:, None] + keys - queries
    if mask is not None and np.asarray(mask).dtype == bool:
        powers = elements(m.where(mask, m.exp(scores), 0))
    else:
        powers = elements(m.exp(scores if mask is None else m.add(scores, mask)))
    total = m.sum(powers, -1, keepdims=True)
    if sinks is not None:
        total = m.add(total, m.exp(elements(sinks).reshape(1, -1, 1, 1)))
    return m.matmul(m.divide(powers, total), v)


def rms_norm(m: Any, x: Any, weight: Any = None, eps: Any = 0) -> Any:
    """``x / sqrt(mean(x**2) + eps) * weight`` along the last axis."""
    x = elements(x)
    result = m.multiply(x, m.rsqrt(m.add(m.mean(m.square(x), -1, keepdims=True), eps)))
    return result if weight is None else m.multiply(result, weight)


def layer_norm(m: Any, x: Any, weight: Any = None, bias: Any = None, eps: Any = 0) -> Any:
    """``(x - mean(x)) / sqrt(var(x) + eps) * weight + bias`` along the last axis."""
    x = elements(x)
    centred = m.subtract(x, m.mean(x, -1, keepdims=True))
    result = m.multiply(centred, m.rsqrt(m.add(m.mean(m.square(centred), -1, keepdims=True), eps)))
    if weight is not None:
        result = m.multiply(result, weight)
    return result if bias is None else m.add(result, bias)


def rope(
    m: Any,
    x: Any,
    dims: int,
    *,
    traditional: bool = False,
    base: Any = 10000,
    scale: Any = 1,
    offset: Any = 0,
    freqs: Any = None,
) -> Any:
    """Pairs of the first `dims` features turned by angles that grow with the position.

    The angle of pair i at position t is ``scale * (offset + t) / f_i``, with ``f_i = base**(2 i / dims)`` or given.

    Args:
        m: the arithmetic.
        x: ``[B, ..., T, D]``.
        dims: how many features are turned.
        traditional: pairs are neighbours, rather than from one half and the other.
        base, freqs: what the angles are divided by.
        scale, offset: of positions; an offset may be an array, one for each of the batch.
    """
    x = elements(x)
    half = dims // 2
    slow = [m.power(base, Fraction(2 * i, dims)) for i in range(half)] if freqs is None else list(elements(freqs))
    first = np.asarray(offset, object)
    starts = first.reshape(-1, *[1] * (x.ndim - 2)) if first.ndim else first
    positions = m.multiply(m.add(starts, np.arange(x.shape[-2]).astype(object)), scale)
    angles = m.divide(elements(positions)[..., None], np.array(slow, object))
    cos, sin = m.cos(angles), m.sin(angles)
    turned, rest = x[..., :dims], x[..., dims:]
    a, b = (turned[..., 0::2], turned[..., 1::2]) if traditional else (turned[..., :half], turned[..., half:])
    left = elements(m.subtract(m.multiply(a, cos), m.multiply(b, sin)))
    right = elements(m.add(m.multiply(a, sin), m.multiply(b, cos)))
    pairs = np.stack([left, right], -1).reshape(turned.shape) if traditional else np.concatenate([left, right], -1)
    return np.concatenate([pairs, rest], -1)


ATTENTION = {
    "scaled_dot_product_attention": scaled_dot_product_attention, "rms_norm": rms_norm, "layer_norm": layer_norm,
    "rope": rope,
}  # fmt: skip
