"""Functions that jump: floor and its like, and remainders. Their slopes are zero, and there is none at a jump."""

from __future__ import annotations

from typing import Any

from audit.reference.operations.entry import Measure, Operation, times
from audit.reference.operations.opinions import fractional


def _own(z: Measure) -> int:
    return z("abs", z.value)


def _nearest(context: Any, x: Any) -> Any:
    if hasattr(x, "_mpc_"):
        return context.mpc(_nearest(context, x.real), _nearest(context, x.imag))
    whole = context.floor(fractional(x) + 0.5)
    return whole - 1 if whole - x == 0.5 and whole % 2 else whole


def _trunc(context: Any, x: Any) -> Any:
    return context.floor(fractional(x)) if x > 0 else context.ceil(x)


def _step(value: str, slope: str, mp: Any) -> Operation:
    return Operation(
        f"{value}({{0}})", mp, times(lambda s: s(f"{slope}_slope", s.operands[0])),
        series=f"{{0}} * 0 + ({value}(first({{0}})) + {slope}_slope(first({{0}})))",
        rational=f"{value}({{0}})", size=_own,
    )  # fmt: skip


def _slope(name: str) -> Operation:
    # Zero wherever it exists, and so is its own slope.
    return Operation(
        f"{name}_slope({{0}})", lambda _, x: 0 * x, times(lambda s: s(f"{name}_slope", s.operands[0])),
        series=f"{{0}} * 0 + {name}_slope(first({{0}}))", rational=f"{name}_slope({{0}})", size=_own,
    )  # fmt: skip


ROUNDING = {
    "floor": _step("floor", "integer", lambda context, x: context.floor(fractional(x))),
    "ceil": _step("ceil", "integer", lambda context, x: context.ceil(fractional(x))),
    "trunc": _step("trunc", "trunc", _trunc),
    "round": _step("nearest", "nearest", _nearest),
    **{f"{name}_slope": _slope(name) for name in ("integer", "trunc", "nearest")},
    # floor(x / y), and what is left of x, which has the sign of y.
    "floor_divide": Operation(
        "floor_quotient({0}, {1})", lambda context, x, y: context.floor(fractional(x / y)),
        (lambda s: s("multiply", s.cotangent, s("quotient_slope", *s.operands)),) * 2,
        series="{0} * 0 + (floor_quotient(first({0}), first({1})) + quotient_slope(first({0}), first({1})))",
        rational="floor_quotient({0}, {1})", outside="{1}.is_zero()", size=_own,
    ),
    "remainder": Operation(
        "remainder({0}, {1})", lambda context, x, y: x - y * context.floor(fractional(x / y)),
        (
            lambda s: s("add", s.cotangent, s("multiply", s.cotangent, s("quotient_slope", *s.operands))),
            lambda s: s("negative", s("multiply", s.cotangent,
                        s("add", s("floor_divide", *s.operands), s("quotient_slope", *s.operands)))),
        ),
        series="{0} - {1} * (floor_quotient(first({0}), first({1})) + quotient_slope(first({0}), first({1})))",
        rational="remainder({0}, {1})", outside="{1}.is_zero()", size=_own,
    ),
    "quotient_slope": Operation(
        "quotient_slope({0}, {1})", lambda _, x, y: 0 * x,  # noqa: ARG005
        (lambda s: s("multiply", s.cotangent, s("quotient_slope", *s.operands)),) * 2,
        series="{0} * 0 + quotient_slope(first({0}), first({1}))",
        rational="quotient_slope({0}, {1})", size=_own,
    ),
}  # fmt: skip
