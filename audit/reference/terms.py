"""The size of the terms that add up to a value: the same programs evaluated on magnitudes.

A number of the input has its absolute value as size; a sum has the sum of the sizes, a product their product, so that a
dot product has ``|W| |B|^T``; a quotient has the product of the sizes over the squared denominator, which is the
quotient of the absolute values as long as nothing cancels in the denominator. Any other operation f of x has
``abs(f(x)) + abs(f'(x)) * size(x)``, the second term only if x was itself computed (first-order error propagation, as
in any text on numerical analysis).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from audit.reference.evaluate import Dialect, Undecided, operator
from audit.reference.operations import OPERATIONS, Measure, Step
from audit.reference.program import CONSTANT, INPUT, Builder, Program


@lru_cache(maxsize=512)
def sizes(program: Program) -> Program:
    """The program of the sizes of the terms of a program's results, in the same order."""
    builder = Builder()
    values = _copies(builder, program)
    one = builder.constant(1)
    found: list[int] = []
    for (operation, operands, parameter), value in zip(program.nodes, values, strict=True):
        if operation in (INPUT, CONSTANT):
            found.append(builder.apply("abs", value))
            continue
        entry, number = OPERATIONS[operation], parameter if isinstance(parameter, int) else 0
        taken = tuple(values[operand] for operand in operands)
        if entry.size is not None:
            measured = tuple(found[operand] for operand in operands)
            found.append(entry.size(Measure(builder, taken, value, measured, number)))
            continue
        total = builder.apply("abs", value)
        for operand, pull in zip(operands, entry.pulls, strict=True):
            if pull is not None and program.nodes[operand].operation not in (INPUT, CONSTANT):
                slope = builder.apply("abs", pull(Step(builder, taken, value, one, number)))
                total = builder.apply("add", total, builder.apply("multiply", slope, found[operand]))
        found.append(total)
    return builder.extract(found[output] for output in program.outputs)


def _copies(builder: Builder, program: Program) -> tuple[int, ...]:
    """The nodes of a program, recorded again."""
    return builder.include(Program(program.nodes, tuple(range(len(program.nodes)))))


def measure(program: Program, numbers: Sequence[Any], dialect: Dialect) -> list[Any]:
    """The sizes of the terms of a program's results at one point where the value of every node is known.

    What `sizes` records is computed at once here: for large programs and few points.

    Args:
        program: whose results.
        numbers: the value of each of its nodes, None where there is none.
        dialect: balls.

    Returns:
        For each result its size, None where there is none.
    """
    recorder = _Direct(program, numbers, dialect)
    one = recorder.constant(1)
    found: list[int | None] = []
    for index, (operation, operands, parameter) in enumerate(program.nodes):
        found.append(None)
        if numbers[index] is None:
            continue
        try:
            if operation in (INPUT, CONSTANT):
                found[index] = recorder.apply("abs", index)
            elif operation == "select":
                found[index] = found[operands[1] if numbers[operands[0]] else operands[2]]
            elif operation == "gate" and numbers[operands[0]].is_zero():
                found[index] = recorder.constant(0)
            elif operation == "gate":
                found[index] = found[operands[1]]
            else:
                found[index] = _measured(recorder, index, operation, operands, parameter, found, one)
        except dialect.failures:
            continue
    return [None if found[output] is None else recorder.numbers[found[output] or 0] for output in program.outputs]


def _measured(
    recorder: _Direct,
    index: int,
    operation: str,
    operands: tuple[int, ...],
    parameter: Any,
    found: list[int | None],
    one: int,
) -> int | None:
    entry, number = OPERATIONS[operation], parameter if isinstance(parameter, int) else 0
    if entry.logical:
        return recorder.constant(1)
    measured = [size for size in map(found.__getitem__, operands) if size is not None]
    if entry.size is not None:
        if len(measured) < len(operands):
            return None
        return entry.size(Measure(recorder, operands, index, tuple(measured), number))
    total = recorder.apply("abs", index)
    for position, operand in enumerate(operands):
        pull, size = entry.pull(position), found[operand]
        if pull is not None and not recorder.given(operand):
            if size is None:
                return None
            slope = recorder.apply("abs", pull(Step(recorder, operands, index, one, number, position)))
            total = recorder.apply("add", total, recorder.apply("multiply", slope, size))
    return total


class _Direct:
    """Computes what is recorded: a node is a number in a list.

    Attributes:
        numbers: of the nodes of the program, and after them of what was recorded.
    """

    def __init__(self, program: Program, numbers: Sequence[Any], dialect: Dialect) -> None:
        self.numbers = list(numbers)
        self._given = [node.operation in (INPUT, CONSTANT) for node in program.nodes]
        self._dialect = dialect
        self._functions: dict[tuple[str, int, int | None], Any] = {}
        self._constants: dict[Fraction | int, int] = {}

    def constant(self, value: Fraction | int) -> int:
        """A constant."""
        if value not in self._constants:
            self._constants[value] = len(self.numbers)
            self.numbers.append(self._dialect.constant(Fraction(value)))
        return self._constants[value]

    def given(self, index: int) -> bool:
        """Whether a node is an input or a constant."""
        return index < len(self._given) and self._given[index]

    def apply(self, operation: str, *operands: int, parameter: int | None = None) -> int:
        """The number that an operation gives.

        Raises:
            Undecided, NoDerivative: it gives none.
        """
        name = (operation, len(operands), parameter)
        if name not in self._functions:
            expression = self._dialect.expression(operation)
            self._functions[name] = operator(self._dialect, expression, len(operands), parameter)
        taken = [self.numbers[operand] for operand in operands]
        if any(number is None for number in taken):
            raise Undecided
        self.numbers.append(self._functions[name](*taken))
        return len(self.numbers) - 1
