"""Straight-line programs: what a function's body does, recorded once, without branches or loops.

A program is a list of nodes, each an operation on earlier nodes. Every evaluation of the reference (balls, series,
exact rationals, sizes of terms) and the reverse sweep read the same programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple

from audit.reference.operations import OPERATIONS

INPUT = "input"
CONSTANT = "constant"


class Node(NamedTuple):
    """One operation.

    Args:
        operation: a name in `OPERATIONS`, or ``"input"``, or ``"constant"``.
        operands: indices of earlier nodes.
        parameter: the name of an input, the value of a constant, the integer of an integer power, otherwise None.
    """

    operation: str
    operands: tuple[int, ...] = ()
    parameter: str | Fraction | int | None = None


@dataclass(frozen=True)
class Program:
    """Nodes in order of evaluation, and which of them are the results."""

    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs that the results depend on, in order of their nodes."""
        return tuple(str(node.parameter) for node in self.nodes if node.operation == INPUT)

    @cached_property
    def text(self) -> str:
        """The program in full, one node a line: equal texts compute equal numbers."""
        lines = []
        for index, (operation, operands, parameter) in enumerate(self.nodes):
            words = [operation, *(f"v{operand}" for operand in operands)]
            if parameter is not None:
                words.append(str(parameter))
            lines.append(f"v{index} = {' '.join(words)}")
        lines.append("return " + " ".join(f"v{output}" for output in self.outputs))
        return "\n".join(lines)

    @cached_property
    def work(self) -> int:
        """How many numbers go into all operations together."""
        return sum(len(node.operands) for node in self.nodes)

    @cached_property
    def rational(self) -> bool:
        """Whether every value is rational where the inputs are."""
        return all(
            node.operation in (INPUT, CONSTANT) or OPERATIONS[node.operation].rational is not None
            for node in self.nodes
        )

    @cached_property
    def branches(self) -> bool:
        """Whether a value is selected by a condition."""
        return any(node.operation == "select" for node in self.nodes)

    @cached_property
    def digest(self) -> str:
        """A hash of the text."""
        return blake2b(self.text.encode(), digest_size=16).hexdigest()

    def restricted(self, outputs: Sequence[int]) -> Program:
        """The program of some results alone, given by their positions."""
        if list(outputs) == list(range(len(self.outputs))):
            return self
        return _extracted(self.nodes, [self.outputs[position] for position in outputs])

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Program) and self.text == other.text)


