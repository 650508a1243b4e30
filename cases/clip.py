"""Numbers kept between two bounds."""

from typing import Any

import mlx.core as mx

from audit.operation import Operation, Values

_ZERO = Values(singular=(0.0,))


def _clipped(m: Any, a: Any, a_min: Any, a_max: Any) -> Any:
    if a_min is not None:
        a = m.maximum(a, a_min)
    return a if a_max is None else m.minimum(a, a_max)


OPERATIONS = (
    Operation(
        name="mx.clip",
        arguments=("a", "a_min", "a_max"),
        call=mx.clip,
        body=_clipped,
        values={"a": _ZERO, "a_min": _ZERO, "a_max": _ZERO},
        mixed=True,
    ),
    Operation(
        name="mx.clip(between Python numbers)",
        arguments=("a",),
        call=mx.clip,
        body=_clipped,
        parameters={"a_min": (-0.5, None, 1), "a_max": (1.5, None, 1.0)},
        values={"a": Values(singular=(-0.5, 0.0, 1.0, 1.5))},
        valid=lambda shapes, parameters: parameters["a_min"] is not None or parameters["a_max"] is not None,  # noqa: ARG005
        text="mx.clip(a, {a_min}, {a_max})",
    ),
)
