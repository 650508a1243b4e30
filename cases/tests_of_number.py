"""Whether a number is finite, infinite or none: 1 or 0, of which the derivative is zero everywhere."""

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import REAL_FORMATS, Operation

# Added to the argument, so that finite numbers become infinities and NaN.
_OTHERS = (0.0, np.inf, -np.inf, np.nan)


def _operation(name: str, answers: tuple[int, ...], formats: tuple[str, ...] = REAL_FORMATS) -> Operation:
    """The test of this name; `answers` are those for a finite number, for both infinities and for NaN."""

    def call(a: mx.array, other: float) -> mx.array:
        test: Callable[..., mx.array] = getattr(mx, name)
        return test(a + other).astype(mx.real(a).dtype)

    def body(m: Any, a: Any, other: float) -> Any:
        answer = answers[[repr(one) for one in _OTHERS].index(repr(other))]
        return m.add(m.multiply(m.real(a), 0), answer)

    return Operation(
        name=f"mx.{name}",
        arguments=("a",),
        call=call,
        body=body,
        parameters={"other": _OTHERS},
        formats=formats,
        orders=1,
        slow=True,
        result="real",
        text=f"mx.{name}(a + {{other}}).astype(mx.real(a).dtype)",
    )


_COMPLEX = (*REAL_FORMATS, "complex64")

OPERATIONS = (
    _operation("isnan", (0, 0, 0, 1), _COMPLEX),
    _operation("isinf", (0, 1, 1, 0), _COMPLEX),
    _operation("isfinite", (1, 0, 0, 0), _COMPLEX),
    _operation("isposinf", (0, 1, 0, 0)),
    _operation("isneginf", (0, 0, 1, 0)),
)
