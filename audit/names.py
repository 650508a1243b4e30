"""Every public callable of the installed MLX under MLX's own name: ``mx.arctan2``, ``mx.array.sum``, ``nn.gelu``.

Nothing here is a list of names: modules and classes are walked, so that what a new MLX brings is seen. A name is a
function, a class, or a method, an operator or a property that a class of MLX defines itself; one that overrides a
method of its base class belongs to the class. Constants (``mx.pi``, ``mx.float32``) are no names.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from types import ModuleType
from typing import Any

import mlx.core
import mlx.nn
import mlx.optimizers

ROOTS = {"mx": mlx.core, "nn": mlx.nn, "optim": mlx.optimizers}
"""How a user calls the packages in which names are looked for."""


@dataclass(frozen=True)
class Name:
    """A public callable.

    Args:
        name: MLX's own, e.g. ``"mx.array.sum"``; of several names of one object, that which the object gives itself.
        target: the object.
        owner: the class that it is a member of, e.g. ``"mx.array"``; empty for functions and classes.
        aliases: the other names of the same object.
    """

    name: str
    target: Any
    owner: str = ""
    aliases: tuple[str, ...] = ()


@cache
def names() -> dict[str, Name]:
    """Every name of the installed MLX, aliases apart, in the order of the alphabet."""
    grouped: dict[int, list[Name]] = {}
    for root, package in ROOTS.items():
        for one in _walk(root, package, set()):
            grouped.setdefault(id(one.target), []).append(one)
    found = [_joined(group) for group in grouped.values()]
    return {one.name: one for one in sorted(found, key=lambda one: one.name)}


@cache
def canonical() -> dict[str, str]:
    """From every name, aliases included, to the one that stands for it."""
    return {alias: one.name for one in names().values() for alias in (one.name, *one.aliases)}


def _joined(group: list[Name]) -> Name:
    """One object under several names: the name that it gives itself first, then the shortest."""
    own = getattr(group[0].target, "__name__", "")
    best = min(
        group, key=lambda one: (one.name.rpartition(".")[2] != own, one.name.count("."), len(one.name), one.name)
    )
    return replace(best, aliases=tuple(sorted({one.name for one in group} - {best.name})))


def _walk(prefix: str, module: ModuleType, seen: set[int]) -> Iterator[Name]:
    """The callables of a module of MLX and of the modules below it, each under its full name.

    Modules of Python files import much that is not theirs; a name counts where its object was written in MLX.
    """
    seen.add(id(module))
    for key, value in sorted(vars(module).items()):
        if key.startswith("_"):
            continue
        name = f"{prefix}.{key}"
        if isinstance(value, ModuleType):
            if _is_below(value.__name__, module.__name__) and id(value) not in seen:
                yield from _walk(name, value, seen)
        elif callable(value) and _is_below(getattr(value, "__module__", "") or "", _package(module)):
            yield Name(name, value)
            if inspect.isclass(value) and not issubclass(value, Enum):
                yield from _members(name, value)


def _members(prefix: str, owner: type) -> Iterator[Name]:
    """Methods, operators and properties that a class defines and that no class of MLX above it does."""
    above = {key for base in owner.__mro__[1:] if _is_below(base.__module__, "mlx") for key in vars(base)}
    compiled = owner.__module__.startswith("mlx.core")
    for key, value in sorted(vars(owner).items()):
        if key in above or key == "__init__" or (not compiled and key.startswith("_")):
            continue
        if _is_method(value):
            yield Name(f"{prefix}.{key}", value, prefix)


def _is_method(value: Any) -> bool:
    if isinstance(value, (property, staticmethod, classmethod)) or inspect.isfunction(value):
        return True
    return hasattr(value, "__nb_signature__")


def _package(module: ModuleType) -> str:
    """The package whose names a module may show: ``mlx.core``, ``mlx.nn`` or ``mlx.optimizers``."""
    return ".".join(module.__name__.split(".")[:2])


def _is_below(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")
