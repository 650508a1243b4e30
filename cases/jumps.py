"""Truth values as numbers, for the bodies of operations that return them."""

from typing import Any


def jump(m: Any, condition: Any, traced: Any) -> Any:
    """1 where the condition holds, else 0.

    A function of a traced number all the same, so that where it jumps it is known to have no derivative.
    """
    zero = m.multiply(traced, 0)
    return m.where(condition, m.add(zero, 1), zero)
