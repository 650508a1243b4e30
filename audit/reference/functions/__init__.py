"""Functions that the expressions in the table of operations use, by the names they use them under."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb

from audit.reference.functions import angles, powers, saturating, steps
from audit.reference.functions.holomorphic import HOLOMORPHIC, on_parts, phase

# On balls and on power series.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "pi": arb.pi, "log_2": arb.const_log2, "log_10": arb.const_log10, "e": arb.const_e, "euler": arb.const_euler,
    **{f.__name__: f for f in (
        saturating.first, saturating.exp, saturating.exp2, saturating.expm1, saturating.sinh, saturating.cosh,
        saturating.sigmoid, saturating.tanh, saturating.sech, saturating.log1p, saturating.logaddexp, saturating.erfc,
        saturating.erfinv, angles.arctan2, powers.power, powers.power_partial, steps.floor, steps.ceil, steps.trunc,
        steps.nearest, steps.floor_quotient, steps.remainder, steps.quotient_slope,
    )},
    "integer_slope": steps.integer_slope, "trunc_slope": steps.trunc_slope, "nearest_slope": steps.nearest_slope,
    "no_power": powers.outside, "phase": phase, **{f"complex_{name}": on_parts(name) for name in HOLOMORPHIC},
}  # fmt: skip

# On exact rationals.
RATIONAL_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "floor": steps.rational_floor, "ceil": steps.rational_ceil, "trunc": steps.rational_trunc,
    "nearest": steps.rational_nearest, "floor_quotient": steps.rational_quotient,
    "remainder": steps.rational_remainder, "integer_slope": steps.rational_integer_slope,
    "trunc_slope": steps.rational_trunc_slope, "nearest_slope": steps.rational_nearest_slope,
    "quotient_slope": steps.rational_quotient_slope,
}  # fmt: skip

__all__ = ["FUNCTIONS", "RATIONAL_FUNCTIONS"]
