"""Which form is used where; any of them can be asked for by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import mlx.core as mx

from audit.kernels.gated_delta.checkpointed import checkpointed
from audit.kernels.gated_delta.chunked import chunked
from audit.kernels.gated_delta.recurrent import Result, recurrent
from audit.kernels.gated_delta.reverse import reverse

Form = Callable[..., Result]

FORMS: Mapping[str, Form] = MappingProxyType(
    {"recurrent": recurrent, "checkpointed": checkpointed, "reverse": reverse, "chunked": chunked}
)
"""Every form by name; all have the signature of `recurrent`."""

DEFAULT = "chunked"


def choose(name: str | None, length: int) -> Form:
    """The form of that name; without one, the default, or for a single token the recurrence, which is one step.

    Raises:
        ValueError: there is no form of that name.
    """
    if name is None:
        return FORMS["recurrent" if length == 1 else DEFAULT]
    if name not in FORMS:
        raise ValueError(f"There is no form {name!r} of the gated delta rule: {', '.join(FORMS)} are there.")
    return FORMS[name]


def gated_delta(
    q: mx.array,
    k: mx.array,
    v: mx.array,
    log_g: mx.array,
    beta: mx.array,
    state: mx.array | None = None,
    mask: mx.array | None = None,
    *,
    form: str | None = None,
) -> Result:
    """The gated delta rule of gates and step sizes that are there already.

    Args:
        q, k, v, log_g, beta, state, mask: as for `recurrent`.
        form: which form computes it; the best one if None.

    Returns:
        y ``[B, T, Hv, Dv]`` in the dtype of q, and the state ``[B, Hv, Dv, Dk]`` in float32.

    Raises:
        ValueError: shapes or dtypes do not fit, or there is no such form.
    """
    return choose(form, k.shape[1] if k.ndim > 1 else 0)(q, k, v, log_g, beta, state, mask)
