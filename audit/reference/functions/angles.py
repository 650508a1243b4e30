"""The angle of a point of the plane, on balls and power series."""

from __future__ import annotations

from typing import Any

from flint import arb, arb_series


def arctan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y), pi on the negative axis of x.

    A series is turned by the angle of its constant coefficients, after which it lies near the positive axis.
    """
    if not isinstance(y, arb_series):
        return arb.atan2(y, x)
    v, u = y[0], x[0]
    return arb_series([arb.atan2(v, u)]) + ((y * u - x * v) / (x * u + y * v)).atan()
