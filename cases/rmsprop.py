"""The updates of optimisers that divide by the root of a mean of squares: RMSprop, Adagrad, AdaDelta.

The formulas are those of Tieleman and Hinton 2012, Duchi, Hazan and Singer 2011, and Zeiler 2012.
"""

from typing import Any

from cases.updates import NOT_NEGATIVE, updates

_RATE = (0.125, 0.5, 2.0)
_EPS = (1e-8, 0.0009765625, 0.125)


def _rmsprop(m: Any, p: Any, g: Any, kept: Any, step: int, **given: Any) -> tuple[Any, Any]:  # noqa: ARG001
    alpha = given["alpha"]
    v = alpha * kept[0] + (1 - alpha) * m.square(g)
    return p - given["learning_rate"] * m.divide(g, m.sqrt(v) + given["eps"]), v


def _adagrad(m: Any, p: Any, g: Any, kept: Any, step: int, **given: Any) -> tuple[Any, Any]:  # noqa: ARG001
    v = kept[0] + m.square(g)
    return p - given["learning_rate"] * m.divide(g, m.sqrt(v) + given["eps"]), v


def _adadelta(m: Any, p: Any, g: Any, kept: Any, step: int, **given: Any) -> tuple[Any, Any, Any]:  # noqa: ARG001
    rho, eps = given["rho"], given["eps"]
    v = rho * kept[0] + (1 - rho) * m.square(g)
    change = m.multiply(m.divide(m.sqrt(kept[1] + eps), m.sqrt(v + eps)), g)
    return p - given["learning_rate"] * change, v, rho * kept[1] + (1 - rho) * m.square(change)


OPERATIONS = (
    *updates(
        "optim.RMSprop",
        _rmsprop,
        {"learning_rate": _RATE, "alpha": (0.75, 0.5, 0.99), "eps": _EPS},
        {"v": NOT_NEGATIVE},
    ),
    *updates("optim.Adagrad", _adagrad, {"learning_rate": _RATE, "eps": _EPS}, {"v": NOT_NEGATIVE}),
    *updates(
        "optim.AdaDelta",
        _adadelta,
        {"learning_rate": _RATE, "rho": (0.75, 0.5, 0.9), "eps": (1e-6, 0.0009765625, 0.125)},
        {"v": NOT_NEGATIVE, "u": NOT_NEGATIVE},
    ),
)
