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
        slow=True,
    ),
    Operation(
        name="mx.clip(between Python numbers)",
        arguments=("a",),
        call=lambda a, bounds: mx.clip(a, *bounds),
        body=lambda m, a, bounds: _clipped(m, a, *bounds),
        parameters={"bounds": ((-0.5, 1.5), (None, 1.5), (-0.5, None), (1, 1.0))},
        values={"a": Values(singular=(-0.5, 0.0, 1.0, 1.5))},
        text="mx.clip(a, *{bounds})",
    ),
)
