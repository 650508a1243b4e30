"""Whose derivative a row is about: the operation, the function that was asked, and its parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from audit.case import Batch, Case, Function, Tolerance
from audit.operation import Operation
from audit.registry import find_cases, find_operations


@dataclass(frozen=True)
class Subject:
    """One function of a case, as defects name it.

    Args:
        operation: MLX's own name, e.g. ``"mx.softmax"``.
        function: what is differentiated.
        parameters: what stands behind the operation, e.g. ``"(axis=-1)"``; empty for the defaults.
        tolerance: how far a derivative may be off, where a point is asked again.
        within: for a composition, the operation that its case is about; a defect of that one of the same class is the
            likely cause.
        title: what defects of a composition are listed under in place of its operation.
    """

    operation: str
    function: Function
    parameters: str = ""
    tolerance: Tolerance = field(default_factory=Tolerance)
    within: str = ""
    title: str = ""


Subjects = Mapping[tuple[str, str], Subject]


def split_name(name: str) -> tuple[str, str]:
    """MLX's own name, and what else a function's name says: parameters, or which form of the operation it is.

    ``"mx.softmax(axis=-1)"`` is ``("mx.softmax", "(axis=-1)")``, and ``"mx.array.__getitem__[slices]"`` is
    ``("mx.array.__getitem__", "[slices]")``.
    """
    operation = re.split(r"[(\[]", name, maxsplit=1)[0]
    return operation, name.removeprefix(operation)


def of_case(case: Case) -> dict[tuple[str, str], Subject]:
    """The subjects of a case: functions of the first one's arguments are the operation itself, others compositions."""
    # A case whose points cannot be made may lack functions too.
    own = case.functions[0].arguments if case.functions else ()
    found = {}
    for function in case.functions:
        if function.arguments == own:
            subject = Subject(case.operation, function)
        else:
            subject = Subject(function.text, function, within=case.operation, title=function.text)
        found[case.name, function.name] = subject
    return found


def of_operation(case: str, operation: Operation) -> dict[tuple[str, str], Subject]:
    """The subjects of an operation: one for each combination of its parameters.

    Args:
        case: name of its case file.
        operation: what it declares.
    """
    found = {}
    for parameters in operation.combinations():
        function = operation.function(parameters, elementwise=operation.elementwise)
        name, given = split_name(function.name)
        found[case, function.name] = Subject(name, function, given, operation.tolerance)
    return found


def registered() -> Subjects:
    """The subjects of all cases and operations that can be found."""
    cases, _ = find_cases()
    operations, _ = find_operations()
    found: dict[tuple[str, str], Subject] = {}
    for case in cases.values():
        found |= of_case(case)
    for module, operation in operations.values():
        found |= of_operation(module, operation)
    return found


def of_batches(case: str, batches: Iterable[Batch]) -> dict[tuple[str, str], Subject]:
    """The subjects of batches whose functions are named after an operation and its parameters."""
    found: dict[tuple[str, str], Subject] = {}
    for batch in batches:
        key = (case, batch.function.name)
        if key not in found:
            operation, parameters = split_name(batch.function.name)
            found[key] = Subject(operation, batch.function, parameters, batch.tolerance)
    return found
