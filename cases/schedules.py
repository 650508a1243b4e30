"""Learning rates as functions of the step, which is a whole number as optimisers count it."""

from collections.abc import Callable
from typing import Any

from audit.case import Tolerance
from audit.operation import Operation, Values
from cases.by_text import by_text

_TOLERANCE = Tolerance(
    terms=4, reason="a sum of two terms that cancel where a rate nears its end, each of them rounded"
)


def _scheduled(
    name: str, text: str, body: Callable[..., Any], valid: Any = None, **parameters: tuple[Any, ...]
) -> Operation:
    return by_text(
        f"optim.{name}",
        f"optim.{text}(x.astype(mx.uint64))",
        lambda m, x, **given: body(m, m.floor(x), **given),
        "x",
        shapes=(((12,),), ((),)),
        parameters=parameters,
        # Beyond the end of each schedule, and at its ends.
        values={"x": Values(low=0, high=16, singular=(0.0, 1.0, 4.0, 5.0, 8.0, 12.0), scaled=False)},
        valid=valid or (lambda shapes, parameters: True),  # noqa: ARG005
        tolerance=_TOLERANCE,
        orders=0,
        mapped=False,
    )


def _cosine(m: Any, x: Any, init: float, decay_steps: int, end: float) -> Any:
    done = m.divide(m.minimum(x, decay_steps), decay_steps)
    return end + m.multiply(m.multiply(0.5, 1 + m.cos_pi(done)), init - end)


def _linear(m: Any, x: Any, init: float, end: float, steps: int) -> Any:
    done = m.divide(m.minimum(x, steps), steps)
    return init + m.multiply(done, end - init)


def _joined(m: Any, x: Any, schedules: str, boundaries: list[int]) -> Any:
    """A line from 0 to 0.5, a cosine from 0.5 on and, if there is a third, a half that stays.

    Each but the first counts steps from its own beginning.
    """
    found = _linear(m, x, 0.0, 0.5, 4)
    later = _cosine(m, x - boundaries[0], 0.5, 8, 0.0)
    found = m.where(m.less(x, boundaries[0]), found, later)
    if "step_decay" in schedules:
        last = m.power(0.5, m.floor(m.divide(x - boundaries[-1], 2)))
        found = m.where(m.less(x, boundaries[1]), found, last)
    return found


OPERATIONS = (
    _scheduled(
        "cosine_decay",
        "cosine_decay({init}, {decay_steps}, end={end})",
        _cosine,
        init=(0.125, 0.5, -2.0),
        decay_steps=(12, 5, 1),
        end=(0.0, 0.0625, 0.25),
    ),
    _scheduled(
        "exponential_decay",
        "exponential_decay({init}, {decay_rate})",
        lambda m, x, init, decay_rate: m.multiply(init, m.power(decay_rate, x)),
        init=(0.125, 0.5, 2.0),
        decay_rate=(0.5, 0.875, 1.5),
    ),
    _scheduled(
        "linear_schedule",
        "linear_schedule({init}, {end}, {steps})",
        _linear,
        init=(0.125, 0.5, 0.0),
        end=(0.5, 0.0, -2.0),
        steps=(12, 5, 1),
    ),
    _scheduled(
        "step_decay",
        "step_decay({init}, {decay_rate}, {step_size})",
        lambda m, x, init, decay_rate, step_size: m.multiply(
            init, m.power(decay_rate, m.floor(m.divide(x, step_size)))
        ),
        init=(0.125, 0.5, 2.0),
        decay_rate=(0.5, 0.875, 1.5),
        step_size=(4, 1, 5),
    ),
    _scheduled(
        "join_schedules",
        "join_schedules({schedules}, {boundaries})",
        _joined,
        schedules=(
            "[optim.linear_schedule(0.0, 0.5, 4), optim.cosine_decay(0.5, 8)]",
            "[optim.linear_schedule(0.0, 0.5, 4), optim.cosine_decay(0.5, 8), optim.step_decay(1.0, 0.5, 2)]",
        ),
        boundaries=([4], [5], [4, 8]),
        valid=lambda shapes, parameters: len(parameters["boundaries"]) == parameters["schedules"].count("optim.") - 1,  # noqa: ARG005
    ),
)
