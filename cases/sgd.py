"""The updates of stochastic gradient descent, with momentum, and of Lion (Chen and others 2023)."""

from typing import Any

from cases.updates import SCALED, updates


def _sgd(m: Any, p: Any, g: Any, kept: Any, step: int, **given: Any) -> tuple[Any, Any]:  # noqa: ARG001
    momentum = given["momentum"]
    g = g + given["weight_decay"] * p
    if not momentum:
        return p - given["learning_rate"] * g, kept[0]
    v = momentum * kept[0] + (1 - given["dampening"]) * g
    return p - given["learning_rate"] * (g + momentum * v if given["nesterov"] else v), v


def _lion(m: Any, p: Any, g: Any, kept: Any, step: int, **given: Any) -> tuple[Any, Any]:  # noqa: ARG001
    (b1, b2), rate = given["betas"], given["learning_rate"]
    direction = m.sign(b1 * kept[0] + (1 - b1) * g)
    return p - rate * (direction + given["weight_decay"] * p), b2 * kept[0] + (1 - b2) * g


OPERATIONS = (
    *updates(
        "optim.SGD",
        _sgd,
        {
            "learning_rate": (0.125, 0.5, 2.0),
            "momentum": (0.5, 0.0, 0.875),
            "weight_decay": (0.0, 0.25, 0.0625),
            "dampening": (0.0, 0.25, 0.5),
            "nesterov": (False,),
        },
        {"v": SCALED},
    ),
    *updates(
        # It needs a momentum that is not damped.
        "optim.SGD[of Nesterov]",
        _sgd,
        {
            "learning_rate": (0.125, 0.5, 2.0),
            "momentum": (0.5, 0.25, 0.875),
            "weight_decay": (0.0, 0.25, 0.0625),
            "dampening": (0.0,),
            "nesterov": (True,),
        },
        {"v": SCALED},
    ),
    *updates(
        "optim.Lion",
        _lion,
        {
            "learning_rate": (0.125, 0.5, 2.0),
            "betas": ((0.5, 0.75), (0.875, 0.9375), (0.25, 0.5)),
            "weight_decay": (0.0, 0.25, 0.0625),
        },
        {"m": SCALED},
    ),
)
