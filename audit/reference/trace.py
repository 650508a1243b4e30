"""A function's body, run once on variables that record what is done to them.

A complex number is a pair of reals from the start: inside a program there are real numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from audit.case import Body
from audit.errors import AuditError
from audit.reference import pairs
from audit.reference.arithmetic import Arithmetic
from audit.reference.mapped import Axes, call
from audit.reference.program import Builder

Shape = tuple[int, ...]


class Variable:
    """A node of the program that is being recorded, with Python's operators."""

    __slots__ = ("builder", "node")

    def __init__(self, builder: Builder, node: int) -> None:
        self.builder = builder
        self.node = node

    def __add__(self, other: Any) -> Any:
        return _binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _binary("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _binary("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return _binary("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _binary("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _binary("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _binary("divide", other, self)

    def __pow__(self, exponent: Any) -> Any:
        return _arithmetic(self.builder).power(self, exponent)

    def __neg__(self) -> Variable:
        return _record(self.builder, "negative", (self,), None)

    def __lt__(self, other: Any) -> Any:
        return _binary("less", self, other)

    def __le__(self, other: Any) -> Any:
        return _binary("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return _binary("less", other, self)

    def __ge__(self, other: Any) -> Any:
        return _binary("less_equal", other, self)

    @property
    def real(self) -> Variable:
        """Itself."""
        return self

    @property
    def imag(self) -> int:
        """Zero."""
        return 0

    def conjugate(self) -> Variable:
        """Itself."""
        return self

    def __bool__(self) -> bool:
        raise AuditError(
            "A function's body branches on the value of an argument, but it is recorded once for all points: "
            "write m.where(condition, x, y) instead of if."
        )


def _binary(operation: str, x: Any, y: Any) -> Any:
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray) or pairs.complex_number(x) or pairs.complex_number(y):
        return NotImplemented
    builder = x.builder if isinstance(x, Variable) else y.builder
    return _record(builder, operation, (x, y), None)


def _record(builder: Builder, operation: str, operands: tuple[Any, ...], parameter: int | None) -> Any:
    if any(pairs.complex_number(operand) for operand in operands):
        return pairs.apply(_arithmetic(builder), operation, operands, parameter)
    nodes = [operand.node if isinstance(operand, Variable) else _constant(builder, operand) for operand in operands]
    return Variable(builder, builder.apply(operation, *nodes, parameter=parameter))


def _constant(builder: Builder, value: Any) -> int:
    if isinstance(value, (int, float, Fraction, np.integer, np.floating)) and np.isfinite(float(value)):
        return builder.constant(Fraction(value.item() if isinstance(value, np.generic) else value))
    raise AuditError(f"A constant of a function's body is {value!r}: write a finite int, float or Fraction.")


def _arithmetic(builder: Builder) -> Arithmetic:
    return Arithmetic(lambda operation, operands, parameter: _record(builder, operation, operands, parameter))


@dataclass(frozen=True)
class Trace:
    """A recorded function.

    Args:
        builder: holds its nodes; derivatives are recorded in the same one.
        arguments: for each argument the nodes of its elements, flat, real and imaginary part in turn if complex.
        outputs: the nodes of the result's elements, likewise.
        shape: shape of the result.
        parts: for each argument 2 if its numbers are complex, otherwise 1.
        result_parts: likewise for the result.
    """

    builder: Builder
    arguments: tuple[tuple[int, ...], ...]
    outputs: tuple[int, ...]
    shape: Shape
    parts: tuple[int, ...]
    result_parts: int

    @property
    def complex(self) -> bool:
        """Whether any of its numbers is complex."""
        return 2 in (*self.parts, self.result_parts)


@lru_cache(maxsize=256)
def trace(
    body: Body, shapes: tuple[Shape, ...], parts: tuple[int, ...], result_parts: int, axes: Axes | None = None
) -> Trace:
    """Record a function.

    The inputs of the program are named after argument, element and part: ``p0.3`` is element 3 of the first argument,
    ``p0.3i`` its imaginary part.

    Args:
        body: the function, called as ``body(m, *arguments)``.
        shapes: shape of each argument.
        parts: for each argument 2 if its numbers are complex, otherwise 1.
        result_parts: likewise for the result.
        axes: the axes the function is mapped over, if it is.
    """
    builder = Builder()
    arguments, nodes = [], []
    for place, (shape, count) in enumerate(zip(shapes, parts, strict=True)):
        elements = np.empty(shape, object)
        flat: list[int] = []
        for element in range(elements.size):
            name = f"p{place}.{element}"
            real = Variable(builder, builder.input(name))
            flat.append(real.node)
            number: Any = real
            if count == 2:
                imag = Variable(builder, builder.input(name + "i"))
                flat.append(imag.node)
                number = pairs.Pair(real, imag)
            elements.reshape(-1)[element] = number
        arguments.append(elements if shape else elements[()])
        nodes.append(tuple(flat))
    result = np.asarray(call(body, _arithmetic(builder), arguments, axes), object)
    outputs: list[int] = []
    for number in result.reshape(-1):
        components = pairs.components(number) if result_parts == 2 else (number,)
        if result_parts == 1 and pairs.complex_number(number):
            raise AuditError("A function whose result is said to be real gives a complex number: say result='complex'.")
        outputs.extend(c.node if isinstance(c, Variable) else _constant(builder, c) for c in components)
    return Trace(builder, tuple(nodes), tuple(outputs), result.shape, parts, result_parts)
