"""The size of the terms that add up to a value: the same programs evaluated on magnitudes.

A number of the input has its absolute value as size; a sum has the sum of the sizes, a product their product, so that a
dot product has ``|W| |B|^T``; a quotient has the product of the sizes over the squared denominator, which is the
quotient of the absolute values as long as nothing cancels in the denominator. Any other operation f of x has
``abs(f(x)) + abs(f'(x)) * size(x)``, the second term only if x was itself computed (first-order error propagation, as in
any text on numerical analysis).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

from flint import arb

from audit.reference.adjoint import pull_back
from audit.reference.balls import BALLS, NAN, constant, values
from audit.reference.evaluate import Column, operator
from audit.reference.operations import OPERATIONS
from audit.reference.program import CONSTANT, INPUT, Builder, Program


def sizes(program: Program, inputs: Sequence[Column]) -> list[list[arb]]:
    """Balls that hold the sizes of the terms of the program's results, one list per result.

    Not finite where there is none to give: an operand that is singular, or undecided at the precision of the moment.
    """
    results: list[list[arb]] = [[] for _ in program.outputs]
    steps = _steps(program)
    for point in zip(*inputs, strict=True):
        try:
            found = _at(program, steps, point)
        except BALLS.failures:
            found = [NAN] * len(program.outputs)
        for result, size in zip(results, found, strict=True):
            result.append(size)
    return results


_Step = tuple[Callable[..., arb], Callable[..., arb] | None]


@lru_cache(maxsize=256)
def _steps(program: Program) -> list[_Step | None]:
    steps: list[_Step | None] = []
    for operation, operands, parameter in program.nodes:
        if operation in (INPUT, CONSTANT):
            steps.append(None)
            continue
        entry, arity = OPERATIONS[operation], len(operands)
        value = operator(BALLS, entry.ball, arity, parameter)
        steps.append((value, None if entry.size is None else _size_rule(entry.size, arity, parameter)))
    return steps


@lru_cache(maxsize=256)
def _size_rule(size: str, arity: int, parameter: object) -> Callable[..., arb]:
    """A size as a function of its own value, the operands, and their sizes."""
    values_, sizes_ = ([f"{letter}{place}" for place in range(arity)] for letter in "xm")
    named = {f"m{place}": name for place, name in enumerate(sizes_)}
    named |= {f"a{place}": f"abs({name})" for place, name in enumerate(values_)}
    body = size.format(*values_, **named, a="abs(own)", n=f"({parameter})")
    # The expression is an entry of the table of operations.
    return eval(f"lambda own, {', '.join((*values_, *sizes_))}: {body}", dict(BALLS.helpers))  # noqa: S307


def _at(program: Program, steps: list[_Step | None], point: Sequence[arb]) -> list[arb]:
    given = iter(point)
    found: list[arb] = []
    size: list[arb] = []
    for (operation, operands, parameter), step in zip(program.nodes, steps, strict=True):
        if step is None:
            value = next(given) if operation == INPUT else constant(Fraction(parameter or 0))
            found.append(value)
            size.append(abs(value))
            continue
        evaluate, rule = step
        taken = [found[operand] for operand in operands]
        value = evaluate(*taken)
        found.append(value)
        if rule is not None:
            size.append(rule(value, *taken, *(size[operand] for operand in operands)))
            continue
        total = abs(value)
        for place, operand in enumerate(operands):
            if steps[operand] is not None:
                total += abs(_slope_at(operation, taken, place)) * size[operand]
        size.append(total)
    return [size[output] for output in program.outputs]


def _slope_at(operation: str, operands: Sequence[arb], place: int) -> arb:
    program = _slope(operation, len(operands), place)
    (slope,) = values(program, [[operands[int(name)]] for name in program.inputs])[0]
    return slope


@lru_cache(maxsize=256)
def _slope(operation: str, arity: int, place: int) -> Program:
    """The derivative of an operation by one operand, as a program of all its operands."""
    builder = Builder()
    operands = [builder.input(str(index)) for index in range(arity)]
    value = builder.apply(operation, *operands)
    (slope,) = pull_back(builder, [value], [builder.constant(1)], [operands[place]])
    return builder.extract([slope])


