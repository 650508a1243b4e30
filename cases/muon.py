"""The update of Muon: momentum whose singular values are brought near 1 by Newton and Schulz's iteration.

The formulas are those of https://kellerjordan.github.io/posts/muon, to which MLX's documentation refers. Arrays of less
than two axes are not orthogonalised; of those of more, all axes but the first are one.
"""

from typing import Any

from audit.case import Tolerance
from cases.updates import SCALED, updates

_FACTORS = (3.4445, -4.7750, 2.0315)


def _orthogonal(m: Any, x: Any, steps: int) -> Any:
    """Newton and Schulz's iteration of a matrix divided by its norm."""
    if x.shape[0] > x.shape[1]:
        return _orthogonal(m, x.T, steps).T
    a, b, c = _FACTORS
    x = m.divide(x, m.sqrt(m.sum(m.square(x))) + 1e-7)
    for _ in range(steps):
        squared = m.matmul(x, x.T)
        x = a * x + m.matmul(b * squared + c * m.matmul(squared, squared), x)
    return x


def _muon(m: Any, p: Any, g: Any, kept: Any, step: int, **given: Any) -> tuple[Any, Any]:  # noqa: ARG001
    momentum = given["momentum"]
    g = g + given["weight_decay"] * p
    v = momentum * kept[0] + (1 - momentum) * g
    change = (1 - momentum) * g + momentum * v if given["nesterov"] else v
    rate = given["learning_rate"]
    if p.ndim > 1:
        change = _orthogonal(m, change.reshape(p.shape[0], -1), given["ns_steps"]).reshape(p.shape)
        rate = rate * m.sqrt(max(1, p.shape[-2] / p.shape[-1]))
    return p - rate * change, v


OPERATIONS = updates(
    "optim.Muon",
    _muon,
    {
        "learning_rate": (0.125, 0.5, 2.0),
        "momentum": (0.5, 0.875, 0.95),
        "weight_decay": (0.01, 0.0, 0.25),
        "nesterov": (True, False),
        "ns_steps": (5, 1, 2),
    },
    {"v": SCALED},
    shapes=(((2, 3), (2, 3)), ((4, 1), (4, 1)), ((3,), (3,)), ((3, 1, 2), (3, 1, 2))),
    tolerance=Tolerance(terms=16, reason="each of five iterations is three products of matrices of which each rounds"),
)
