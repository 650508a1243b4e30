"""The updates of Adam and its kin. The formulas are those of Kingma and Ba 2015 and of Loshchilov and Hutter 2019."""

from fractions import Fraction
from typing import Any

from cases.updates import NOT_NEGATIVE, SCALED, updates

Kept = tuple[Any, Any]

# All but MLX's own defaults are numbers of every format.
_CHOICES: dict[str, tuple[Any, ...]] = {
    "learning_rate": (0.125, 0.5, 2.0),
    "betas": ((0.5, 0.75), (0.875, 0.9375), (0.9, 0.999)),
    "eps": (1e-8, 0.0009765625, 0.125),
}
_BIAS: dict[str, tuple[Any, ...]] = {"bias_correction": (False, True)}
_DECAY: dict[str, tuple[Any, ...]] = {"weight_decay": (0.01, 0.0, 0.25)}
_MOMENTS = {"m": SCALED, "v": NOT_NEGATIVE}


def _adam(m: Any, p: Any, g: Any, kept: Kept, step: int, **given: Any) -> tuple[Any, Any, Any]:
    (b1, b2), rate = given["betas"], given["learning_rate"]
    first = b1 * kept[0] + (1 - b1) * g
    second = b2 * kept[1] + (1 - b2) * m.square(g)
    u, v = first, second
    if given.get("bias_correction"):
        u = m.divide(u, 1 - Fraction(b1) ** step)
        v = m.divide(v, 1 - Fraction(b2) ** step)
    # The weights decay by themselves, not by the gradient.
    decayed = m.multiply(p, 1 - Fraction(rate) * Fraction(given.get("weight_decay", 0)))
    return decayed - rate * m.divide(u, m.sqrt(v) + given["eps"]), first, second


def _adamax(m: Any, p: Any, g: Any, kept: Kept, step: int, **given: Any) -> tuple[Any, Any, Any]:  # noqa: ARG001
    (b1, b2), rate = given["betas"], given["learning_rate"]
    first = b1 * kept[0] + (1 - b1) * g
    second = m.maximum(b2 * kept[1], m.abs(g))
    return p - rate * m.divide(first, second + given["eps"]), first, second


OPERATIONS = (
    *updates("optim.Adam", _adam, {**_CHOICES, **_BIAS}, _MOMENTS),
    *updates("optim.AdamW", _adam, {**_CHOICES, **_DECAY, **_BIAS}, _MOMENTS),
    *updates("optim.Adamax", _adamax, _CHOICES, _MOMENTS),
)
