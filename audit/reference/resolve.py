"""What a program's results are at one point where it fails: behind zero weights, at infinite slopes, and at ties.

A *tie* is a comparison of two numbers that are exactly equal there and depend on what is differentiated. On either side
of it the function is another smooth function, so that each way to settle the ties that matter, a *resolution*, gives a
limit of derivatives at points nearby, and the right set is the convex hull of these limits as whole vectors (the
generalised gradient: F. H. Clarke, Optimization and Nonsmooth Analysis, 1983, theorem 2.5.1). That holds where the
function and its lower derivatives are continuous: where a resolution changes one of them there is no derivative. A tie
that only zeros are multiplied by does not matter. Results that share no tie are independent, and each has a hull of its
own. All ways to settle ties are taken to be possible; where they are not, the hull is too large rather than too small.

A number compared for equality may also stay equal: that adds the derivative of the branch taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from audit.reference.enclosure import State
from audit.reference.evaluate import Dialect, NoDerivative, Undecided, operator, series_nodes
from audit.reference.operations import OPERATIONS
from audit.reference.program import CONSTANT, INPUT, Program, ancestors

# More resolutions of results that belong together are not looked at: their derivative counts as undefined.
MOST_RESOLUTIONS = 64

_COMPARING = frozenset({"exceeds", "flat", "sign", "less", "less_equal", "equal", "decided_less", "decided_equal"})
_STEADY = frozenset({"add", "subtract", "multiply", "negative", "sum", "dot"})

Pair = tuple[int, int]


@dataclass(frozen=True)
class _Missing:
    """No value: certainly, or because balls are too wide."""

    certain: bool


@dataclass(frozen=True)
class _Pending:
    """A value that depends on how a tie is settled; `bounded` if it is finite however that is."""

    tie: Pair
    bounded: bool


_OPEN = (_Missing, _Pending)


@dataclass(frozen=True)
class Group:
    """Results that belong together, and what they are under each resolution of their ties.

    Args:
        lanes: positions of the results.
        vertices: one list of numbers a resolution, one number a lane.
    """

    lanes: list[int]
    vertices: list[list[Any]]


@dataclass
class Resolved:
    """What is known of the results of a program at a point.

    Args:
        states: of each result; `State.SET` where a group says what it is.
        values: of each result that is KNOWN.
        groups: the results that are sets.
        tied: whether ties were met.
        numbers: the value of every node, None where there is none; under one of the resolutions where they differ.
        tangled: whether results have more resolutions than are looked at.
    """

    states: list[State]
    values: list[Any]
    groups: list[Group] = field(default_factory=list)
    tied: bool = False
    numbers: list[Any] = field(default_factory=list)
    tangled: bool = False


@dataclass(frozen=True)
class Subject:
    """What the results of a program are derivatives of.

    Args:
        moving: names of the inputs that are differentiated.
        owners: for each result the inputs that it is differentiated by, or, along a tangent, the index among the
            required results of the one that it is the derivative of.
        weights: the names of the weights of the first required results.
    """

    moving: frozenset[str]
    owners: Sequence[frozenset[str] | int]
    weights: tuple[str, ...] = ()


def resolve(program: Program, required: int, dialect: Dialect, given: Sequence[Any], subject: Subject) -> Resolved:
    """The results of a careful program at one point.

    Args:
        program: its contributions are gated.
        required: how many results, at its end, must exist and be continuous for the others to exist.
        dialect: balls at the precision of the moment, or exact rationals.
        given: a number per name in ``program.inputs``.
        subject: what they are derivatives of.
    """
    point = _Point(program, dialect, given, subject.moving)
    lanes = len(program.outputs) - required
    ends = [point.base[output] for output in program.outputs]
    found = Resolved([State.INCONCLUSIVE] * lanes, [None] * lanes, tied=bool(point.ties))
    absent = [end for end in ends[lanes:] if isinstance(end, _Missing)]
    if absent:
        state = State.UNDEFINED if any(end.certain for end in absent) else State.INCONCLUSIVE
        found.states = [state] * lanes
        return found
    for lane, end in enumerate(ends[:lanes]):
        if isinstance(end, _Missing):
            found.states[lane] = State.UNDEFINED if end.certain else State.INCONCLUSIVE
        elif not isinstance(end, _Pending):
            found.states[lane], found.values[lane] = State.KNOWN, end
    numbers = point.one_way()
    idle = {name for name, number in zip(program.inputs, given, strict=True) if number == 0}
    for positions, ties in point.components(program.outputs):
        inside, outside = [p for p in positions if p < lanes], [p for p in positions if p >= lanes]
        jumping = _settle(point, inside, outside, found, numbers)
        jumping = [k - lanes for k in jumping]
        jumping = [k for k in jumping if not (k < len(subject.weights) and subject.weights[k] in idle)]
        if jumping:
            names = point.below(ties)
            for lane, owner in enumerate(subject.owners):
                if owner in jumping if isinstance(owner, int) else owner & names:
                    found.states[lane] = State.UNDEFINED
    found.numbers = [numbers.get(index, value) for index, value in enumerate(point.base)]
    found.numbers = [None if isinstance(value, (_Missing, _Pending)) else value for value in found.numbers]
    return found


def _settle(
    point: _Point, lanes: list[int], required: list[int], found: Resolved, numbers: dict[int, Any]
) -> list[int]:
    """Enter what the results of one component are; the positions of required ones that jump."""
    outputs = point.program.outputs
    leaves = point.leaves([outputs[position] for position in (*lanes, *required)])
    if leaves is None:
        found.tangled = True
        for lane in lanes:
            found.states[lane] = State.UNDEFINED
        return []
    numbers.update(leaves[0])
    rows = [[leaf.get(outputs[position], point.base[outputs[position]]) for leaf in leaves] for position in required]
    absent = [value for row in rows for value in row if isinstance(value, _Missing)]
    jumping = [
        position
        for position, row in zip(required, rows, strict=True)
        if not absent and not all(_same(point.dialect, row[0], value) for value in row)
    ]
    kept: list[int] = []
    for lane in lanes:
        column = [leaf[outputs[lane]] for leaf in leaves]
        lacking = [value for value in column if isinstance(value, _Missing)] + absent
        if lacking or jumping:
            certain = bool(jumping) or any(value.certain for value in lacking)
            found.states[lane] = State.UNDEFINED if certain else State.INCONCLUSIVE
        elif all(_same(point.dialect, x, y) for x in column[:1] for y in column):
            found.states[lane], found.values[lane] = State.KNOWN, _joined(point.dialect, column)
        else:
            kept.append(lane)
            found.states[lane] = State.SET
    vertices: list[list[Any]] = []
    for leaf in leaves:
        corner = [leaf[outputs[lane]] for lane in kept]
        if not any(all(_same(point.dialect, x, y) for x, y in zip(corner, v, strict=True)) for v in vertices):
            vertices.append(corner)
    if kept:
        found.groups.append(Group(kept, vertices))
    return jumping


def _same(dialect: Dialect, x: Any, y: Any) -> bool:
    return bool(x == y) if dialect.name == "rational" else bool(x.overlaps(y))


def _joined(dialect: Dialect, column: list[Any]) -> Any:
    value = column[0]
    for other in column[1:] if dialect.name != "rational" else ():
        value = value.union(other)
    return value


class _Point:
    """A program at one point, its ties left open.

    Attributes:
        base: for each node its value, or why there is none yet.
        ties: the pairs of nodes that are exactly equal and compared.
    """

    def __init__(self, program: Program, dialect: Dialect, given: Sequence[Any], moving: frozenset[str]) -> None:
        self.program, self.dialect = program, dialect
        self.zero, self.one = dialect.constant(Fraction(0)), dialect.constant(Fraction(1))
        self.ties: dict[Pair, bool] = {}
        self._table = _table(program, dialect, moving)
        self.depends = self._table.depends
        self.base: list[Any] = []
        numbers = iter(given)
        for index, (operation, _, parameter) in enumerate(program.nodes):
            if operation == INPUT:
                value: Any = next(numbers)
            elif operation == CONSTANT:
                assert isinstance(parameter, Fraction)
                value = dialect.constant(parameter)
            else:
                value = self._node(index, [self.base[operand] for operand in program.nodes[index].operands], {})
            self.base.append(value)

    def below(self, ties: Sequence[Pair]) -> set[str]:
        """The inputs that are differentiated and that the numbers of some ties depend on."""
        nodes = self.program.nodes
        needed = ancestors(nodes, [index for tie in ties for index in tie if index >= 0])
        return {str(nodes[i].parameter) for i in needed if nodes[i].operation == INPUT and self.depends[i]}

    def components(self, outputs: Sequence[int]) -> list[tuple[list[int], list[Pair]]]:
        """Positions of the results that depend on ties, those that share one together, and the ties."""
        place = {tie: bit for bit, tie in enumerate(self.ties)}
        masks: list[int] = []
        for index, value in enumerate(self.base):
            mask = 0
            if isinstance(value, _Pending):
                for operand in self.program.nodes[index].operands:
                    mask |= masks[operand]
                mask |= 1 << place[value.tie]
            masks.append(mask)
        groups: list[tuple[int, list[int]]] = []
        for position, output in enumerate(outputs):
            mask = masks[output]
            if not mask:
                continue
            joined = [position]
            rest = []
            for other, positions in groups:
                if other & mask:
                    mask |= other
                    joined = positions + joined
                else:
                    rest.append((other, positions))
            groups = [*rest, (mask, joined)]
        ties = list(self.ties)
        return [(sorted(positions), [t for bit, t in enumerate(ties) if mask >> bit & 1]) for mask, positions in groups]

    def one_way(self) -> dict[int, Any]:
        """What the nodes that are open become under one of the resolutions."""
        todo = [index for index, value in enumerate(self.base) if isinstance(value, _Pending)]
        settled: dict[Pair, int] = {}
        values: dict[int, Any] = {}
        while settled.keys() != self.ties.keys():
            settled = dict.fromkeys(self.ties, 1)
            self._settled_by(settled, todo, values)
        return values

    def _settled_by(self, settled: dict[Pair, int], todo: Sequence[int], values: dict[int, Any]) -> None:
        """Enter the values of some nodes under a resolution."""
        nodes, base = self.program.nodes, self.base
        for index in todo:
            numbers = [values[operand] if operand in values else base[operand] for operand in nodes[index].operands]
            values[index] = self._node(index, numbers, settled)

    def leaves(self, targets: Sequence[int]) -> list[dict[int, Any]] | None:
        """What the nodes that are open become under each resolution that matters to the targets; None if too many."""
        needed = bytearray(len(self.base))
        for target in targets:
            needed[target] = 1
        for index in range(len(self.base) - 1, -1, -1):
            if needed[index]:
                for operand in self.program.nodes[index].operands:
                    needed[operand] |= isinstance(self.base[operand], _Pending)
        todo = [index for index, flag in enumerate(needed) if flag and isinstance(self.base[index], _Pending)]
        found: list[dict[int, Any]] = []
        waiting: list[dict[Pair, int]] = [{}]
        while waiting:
            settled = waiting.pop()
            values: dict[int, Any] = {}
            self._settled_by(settled, todo, values)
            open_ = next((values[t].tie for t in targets if isinstance(values.get(t), _Pending)), None)
            if open_ is None:
                found.append(values)
            else:
                waiting.extend({**settled, open_: side} for side in ((-1, 1, 0) if self.ties[open_] else (-1, 1)))
            if len(found) + len(waiting) > MOST_RESOLUTIONS:
                return None
        return found

    def _node(self, index: int, numbers: list[Any], settled: dict[Pair, int]) -> Any:
        """The value of a node, given those of its operands."""
        operation = self.program.nodes[index].operation
        if any(type(number) in _OPEN for number in numbers):
            return self._open_node(operation, numbers)
        if operation == "select":
            return numbers[1] if numbers[0] else numbers[2]
        if operation == "gate":
            return self.zero if numbers[0] == 0 else numbers[1]
        if operation in _COMPARING and self.depends[index]:
            compared = self._compared(operation, self.program.nodes[index].operands, numbers, settled)
            if compared is not None:
                return compared
        return self._value(index, numbers)

    def _open_node(self, operation: str, numbers: list[Any]) -> Any:
        """The value of a node whose operands do not all have one."""
        if operation in ("select", "gate"):
            first = numbers[0]
            if isinstance(first, _Pending):
                return _Pending(first.tie, False)
            if isinstance(first, _Missing):
                return first
            if operation == "gate":
                return self.zero if first == 0 else numbers[1]
            return numbers[1] if first else numbers[2]
        if operation == "multiply" and self._idle(*numbers):
            return self.zero
        missing = [number for number in numbers if isinstance(number, _Missing)]
        if missing:
            return _Missing(any(number.certain for number in missing))
        pending = [number for number in numbers if isinstance(number, _Pending)]
        # The tie met last first: what it leaves out need not be settled.
        last = max(pending, key=lambda number: number.tie[1])
        return _Pending(last.tie, operation in _STEADY and all(number.bounded for number in pending))

    def _value(self, index: int, numbers: list[Any]) -> Any:
        function, finite, outside = self._table.functions[index]
        try:
            value = function(*numbers)
        except (NoDerivative, ZeroDivisionError):
            return _Missing(True)
        except (Undecided, ValueError):
            return _Missing(False)
        if finite or value.is_finite():
            return value
        return _Missing(outside is not None and bool(outside(*numbers)))

    def _compared(self, operation: str, operands: tuple[int, ...], numbers: list[Any], settled: dict[Pair, int]) -> Any:
        """What a comparison is whose numbers are exactly equal; None if they are not."""
        x, y = operands if operation != "sign" else (operands[0], self._table.zero)
        left, right = numbers if operation != "sign" else (numbers[0], self.zero)
        equal = left == right  # Of balls that merely overlap neither this nor its contrary is true.
        if x == y or not equal:
            return None
        pair = (min(x, y), max(x, y))
        self.ties[pair] = self.ties.get(pair, False) or operation in ("equal", "decided_equal")
        if pair not in settled:
            return _Pending(pair, operation in ("exceeds", "flat", "sign"))
        # 1 if the left number is the larger one.
        side = settled[pair] * (1 if x == pair[0] else -1)
        if operation == "sign":
            return self.one * side
        if operation in ("exceeds", "flat"):
            above = side > 0 or (side == 0 and x == pair[0])
            return self.one if operation == "exceeds" and above else self.zero
        return side == 0 if operation in ("equal", "decided_equal") else side < 0

    def _idle(self, x: Any, y: Any) -> bool:
        """Whether a product is zero however ties are settled."""
        for number, other in ((x, y), (y, x)):
            if isinstance(other, _Pending) and other.bounded and type(number) not in _OPEN and number == 0:
                return True
        return False


@dataclass(frozen=True)
class _Table:
    """A program made ready to be resolved.

    Args:
        depends: which nodes depend on what is differentiated.
        zero: the node that is zero, -1 if there is none.
        functions: for each node its operation, whether every result of that is a value, and whether there certainly
            is none.
    """

    depends: list[bool]
    zero: int
    functions: list[tuple[Any, bool, Any]]


def _table(program: Program, dialect: Dialect, moving: frozenset[str]) -> _Table:
    kept: dict[tuple[str, frozenset[str]], _Table] = program.__dict__.setdefault("_resolved", {})
    name = (dialect.name, moving)
    if name not in kept:
        functions: list[tuple[Any, bool, Any]] = []
        for operation, operands, parameter in program.nodes:
            if operation in (INPUT, CONSTANT):
                functions.append((None, True, None))
                continue
            entry, size = OPERATIONS[operation], len(operands)
            finite = entry.logical or dialect.name == "rational"
            outside = None if finite or entry.outside is None else operator(dialect, entry.outside, size, parameter)
            functions.append((operator(dialect, dialect.expression(operation), size, parameter), finite, outside))
        zero = next((i for i, node in enumerate(program.nodes) if node.parameter == Fraction(0)), -1)
        kept[name] = _Table(series_nodes(program, moving), zero, functions)
    return kept[name]
