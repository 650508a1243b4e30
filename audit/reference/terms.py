"""The size of the terms that add up to a value: the same programs evaluated on magnitudes.

A number of the input has its absolute value as size; a sum has the sum of the sizes, a product their product, so that a
dot product has ``|W| |B|^T``; a quotient has the product of the sizes over the squared denominator, which is the
quotient of the absolute values as long as nothing cancels in the denominator. Any other operation f of x has
``abs(f(x)) + abs(f'(x)) * size(x)``, the second term only if x was itself computed (first-order error propagation, as
in any text on numerical analysis).
"""

from __future__ import annotations

from functools import lru_cache

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
