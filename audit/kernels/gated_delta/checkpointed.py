"""The recurrence with `mx.checkpoint`: the state before each chunk is kept, all that is in it is computed again."""

from __future__ import annotations

import mlx.core as mx

from audit.kernels.gated_delta.recurrent import Result, recurrent
from audit.kernels.gated_delta.shapes import sizes

CHUNK = 64


def checkpointed(
    q: mx.array,
    k: mx.array,
    v: mx.array,
    log_g: mx.array,
    beta: mx.array,
    state: mx.array | None = None,
    mask: mx.array | None = None,
) -> Result:
    """Outputs and last state, as `recurrent` has them.

    Raises:
        ValueError: shapes or dtypes do not fit.
    """
    size = sizes(q, k, v, log_g, beta, state, mask)
    if state is None:
        state = mx.zeros((size.batch, size.values, size.height, size.width))
    results = []
    for start in range(0, size.length, CHUNK):
        part = slice(start, start + CHUNK)
        given = [x[:, part] for x in (q, k, v, log_g, beta)]
        given += [state] if mask is None else [state, mask[:, part]]
        y, state = mx.checkpoint(recurrent)(*given)
        results.append(y)
    return (mx.concatenate(results, axis=1) if results else mx.zeros(v.shape, q.dtype)), state
