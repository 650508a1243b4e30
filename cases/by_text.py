"""Operations that are asked as they are written: their text is what is evaluated and what a report shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

from audit.case import Body, Tolerance
from audit.operation import Operation, Values

REFUSALS = (ValueError, RuntimeError, TypeError, IndexError)

PRODUCTS = Tolerance(terms=6, reason="sums of a few products of three or four numbers, each rounded")


def by_text(name: str, text: str, body: Body, *arguments: str, **declared: Any) -> Operation:
    """An operation whose call is the evaluation of its text.

    Args:
        name: as in `Operation`.
        text: a Python expression of the arguments, with ``{parameter}`` for parameters; braces of its own are doubled.
            Parameters that are strings stand in it as they are.
        body: as in `Operation`.
        arguments: their names.
        declared: whatever else an `Operation` has. Where nothing else is said, numbers stay near 1, shapes are ``(3,)``
            and ``(1,)``, and the format is float32: transforms do not look at numbers. No derivative is asked for:
            most texts are derivatives themselves.
    """
    few = {
        "shapes": (((3,),) * len(arguments), ((1,),) * len(arguments)),
        "values": {argument: Values(scaled=False) for argument in arguments},
        "tolerance": PRODUCTS,
        "formats": ("float32",),
        "orders": 0,
        "slow": True,
    }
    return Operation(name, arguments, evaluated(text, *arguments), body, text=text, **{**few, **declared})


def evaluated(text: str, *arguments: str) -> Callable[..., Any]:
    """A function of arrays and parameters that evaluates a text as `by_text` has it."""

    def call(*arrays: mx.array, **parameters: Any) -> Any:
        names = {"mx": mx, "nn": nn, "optim": optim, **dict(zip(arguments, arrays, strict=True))}
        return eval(_compiled(_filled(text, parameters)), names)  # noqa: S307  the text of a case file, nobody else's

    return call


def refusing(name: str, text: str, instead: Callable[..., mx.array], body: Body, *arguments: str) -> Operation:
    """An operation that is asked what it should refuse: only that it raises is right, or a right number.

    Args:
        name: as in `Operation`.
        text: as in `by_text`.
        instead: what counts as the answer if MLX raises: the right value, computed by MLX.
        body: the right value: the derivative of the function, which no rule that breaks its contract can stand for.
        arguments: their names.
    """
    asked = evaluated(text, *arguments)

    def call(*arrays: mx.array) -> mx.array:
        try:
            found = asked(*arrays)
            mx.eval(found)
        except REFUSALS:
            return instead(*arrays)
        else:
            return found

    return Operation(
        name,
        arguments,
        call,
        body,
        shapes=(((3,),) * len(arguments),),
        values={argument: Values(scaled=False) for argument in arguments},
        tolerance=PRODUCTS,
        formats=("float32",),
        text=text,
        orders=0,
        mapped=False,
        slow=True,
        note="MLX must refuse this; if it does, that counts as right.",
    )


def _filled(text: str, parameters: Mapping[str, Any]) -> str:
    """The text with its parameters, as `Operation` shows it."""
    shown = {name: value if isinstance(value, str) else repr(value) for name, value in parameters.items()}
    return text.format(**{name: value.replace("mlx.core.", "mx.") for name, value in shown.items()})


@cache
def _compiled(source: str) -> CodeType:
    return compile(source, "<the text of a case>", "eval")
