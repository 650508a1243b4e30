"""Cases, found: every module of the package `cases` that defines ``CASE`` or ``OPERATIONS``."""

from __future__ import annotations

import importlib
import pkgutil
import traceback
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cases
from audit.case import Case
from audit.errors import UnknownName
from audit.operation import Operation


@dataclass(frozen=True)
class Broken:
    """A case file that raised when it was imported, or when its points were made.

    Args:
        module: its name, e.g. ``"cases.divide"``.
        place: file and line at which it raised.
        message: what it raised.
    """

    module: str
    place: str
    message: str


@cache
def find_cases() -> tuple[dict[str, Case], tuple[Broken, ...]]:
    """All cases by name, and the case files that could not be imported."""
    found: dict[str, Case] = {}
    broken: list[Broken] = []
    for info in sorted(pkgutil.iter_modules(cases.__path__), key=lambda info: info.name):
        name = f"{cases.__name__}.{info.name}"
        try:
            case = getattr(importlib.import_module(name), "CASE", None)
        except (Exception, SystemExit) as error:  # noqa: BLE001  one broken file must not stop the others
            broken.append(broken_by(error, name))
            continue
        if isinstance(case, Case):
            found[case.name] = case
        elif case is not None:
            message = f"CASE is of type {type(case).__name__}: make it an audit.case.Case"
            broken.append(Broken(name, f"{info.name}.py", message))
    return found, tuple(broken)


@cache
def find_operations() -> tuple[dict[str, tuple[str, Operation]], tuple[Broken, ...]]:
    """All operations by name, each with the name of its file, and the files that do not define them rightly.

    A name that two files define is broken in the second; files that cannot be imported are those of `find_cases`.
    """
    found: dict[str, tuple[str, Operation]] = {}
    broken: list[Broken] = []
    for info in sorted(pkgutil.iter_modules(cases.__path__), key=lambda info: info.name):
        name = f"{cases.__name__}.{info.name}"
        try:
            operations = getattr(importlib.import_module(name), "OPERATIONS", ())
        except (Exception, SystemExit):  # noqa: BLE001, S112  `find_cases` says why
            continue
        if not isinstance(operations, tuple):
            message = f"OPERATIONS is of type {type(operations).__name__}: make it a tuple of audit.operation.Operation"
            broken.append(Broken(name, f"{info.name}.py", message))
            continue
        for place, operation in enumerate(operations):
            if not isinstance(operation, Operation):
                message = f"OPERATIONS[{place}] is of type {type(operation).__name__}: make it an Operation"
            elif operation.name in found:
                message = f"{operation.name} is defined by cases.{found[operation.name][0]} already"
            else:
                found[operation.name] = (info.name, operation)
                continue
            broken.append(Broken(name, f"{info.name}.py", message))
    return found, tuple(broken)


def case(name: str) -> Case:
    """The case of that name.

    Raises:
        UnknownName: no such case; the message lists those that exist.
    """
    found, _ = find_cases()
    if name not in found:
        raise UnknownName("case", name, found)
    return found[name]


def broken_by(error: BaseException, module: str) -> Broken:
    """What a case file raised, and where in it.

    Args:
        error: what was raised.
        module: its name, e.g. ``"cases.divide"``.
    """
    return Broken(module, _place(error, module.rpartition(".")[2]), f"{type(error).__name__}: {error}")


def _place(error: BaseException, module: str) -> str:
    """File and line in the case file itself, or where the error was raised if it never reached a line of it."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).stem == module]
    frame = (own or frames)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"
