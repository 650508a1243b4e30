"""Real powers, and the partial derivatives of every order that their derivatives are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from audit.reference.operations import opinions
from audit.reference.operations.entry import Operation, Pull, Step

# As in `audit.reference.functions.powers`: so many times the order along y, plus the order along x.
ALONG_Y = 64


def _partial(more: int) -> Pull:
    def pull(s: Step) -> int:
        node = s.record.apply("power_partial", *s.operands, parameter=s.parameter + more)
        return s("multiply", s.cotangent, node)

    return pull


def _no_opinion(*_: Any) -> Any:
    raise ValueError("mpmath is asked for powers, not for their derivatives")


_PULLS: tuple[Pull, ...] = (_partial(1), _partial(ALONG_Y))
_value: Callable[..., Any] = opinions.power

POWERS = {
    # An integer exponent known beforehand is `integer_power`.
    "power": Operation("power({0}, {1})", _value, _PULLS, outside="no_power({0}, {1}, 0)"),
    "power_partial": Operation("power_partial({0}, {1}, {n})", _no_opinion, _PULLS, outside="no_power({0}, {1}, {n})"),
}
