"""The reverse and the forward sweep, as transformations of programs: what they give is recorded in the same operations.

Since a derivative is a program again, a second derivative is the transformation applied to its own result.

Zero times an infinite slope is not a number, but a branch that is not taken and a weight that is exactly zero
contribute nothing, whatever the slope. So a second number goes along with each cotangent: its *life*, a sum of
magnitudes that is exactly zero where every path from the weights is closed by a zero weight, by a choice that fell
otherwise, or by a factor that is exactly zero and does not depend on what is differentiated. A factor that merely
happens to be zero closes nothing: ``sqrt(x) * sqrt(x)`` at zero keeps its infinite slopes. Where a life is zero the
contribution is (`gate`).
"""

from __future__ import annotations

from collections.abc import Sequence

from audit.reference.operations import OPERATIONS, Step
from audit.reference.program import INPUT, Builder, Node, ancestors

# Through these a life is chosen as the cotangent is.
_CHOOSING = frozenset({"select", "gate", "maximum", "minimum"})
# What these hand on is zero where the cotangent is.
_PLAIN = frozenset({"add", "subtract", "negative", "sum", "select", "gate"})

# Comparisons, as they are where a derivative is asked for.
DECIDED = {"less": "decided_less", "less_equal": "decided_less", "equal": "decided_equal"}


def pull_back(
    builder: Builder, outputs: Sequence[int], cotangents: Sequence[int], wanted: Sequence[int], *, careful: bool = False
) -> list[int]:
    """Record the cotangents of some nodes, given those of others.

    Args:
        builder: where everything is recorded.
        outputs: the nodes that are differentiated.
        cotangents: a node per output, its cotangent w.
        wanted: the nodes x with respect to which they are.
        careful: gate every contribution, so that zero weights stop at infinite slopes; programs without branches are
            otherwise not gated, since their numbers are the same wherever they exist.

    Returns:
        For each x, the node that holds the sum over outputs y of ``w * dy/dx``.
    """
    needed = ancestors(builder.nodes, outputs)
    depends = set(wanted)
    for index in needed:
        if any(operand in depends for operand in builder.nodes[index].operands):
            depends.add(index)
    sweep = _Sweep(builder, depends, gated=careful or _branches(builder, needed))
    for output, cotangent in zip(outputs, cotangents, strict=True):
        sweep.start(output, cotangent)
    for index in reversed(needed):
        node = builder.nodes[index]
        if not node.operands or index not in depends or not sweep.reached(index):
            continue
        for position, operand in enumerate(node.operands):
            if operand in depends:
                sweep.carry(index, node, position, source=index, target=operand)
    return [sweep.total(x) for x in wanted]


def push_forward(
    builder: Builder, outputs: Sequence[int], inputs: Sequence[int], tangents: Sequence[int], *, careful: bool = False
) -> list[int]:
    """Record the tangents of some nodes, given those of the nodes they depend on.

    Every operation has one result, so that what it pulls back from a cotangent of t is the slope times t.

    Args:
        builder, careful: as for `pull_back`.
        outputs: the nodes whose tangents are asked for.
        inputs: nodes that depend on nothing.
        tangents: a node per input.

    Returns:
        For each output y, the node that holds the sum over inputs x of ``dy/dx * t``.
    """
    needed = ancestors(builder.nodes, outputs)
    depends = set(inputs)
    sweep = _Sweep(builder, depends, gated=careful or _branches(builder, needed))
    for x, tangent in zip(inputs, tangents, strict=True):
        sweep.start(x, tangent)
    for index in needed:
        node = builder.nodes[index]
        moving = [position for position, operand in enumerate(node.operands) if operand in depends]
        if moving:
            depends.add(index)
        for position in moving:
            sweep.carry(index, node, position, source=node.operands[position], target=index)
    return [sweep.total(y) for y in outputs]


