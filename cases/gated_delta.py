"""The gated delta rule: a state that decays and is corrected by each key and value, read by each query."""

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Values

_ARGUMENTS = ("q", "k", "v", "gamma", "beta", "initial_state")
_SHAPES = (
    ((1, 2, 1, 2), (1, 2, 1, 2), (1, 2, 1, 2), (1, 2, 1), (1, 2, 1), (1, 1, 2, 2)),
    ((1, 3, 1, 1), (1, 3, 1, 1), (1, 3, 2, 2), (1, 3, 2), (1, 3, 2), (1, 2, 2, 1)),
    ((2, 1, 1, 2), (2, 1, 1, 2), (2, 1, 1, 1), (2, 1, 1), (2, 1, 1), (2, 1, 1, 2)),
)
_ROUNDINGS = Tolerance(terms=8, reason="each step rounds a decay, a dot product, a difference, two products and a sum")
_BETWEEN = Values(low=0.0, high=1.0, singular=(0.0, 1.0))
# Products of five of them stay within every format.
_NEAR = Values(exponents=(-5, 3))
_VALUES = {"gamma": _BETWEEN, "beta": _BETWEEN, **dict.fromkeys(("q", "k", "v"), _NEAR)}
Mask = tuple[bool, ...] | None


def _scan(m: Any, q: Any, k: Any, v: Any, gamma: Any, beta: Any, state: Any, mask: Mask = None) -> tuple[Any, Any]:
    """Results ``[B, T, H, Dv]`` and the last state ``[B, H, Dv, Dk]``.

    With S the state: ``S <- gamma S``, then ``S <- S + beta (v - S k) k^T``, then ``o = S q`` (Yang, Kautz and
    Hatamizadeh, Gated Delta Networks, 2024). Each key and query serves ``H / Hk`` heads. A masked step leaves the
    state as it is and gives zero.
    """
    groups = v.shape[2] // q.shape[2]
    q, k = np.repeat(q, groups, axis=2), np.repeat(k, groups, axis=2)
    results = []
    for t in range(q.shape[1]):
        if mask is not None and not mask[t]:
            results.append(np.full(v[:, t].shape, 0, object))
            continue
        key, query = k[:, t, :, None, :], q[:, t, :, None, :]
        state = m.multiply(gamma[:, t, :, None, None], state)
        missing = m.subtract(v[:, t], m.sum(m.multiply(state, key), -1))
        change = m.multiply(beta[:, t, :, None], missing)
        state = m.add(state, m.multiply(change[..., None], key))
        results.append(m.sum(m.multiply(state, query), -1))
    return np.stack(results, axis=1), state


def _call(*arrays: Any, output: int) -> mx.array:
    return mx.fast.gated_delta_update(*arrays)[output]


def _call_masked(*arrays: Any, mask: Mask) -> mx.array:
    return mx.fast.gated_delta_update(*arrays, mask=None if mask is None else mx.array([mask]))[0]


def _masked(m: Any, *arrays: Any, mask: Mask) -> Any:
    q, k, v, gamma, beta = arrays
    state = np.full((v.shape[0], v.shape[2], v.shape[3], k.shape[3]), 0, object)
    return _scan(m, q, k, v, gamma, beta, state, mask)[0]


OPERATIONS = (
    Operation(
        name="mx.fast.gated_delta_update",
        arguments=_ARGUMENTS,
        call=lambda *arrays: _call(*arrays, output=0),
        body=lambda m, *arrays: _scan(m, *arrays)[0],
        shapes=_SHAPES,
        values=_VALUES | {"initial_state": _NEAR},
        symmetries=(Homogeneous({"q": 1}),),
        tolerance=_ROUNDINGS,
        slow=True,
        text="mx.fast.gated_delta_update(q, k, v, gamma, beta, initial_state)[0]",
    ),
    Operation(
        name="mx.fast.gated_delta_update[state]",
        arguments=_ARGUMENTS,
        # The state is in float32, whatever goes into it.
        call=lambda *arrays: _call(*arrays, output=1).astype(arrays[2].dtype),
        body=lambda m, *arrays: _scan(m, *arrays)[1],
        shapes=_SHAPES[:2],
        values=_VALUES | {"initial_state": _NEAR},
        tolerance=_ROUNDINGS,
        slow=True,
        text="mx.fast.gated_delta_update(q, k, v, gamma, beta, initial_state)[1].astype(v.dtype)",
    ),
    Operation(
        name="mx.fast.gated_delta_update[mask]",
        arguments=_ARGUMENTS[:5],
        call=_call_masked,
        body=_masked,
        shapes=(((1, 3, 1, 1), (1, 3, 1, 1), (1, 3, 1, 2), (1, 3, 1), (1, 3, 1)),),
        parameters={"mask": (None, (True, False, True), (False, True, True))},
        values=_VALUES,
        tolerance=_ROUNDINGS,
        slow=True,
        text="mx.fast.gated_delta_update(q, k, v, gamma, beta, mask={mask} and mx.array([{mask}]))[0]",
    ),
)
