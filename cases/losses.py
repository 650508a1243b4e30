"""What the cases of the losses share: how the losses of single elements become one number."""

from __future__ import annotations

from typing import Any

from audit.case import Tolerance

REDUCTIONS = ("mean", "sum", "none")
NONE_FIRST = ("none", "mean", "sum")
MEAN = Tolerance(terms=4, reason="a difference, what is made of it, and the sum and its quotient round")


def reduced(m: Any, loss: Any, reduction: str) -> Any:
    """The losses themselves, their sum, or their mean."""
    if reduction == "none":
        return loss
    return m.sum(loss) if reduction == "sum" else m.mean(loss)
