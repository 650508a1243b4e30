"""What the cases of optimisers share: how an update is asked for, and at which numbers.

``p`` is a parameter, ``g`` its gradient; the arrays that an optimiser keeps have the names that they have in its state.
The value after a step is compared, and what is kept with it: no derivative is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation, Shapes, Values
from cases.by_text import by_text

STEP = 3
"""The number of the later step that is asked for."""

# Below the lower end, what is kept of a gradient in half precision loses digits, whoever computes it.
SCALED = Values(exponents=(-13, 1023))
NOT_NEGATIVE = Values(low=0, singular=(0.0,), exponents=(-13, 1023))

UPDATE = Tolerance(
    terms=8, reason="some ten operations in sequence, each of which rounds, the last of which may cancel"
)

Update = Callable[..., Sequence[Any]]
"""``update(m, p, g, kept, step, **parameters)``: the parameter after a step, and what is kept then."""


def updates(
    name: str,
    update: Update,
    choices: Mapping[str, tuple[Any, ...]],
    kept: Mapping[str, Values],
    shapes: tuple[Shapes, ...] = (((3,), (3,)), ((), ())),
    **declared: Any,
) -> tuple[Operation, Operation]:
    """The first step of an optimiser, and a later one.

    Args:
        name: of its class; brackets may follow.
        update: its formula.
        choices: parameters, the base value of each first.
        kept: the arrays of its state, of the shape of the parameter, and where their values lie.
        shapes: of parameter and gradient.
        declared: as in `by_text`.
    """
    made = f"{name.partition('[')[0]}({', '.join(f'{key}={{{key}}}' for key in choices)})"
    stepped = "apply_gradients({{'p': g}}, {{'p': p}})['p']"
    state = f"o.state['p'].update({', '.join(f'{key}={key}' for key in kept)})"
    later = f"o.state.update(step=mx.array({STEP - 1}, dtype=mx.uint64))"
    results = ", ".join([f"o.{stepped}", *(f"o.state['p']['{key}']" for key in kept)])
    shared = {"tolerance": UPDATE, "formats": REAL_FORMATS, "orders": 0, "mapped": False, **declared}
    first = by_text(
        name,
        f"{made}.{stepped}",
        lambda m, p, g, **given: update(m, p, g, (0 * p,) * len(kept), 1, **given)[0],
        "p",
        "g",
        shapes=shapes,
        parameters=choices,
        values={"p": SCALED, "g": SCALED},
        **shared,
    )
    second = by_text(
        f"{name.removesuffix(']')}{', ' if '[' in name else '['}a later step]",
        f"(lambda o: (o.init({{{{'p': p}}}}), {state}, {later}, mx.stack([{results}])))({made})[-1]",
        lambda m, p, g, *kept, **given: np.stack(update(m, p, g, kept, STEP, **given)),
        *("p", "g", *kept),
        shapes=tuple((*pair, *(pair[:1] * len(kept))) for pair in shapes),
        parameters=choices,
        values={"p": SCALED, "g": SCALED, **kept},
        **shared,
    )
    return first, second