class Builder:
    """Records nodes; an equal node is recorded once.

    Multiplying or dividing by an exact 1 and adding an exact 0 record nothing, operations on constants are done at
    once, signs are moved outwards, and ``x * (1 / y)`` is ``x / y``. Nothing else is simplified: ``x / x`` stays, so
    that the sizes of the terms that cancel in its derivative stay visible.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[Node, int] = {}
        self._values: dict[int, Fraction] = {}
        # Constants, signs and quotients: what an operation on anything else need not look for.
        self._notable: set[int] = set()

    def copy(self) -> Builder:
        """A builder that holds the same nodes and can be added to on its own."""
        other = Builder()
        other.nodes, other._known = self.nodes.copy(), self._known.copy()
        other._values, other._notable = self._values.copy(), self._notable.copy()
        return other

    def input(self, name: str) -> int:
        """The input of that name."""
        return self._record(Node(INPUT, (), name))

    def constant(self, value: Fraction | int) -> int:
        """An exact constant."""
        return self._record(Node(CONSTANT, (), Fraction(value)))

    def value(self, index: int) -> Fraction | None:
        """The value of a node that is a constant, None for any other."""
        return self._values.get(index)

    def given(self, index: int) -> bool:
        """Whether a node is an input or a constant: nothing was computed for it."""
        return self.nodes[index].operation in (INPUT, CONSTANT)

    def apply(self, operation: str, *operands: int, parameter: int | None = None) -> int:
        """An operation on earlier nodes."""
        entry = OPERATIONS[operation]
        if entry.variadic:
            return self._apply_to_all(operation, operands)
        if not any(operand in self._notable for operand in operands):
            if entry.commutative and operands[0] >= operands[1]:
                if operands[0] == operands[1] and operation in ("maximum", "minimum"):
                    return operands[0]
                operands = (operands[1], operands[0])
            return self._record(Node(operation, operands, parameter))
        constants = [self.value(operand) for operand in operands]
        if entry.fold is not None and all(c is not None for c in constants):
            folded = entry.fold(*constants) if parameter is None else entry.fold(*constants, parameter)
            if folded is not None:
                return self.constant(folded)
        if entry.neutral is not None:
            for position, unit in entry.neutral.items():
                if constants[position] == unit:
                    return operands[1 - position]
        if operation == "multiply" and -1 in constants:
            return self.apply("negative", operands[1 - constants.index(Fraction(-1))])
        if operation == "multiply":
            for x, y in (operands, operands[::-1]):
                if self.nodes[y].operation == "divide" and self.value(self.nodes[y].operands[0]) == 1:
                    return self.apply("divide", x, self.nodes[y].operands[1])
        plain = [self._without_sign(operand) for operand in operands]
        if entry.odd and plain != list(operands):
            result = plain[0] if operation == "negative" else self.apply(operation, *plain)
            odd = sum(x != y for x, y in zip(plain, operands, strict=True)) + (operation == "negative")
            return self.apply("negative", result) if odd % 2 else result
        if operation in ("add", "subtract") and plain[1] != operands[1]:
            return self.apply("subtract" if operation == "add" else "add", operands[0], plain[1])
        if operation == "add" and plain[0] != operands[0]:
            return self.apply("subtract", operands[1], plain[0])
        if entry.commutative:
            operands = tuple(sorted(operands))
        return self._record(Node(operation, operands, parameter))

    def _apply_to_all(self, operation: str, operands: tuple[int, ...]) -> int:
        """A sum or a dot product, without what is exactly zero."""
        if operation == "sum":
            kept = [x for x in operands if self._values.get(x) != 0]
            if len(kept) < 2:
                return kept[0] if kept else self.constant(0)
            return self.apply("add", *kept) if len(kept) == 2 else self._record(Node("sum", tuple(kept)))
        half = len(operands) // 2
        pairs = [
            (x, y)
            for x, y in zip(operands[:half], operands[half:], strict=True)
            if self._values.get(x) != 0 and self._values.get(y) != 0
        ]
        if any(x in self._values or y in self._values for x, y in pairs) or len(pairs) < 2:
            return self.apply("sum", *(self.apply("multiply", x, y) for x, y in pairs))
        return self._record(Node("dot", (*(x for x, _ in pairs), *(y for _, y in pairs))))

    def _without_sign(self, index: int) -> int:
        node = self.nodes[index]
        return node.operands[0] if node.operation == "negative" else index

    def extract(self, outputs: Iterable[int]) -> Program:
        """The program that computes these nodes, without nodes that they do not need."""
        return _extracted(self.nodes, list(outputs))

    def include(self, program: Program) -> tuple[int, ...]:
        """Record another program's nodes here; the indices of its results."""
        place: list[int] = []
        for node in program.nodes:
            operands = tuple([place[operand] for operand in node.operands])
            place.append(self._record(Node(node.operation, operands, node.parameter)))
        return tuple(place[output] for output in program.outputs)

    def _record(self, node: Node) -> int:
        index = self._known.get(node)
        if index is None:
            index = self._known[node] = len(self.nodes)
            self.nodes.append(node)
            if node.operation in ("negative", "divide"):
                self._notable.add(index)
            elif node.operation == CONSTANT and isinstance(node.parameter, Fraction):
                self._notable.add(index)
                self._values[index] = node.parameter
        return index


def _extracted(nodes: Sequence[Node], wanted: Sequence[int]) -> Program:
    needed = ancestors(nodes, wanted)
    place = dict(zip(needed, range(len(needed)), strict=True))
    kept = []
    for index in needed:
        operation, operands, parameter = nodes[index]
        kept.append(Node(operation, tuple([place[operand] for operand in operands]), parameter))
    return Program(tuple(kept), tuple(place[output] for output in wanted))


def ancestors(nodes: Sequence[Node], wanted: Iterable[int]) -> list[int]:
    """Indices of the nodes that the wanted ones depend on, themselves included, ascending."""
    wanted = list(wanted)
    needed = bytearray(max(wanted, default=-1) + 1)
    for index in wanted:
        needed[index] = 1
    for index in range(len(needed) - 1, -1, -1):
        if needed[index]:
            for operand in nodes[index].operands:
                needed[operand] = 1
    return [index for index, flag in enumerate(needed) if flag]
