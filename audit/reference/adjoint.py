"""The reverse sweep, as a transformation of programs: what it gives is recorded in the same operations.

Since a derivative is a program again, a second derivative is the transformation applied to its own result.
"""

from __future__ import annotations

from collections.abc import Sequence

from audit.reference.operations import OPERATIONS, Step
from audit.reference.program import Builder, ancestors


def pull_back(builder: Builder, outputs: Sequence[int], cotangents: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """Record the cotangents of some nodes, given those of others.

    Args:
        builder: where everything is recorded.
        outputs: the nodes that are differentiated.
        cotangents: a node per output, its cotangent w.
        wanted: the nodes x with respect to which they are.

    Returns:
        For each x, the node that holds the sum over outputs y of ``w * dy/dx``.
    """
    needed = ancestors(builder.nodes, outputs)
    # Values may run through a branch that is not taken, where a derivative can be infinite: zero times it is zero.
    gated = any(builder.nodes[index].operation == "select" for index in needed)
    depends: set[int] = set(wanted)
    for index in needed:
        if any(operand in depends for operand in builder.nodes[index].operands):
            depends.add(index)
    gathered: dict[int, int] = {}
    for output, cotangent in zip(outputs, cotangents, strict=True):
        _gather(builder, gathered, output, cotangent)
    for index in reversed(needed):
        node, cotangent = builder.nodes[index], gathered.get(index)
        if cotangent is None or index not in depends or not node.operands:
            continue
        parameter = node.parameter if isinstance(node.parameter, int) else 0
        step = Step(builder, node.operands, index, cotangent, parameter)
        for operand, pull in zip(node.operands, OPERATIONS[node.operation].pulls, strict=False):
            if pull is None or operand not in depends:
                continue
            part = pull(step)
            _gather(builder, gathered, operand, builder.apply("gate", cotangent, part) if gated else part)
    zero = builder.constant(0)
    return [gathered.get(x, zero) for x in wanted]


def push_forward(builder: Builder, outputs: Sequence[int], inputs: Sequence[int], tangents: Sequence[int]) -> list[int]:
    """Record the tangents of some nodes, given those of the nodes they depend on.

    The pullback is linear in its cotangent u, so that pulling the inner product of J^T u and the tangents t back to u
    gives J t.

    Returns:
        For each output y, the node that holds the sum over inputs x of ``dy/dx * t``.
    """
    dummies = [builder.input(f"u{place}") for place in range(len(outputs))]
    return pull_back(builder, pull_back(builder, outputs, dummies, inputs), tangents, dummies)


def _gather(builder: Builder, gathered: dict[int, int], index: int, cotangent: int) -> None:
    if builder.value(cotangent) == 0:
        return
    before = gathered.get(index)
    gathered[index] = cotangent if before is None else builder.apply("add", before, cotangent)
