"""Whether a case speaks for another name too: its call reaches that name, or MLX makes the same graph of both.

A graph is what MLX records of a call: its primitives in order with what they were given. Equal graphs have equal
derivatives, so that nothing need be asked twice. Nothing is computed here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mlx.core as mx
import mlx.nn
import mlx.optimizers
import numpy as np

from audit.catalogue import plain
from audit.names import canonical, names
from audit.operation import Operation

ROOTS = {"mx": mx, "nn": mlx.nn, "optim": mlx.optimizers}
COMMUTING = ("__radd__", "__rmul__")
"""Operators whose arguments MLX gives to its function in the order in which it finds them, self first.

Which is asked for either argument over the same points, so that the order of two equal roles is no other question.
"""

Call = Callable[..., Any]


def graph(call: Call, arrays: tuple[mx.array, ...]) -> list[str]:
    """The primitives of a call, each with its inputs, outputs and state, as text."""
    found: list[dict[str, Any]] = []
    mx.export_function(found.append, call, *arrays)
    return [str({key: _plain(value) for key, value in sorted(entry.items())}) for entry in found]


def _plain(value: Any) -> Any:
    if isinstance(value, mx.array):
        return (str(value.dtype), value.shape, value.tolist())
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def same_graph(operation: Operation, alias: str) -> bool:
    """Whether the graphs stay the same when the alias is called in the operation's stead.

    It must be so in one configuration at least, and in each that the alias does not refuse: a method without a keyword
    says nothing about the keyword's values.
    """
    name, stand_in = plain(operation.name), _without_base(spelt(alias), operation)
    equal = []
    for arrays, parameters in _questions(operation):
        plainly = _graph_or_none(lambda *a, p=parameters: operation.call(*a, **p), arrays)
        if operation.call is names()[canonical()[name]].target:
            used, instead = [True], _graph_or_none(lambda *a, p=parameters: stand_in(*a, **p), arrays)
        else:
            with _replaced(name, stand_in) as used:
                instead = _graph_or_none(lambda *a, p=parameters: operation.call(*a, **p), arrays)
        if used and plainly is not None and instead is not None:
            equal.append(instead == plainly)
    return bool(equal) and all(equal)


def reached(operation: Operation, alias: str) -> bool:
    """Whether, in some configuration, the operation's call uses the alias."""
    target = names()[canonical()[alias]].target
    if operation.call is target:
        return True
    for arrays, parameters in _questions(operation):
        with _watched(canonical()[alias]) as used:
            _graph_or_none(lambda *a, p=parameters: operation.call(*a, **p), arrays)
        if used:
            return True
    return False


def spelt(alias: str) -> Call:
    """How the alias is called with the arguments of the function whose name it shares."""
    owner, _, key = alias.rpartition(".")
    place = _find(owner)
    if owner == "mx.array" and key in COMMUTING:
        return lambda a, b, **parameters: getattr(_array(a), key)(b, **parameters)
    target: Any = inspect.getattr_static(place, key)
    if isinstance(target, property):
        return lambda x: getattr(x, key)
    if inspect.isclass(target):
        layer: Any = target
        return lambda *arrays, **parameters: layer(**parameters)(*arrays)
    if owner == "mx.array" and key.startswith("__r") and key not in ("__rshift__", "__repr__"):
        return lambda a, b, **parameters: getattr(_array(b), key)(a, **parameters)
    if owner == "mx.array":
        return lambda a, *rest, **parameters: getattr(_array(a), key)(*rest, **parameters)
    return target


def _without_base(call: Call, operation: Operation) -> Call:
    """The call; where it has no such keywords, without those that have the operation's base value.

    ``nn.HardTanh()`` has no bounds, and is to be compared with ``nn.hard_tanh`` at its own ones.
    """

    def calling(*arrays: Any, **parameters: Any) -> Any:
        try:
            return call(*arrays, **parameters)
        except TypeError:
            base = operation.base
            changed = {key: value for key, value in parameters.items() if key not in base or value != base[key]}
            if len(changed) == len(parameters):
                raise
            return call(*arrays, **changed)

    return calling


def _array(x: Any) -> mx.array:
    return x if isinstance(x, mx.array) else mx.array(x)


def _questions(operation: Operation) -> Iterator[tuple[tuple[mx.array, ...], dict[str, Any]]]:
    """Arrays and parameters for every configuration, elementwise operations at three elements."""
    configurations = (
        [(((3,),) * len(operation.arguments), parameters) for parameters in operation.combinations()]
        if operation.elementwise
        else operation.configurations()
    )
    for shapes, parameters in configurations:
        yield tuple(numbers(operation, i, shape) for i, shape in enumerate(shapes)), parameters


def numbers(operation: Operation, index: int, shape: tuple[int, ...]) -> mx.array:
    """Numbers between an argument's bounds; complex where only complex ones are defined."""
    values = operation.values_of(operation.arguments[index])
    low, high = max(values.low, -1.0), min(values.high, 2.0)
    low, high = (
        (low, high) if low < high else (values.low, values.low + 1) if np.isfinite(values.low) else (high - 1, high)
    )
    size = int(np.prod(shape))
    plain_numbers = low + (high - low) * (np.arange(size) + 1) / (size + 1)
    dtype = mx.float32 if "float32" in operation.formats else mx.complex64
    if operation.kinds and operation.kinds[index] == "complex":
        dtype = mx.complex64
    return mx.array(plain_numbers.reshape(shape).astype(np.float32)).astype(dtype)


def _graph_or_none(call: Call, arrays: tuple[mx.array, ...]) -> list[str] | None:
    try:
        return graph(call, arrays)
    except (TypeError, ValueError, RuntimeError, AttributeError):
        return None


def _find(name: str) -> Any:
    """The module or class of a name, e.g. of ``"mx.array"``."""
    root, *rest = name.split(".")
    found: Any = ROOTS[root]
    for key in rest:
        found = getattr(found, key)
    return found


@contextmanager
def _replaced(name: str, stand_in: Call) -> Iterator[list[bool]]:
    """MLX with a function replaced by another; the list is empty as long as it was not called."""
    owner, _, key = name.rpartition(".")
    used: list[bool] = []

    def instead(*arguments: Any, **parameters: Any) -> Any:
        used.append(True)
        return stand_in(*arguments, **parameters)

    with _set(_find(owner), key, instead):
        yield used


@contextmanager
def _watched(name: str) -> Iterator[list[bool]]:
    """MLX as it is; the list is empty as long as the name was not used."""
    owner, _, key = name.rpartition(".")
    place, used = _find(owner), list[bool]()
    target = inspect.getattr_static(place, key)
    if inspect.isclass(target):
        place, key, target = target, "__call__", inspect.getattr_static(target, "__call__")

    def watching(*arguments: Any, **parameters: Any) -> Any:
        used.append(True)
        return target(*arguments, **parameters)

    def reading(self: Any) -> Any:
        used.append(True)
        return target.fget(self)

    with _set(place, key, property(reading) if isinstance(target, property) else watching):
        yield used


@contextmanager
def _set(place: Any, key: str, value: Any) -> Iterator[None]:
    before = inspect.getattr_static(place, key)
    own = key in vars(place)
    setattr(place, key, value)
    try:
        yield
    finally:
        if own:
            setattr(place, key, before)
        else:
            delattr(place, key)