class _Sweep:
    """Cotangents (or tangents) on their way, with their lives.

    Args:
        builder: where everything is recorded.
        depends: the nodes that depend on what is differentiated.
        gated: whether lives are kept.
    """

    def __init__(self, builder: Builder, depends: set[int], *, gated: bool) -> None:
        self._builder, self._depends, self._gated = builder, depends, gated
        self._numbers: dict[int, list[tuple[int, int | None]]] = {}
        self._lives: dict[int, list[tuple[int, int | None]]] = {}
        self._totals: dict[int, int] = {}
        self._living: dict[int, int] = {}

    def start(self, index: int, weight: int) -> None:
        """Begin with a weight at a node."""
        if self._builder.value(weight) == 0:
            return
        self._numbers.setdefault(index, []).append((weight, None))
        if self._gated:
            self._lives.setdefault(index, []).append((self._builder.apply("abs", weight), None))

    def reached(self, index: int) -> bool:
        """Whether anything has arrived at a node."""
        return index in self._numbers

    def total(self, index: int) -> int:
        """What has arrived at a node."""
        if index not in self._totals:
            self._totals[index] = _added(self._builder, self._numbers.get(index, []))
        return self._totals[index]

    def carry(self, index: int, node: Node, position: int, *, source: int, target: int) -> None:
        """Take what has arrived at the source through one operand of a node to the target."""
        pull = OPERATIONS[node.operation].pull(position)
        if pull is None or not self.reached(source):
            return
        builder, weight = self._builder, self.total(source)
        if builder.value(weight) == 0:
            return
        parameter = node.parameter if isinstance(node.parameter, int) else 0
        operands = node.operands
        if node.operation == "select":
            operands = (self._decided(operands[0]), *operands[1:])
        step = Step(builder, operands, index, weight, parameter, position)
        life = self._life(step, node, source) if self._gated else None
        living = life is None or bool(builder.value(life))
        factor = OPERATIONS[node.operation].factor
        if factor is not None and living:
            part: tuple[int, int | None] = (weight, factor(step))
        else:
            number = pull(step)
            if life is not None and not living and node.operation not in _PLAIN:
                number = builder.apply("gate", life, number)
            if builder.value(number) == 0:
                return
            part = (number, None)
        self._numbers.setdefault(target, []).append(part)
        if life is not None:
            self._lives.setdefault(target, []).append((life, None))

    def _life(self, step: Step, node: Node, source: int) -> int:
        if source not in self._living:
            self._living[source] = _added(self._builder, list(dict.fromkeys(self._lives[source])))
        life = self._living[source]
        if node.operation in _CHOOSING:
            pull = OPERATIONS[node.operation].pull(step.position)
            assert pull is not None
            return pull(Step(step.record, step.operands, step.value, life, step.parameter, step.position))
        if node.operation in ("multiply", "dot"):
            partner = _partner(node, step.position)
            if partner not in self._depends:
                value = self._builder.value(partner)
                return life if value else self._builder.apply("gate", partner, life)
        return life

    def _decided(self, condition: int) -> int:
        """A condition that has no value where it is about to change."""
        node = self._builder.nodes[condition]
        # A condition that is decided already compares numbers, perhaps inputs.
        if condition not in self._depends or node.operation == INPUT or not OPERATIONS[node.operation].logical:
            return condition
        if node.operation in DECIDED:
            return self._builder.apply(DECIDED[node.operation], *node.operands)
        return self._builder.apply(node.operation, *map(self._decided, node.operands))


def _branches(builder: Builder, needed: Sequence[int]) -> bool:
    """Whether values run through branches: in the one not taken a slope can be infinite."""
    return any(builder.nodes[index].operation == "select" for index in needed)


def _partner(node: Node, position: int) -> int:
    """The operand that a product, or a dot product, multiplies the one at the position by."""
    half = len(node.operands) // 2
    return node.operands[(position + half) % len(node.operands)]


def _added(builder: Builder, parts: Sequence[tuple[int, int | None]]) -> int:
    """The sum of nodes and of products of two nodes."""
    if len(parts) == 1:
        ((x, y),) = parts
        return x if y is None else builder.apply("multiply", x, y)
    if all(y is None for _, y in parts):
        return builder.apply("sum", *(x for x, _ in parts))
    one = builder.constant(1)
    return builder.apply("dot", *(x for x, _ in parts), *(one if y is None else y for _, y in parts))
