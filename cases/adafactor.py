"""The update of Adafactor (Shazeer and Stern 2018): moments of a matrix are kept by row and by column.

``p`` is a parameter, ``g`` its gradient; ``r`` and ``c`` are the means of squares of rows and columns that were kept.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from audit.operation import REAL_FORMATS, Shapes
from cases.by_text import by_text
from cases.updates import NOT_NEGATIVE, SCALED, STEP, UPDATE

_CHOICES: dict[str, tuple[Any, ...]] = {
    "learning_rate": (None, 0.125, 0.5),
    "eps": ((1e-30, 1e-3), (0.0009765625, 0.125), (0.125, 2.0)),
    "clip_threshold": (1.0, 0.5, 4.0),
    "decay_rate": (-0.8, -0.5, -1.0),
    "beta_1": (None, 0.5, 0.875),
    "weight_decay": (0.0, 0.25, 0.0625),
    "scale_parameter": (True, False),
    "relative_step": (True, False),
    "warmup_init": (False, True),
}
_MADE = f"optim.Adafactor({', '.join(f'{key}={{{key}}}' for key in _CHOICES)})"


def _exists(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:  # noqa: ARG001
    """Without a relative step there must be a learning rate."""
    return parameters["relative_step"] or parameters["learning_rate"] is not None


def _mean_root(m: Any, x: Any) -> Any:
    return m.sqrt(m.mean(m.square(x)))


def _moments(m: Any, g: Any, kept: Any, step: int, given: Mapping[str, Any]) -> Any:
    """The second moments: each by itself, or the product of the means of its row and its column."""
    new = 1 if step == 1 else m.power(step, given["decay_rate"])
    squares = m.square(g) + given["eps"][0]
    if np.ndim(g) < 2:
        return new * squares if kept is None else (1 - new) * kept + new * squares
    row, column = new * m.mean(squares, -1), new * m.mean(squares, -2)
    if kept is not None:
        row, column = (1 - new) * kept[0] + row, (1 - new) * kept[1] + column
    return m.divide(row[..., :, None] * column[..., None, :], m.mean(row, -1, keepdims=True)[..., None])


def _updated(m: Any, p: Any, g: Any, kept: Any, step: int, **given: Any) -> Any:
    change = m.divide(g, m.sqrt(_moments(m, g, kept, step, given)))
    change = m.divide(change, m.maximum(1, m.divide(_mean_root(m, change), given["clip_threshold"])))
    rate = given["learning_rate"]
    if given["relative_step"]:
        rate = m.minimum(1e-6 * step if given["warmup_init"] else 1e-2, m.divide(1, m.sqrt(step)))
    if given["scale_parameter"]:
        rate = rate * m.maximum(given["eps"][1], _mean_root(m, p))
    first = 1 if given["beta_1"] is None else 1 - given["beta_1"]
    return p - rate * given["weight_decay"] * p - first * rate * change


OPERATIONS = (
    by_text(
        "optim.Adafactor",
        f"{_MADE}.apply_gradients({{{{'p': g}}}}, {{{{'p': p}}}})['p']",
        lambda m, p, g, **given: _updated(m, p, g, None, 1, **given),
        "p",
        "g",
        shapes=(((2, 3), (2, 3)), ((3,), (3,)), ((), ()), ((3, 1), (3, 1)), ((2, 1, 2), (2, 1, 2))),
        parameters=_CHOICES,
        values={"p": SCALED, "g": SCALED},
        valid=_exists,
        tolerance=UPDATE,
        formats=REAL_FORMATS,
        orders=0,
        mapped=False,
    ),
    by_text(
        "optim.Adafactor[a later step]",
        "(lambda o: (o.init({{'p': p}}), o.state['p'].update(exp_avg_sq_row=r, exp_avg_sq_col=c), "
        f"o.state.update(step=mx.array({STEP - 1}, dtype=mx.uint64)), o.apply_gradients({{{{'p': g}}}}, {{{{'p': p}}}})"
        f"['p']))({_MADE})[-1]",
        lambda m, p, g, r, c, **given: _updated(m, p, g, (r, c), STEP, **given),
        *("p", "g", "r", "c"),
        shapes=(((2, 3), (2, 3), (2,), (3,)),),
        parameters=_CHOICES,
        values={"p": SCALED, "g": SCALED, "r": NOT_NEGATIVE, "c": NOT_NEGATIVE},
        valid=_exists,
        tolerance=UPDATE,
        formats=REAL_FORMATS,
        orders=0,
        mapped=False,
    ),
)
