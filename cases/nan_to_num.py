"""Numbers put in the place of NaN and infinities: the identity for finite numbers, constant for all others."""

from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import Operation, Values


def _body(m: Any, a: Any, other: float, nan: float, posinf: float | None, neginf: float | None) -> Any:
    if other == 0:
        return a
    constant = nan if np.isnan(other) else posinf if other > 0 else neginf
    return m.add(m.multiply(a, 0), constant)


def _fits(shapes: Any, parameters: Any) -> bool:  # noqa: ARG001
    # What None stands for depends on the format.
    missing = {np.inf: "posinf", -np.inf: "neginf"}.get(parameters["other"])
    return missing is None or parameters[missing] is not None


OPERATIONS = (
    Operation(
        name="mx.nan_to_num",
        arguments=("a",),
        # What is added makes finite numbers infinite, or NaN.
        call=lambda a, other, nan, posinf, neginf: mx.nan_to_num(a + other, nan=nan, posinf=posinf, neginf=neginf),
        body=_body,
        values={"a": Values(singular=(0.0,))},
        parameters={
            "other": (0.0, np.inf, -np.inf, np.nan),
            "nan": (0, 1.5, -2.0),
            "posinf": (None, 4.0, 0.0),
            "neginf": (None, -4.0, 1.0),
        },
        # Of float64 MLX says that it does not support it.
        formats=("float16", "bfloat16", "float32"),
        valid=_fits,
        slow=True,
        text="mx.nan_to_num(a + {other}, nan={nan}, posinf={posinf}, neginf={neginf})",
    ),
)
