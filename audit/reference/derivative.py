"""What a batch asks for, as programs: one column of results for each argument.

A column is independent of how it was asked for: the vjp of one argument with cotangent w and the jvp along the same
argument with tangent w are the same elementwise column, with the same text, and are computed once.

Higher derivatives along tangents are those of the real function ``<w, f>`` of real numbers, a complex one counting as
two: with H_w its Hessian, reverse over reverse, forward over reverse and reverse over forward all give ``H_w v``, and
reverse over that, with v again as cotangent, gives the gradient of ``<v, H_w v>``. Since MLX's cotangents are gradients
with respect to the pair of reals, its compositions need no conjugates either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

from audit.case import Batch
from audit.errors import AuditError
from audit.reference.adjoint import pull_back, push_forward
from audit.reference.mapped import mapped_axes
from audit.reference.program import Program
from audit.reference.trace import Shape, Trace, trace


@dataclass(frozen=True)
class Meaning:
    """What the results of a column are, in terms of the function alone, for whoever computes them in another way.

    Inputs and results are real numbers; a complex one counts twice, its real part first.

    Args:
        kind: ``value`` (result k is result k of the function), ``partial`` (result k is the partial derivative
            ``partials[k]`` of the weighted sum of the function's results), ``tangent`` (result k is the derivative of
            the function's result k along the tangents) or ``directional`` (result k is the partial derivative by
            ``partials[k]`` of the n-th derivative of the weighted sum along the tangents, n being `order` - 1).
        function: the function itself.
        weights: for ``partial``, the name of the weight of each result of the function.
        partials: for ``partial`` and ``directional``, the inputs that result k is differentiated by, one after another.
        tangents: for ``tangent`` and ``directional``, pairs of an input and the name of its tangent.
        order: of the derivative.
    """

    kind: str
    function: Program
    weights: tuple[str, ...] = ()
    partials: tuple[tuple[str, ...], ...] = ()
    tangents: tuple[tuple[str, str], ...] = ()
    order: int = 1


@dataclass(frozen=True)
class Column:
    """The results for one argument of a batch.

    Args:
        argument: ``"output"``, an argument's name, or ``"a,b"`` for a Hessian entry.
        shape: shape of one point's elements.
        parts: 2 if each element is a real and an imaginary part in turn, otherwise 1.
        program: computes the elements, flat, and after them the function's own results: a derivative exists only
            where the function does.
        count: how many of the program's results are elements (times parts).
        meaning: what they are.
        cancels: whether the size of the terms matters even where an element is not zero: it is a sum, or the batch
            allows for cancellation.
    """

    argument: str
    shape: Shape
    parts: int
    program: Program
    count: int
    meaning: Meaning
    cancels: bool

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of all numbers that the elements are asked for at, whether they depend on them or not."""
        meaning = self.meaning
        groups = (self.program.inputs, meaning.function.inputs, meaning.weights, *meaning.partials, *meaning.tangents)
        names = [name for group in groups for name in group]
        return tuple(dict.fromkeys(names)) or ("p0.0",)

    @cached_property
    def values(self) -> Program:
        """The elements alone."""
        return Program(self.program.nodes, self.program.outputs[: self.count])


def columns(batch: Batch) -> list[Column]:
    """The columns of a batch, in the order in which its derivatives are asked for.

    Raises:
        AuditError: a derivative that the reference does not give, or weights of the wrong shape.
    """
    parts = tuple(fmt.parts for fmt in batch.argument_formats)
    function = batch.function
    shapes = tuple(primal.shape[1:] for primal in batch.primals)
    if function.elementwise and any(shapes):
        raise AuditError(
            f"Batch {batch.group!r}: {function.name!r} is elementwise, but its primals have shapes {shapes} at each "
            "point: give every element as a point of its own, or say elementwise=False."
        )
    recorded = trace(function.body, shapes, parts, batch.result_format.parts, mapped_axes(batch))
    tangents = [shapes[i] for i in batch.mode.traced]
    due = tangents if batch.mode.kind == "jvp" else [recorded.shape, *tangents]
    for weight, shape in zip(batch.weights, due, strict=False):
        if weight.shape[1:] != shape:
            raise AuditError(
                f"Batch {batch.group!r}, mode {batch.mode.kind} of {function.name!r}: a weight has shape "
                f"{weight.shape[1:]} at each point, it must have {shape}."
            )
    found = _results(recorded, batch.mode.kind, batch.mode.traced, function.elementwise)
    names = [function.arguments[i] for i in batch.mode.traced]
    if batch.mode.kind in ("forward", "jvp"):
        labels = ["output"]
        places: list[Shape] = [recorded.shape]
        counts = [recorded.result_parts]
    elif batch.mode.kind.startswith("hessian"):
        labels = [f"{a},{b}" for a in names for b in names]
        places = [()] * len(labels)
        counts = [1] * len(labels)
    else:
        labels = names
        places = [shapes[i] for i in batch.mode.traced]
        counts = [parts[i] for i in batch.mode.traced]
    wanted = batch.tolerance.terms > 0
    return [
        Column(label, shape, count, *rest[:-1], cancels=rest[-1] or wanted)
        for index, (label, shape, count, rest) in enumerate(zip(labels, places, counts, found, strict=True))
        if batch.compared is None or index in batch.compared
    ]


def weight_names(index: int, count: int, parts: int) -> list[str]:
    """Names of the inputs that hold the elements of a weight, real and imaginary part in turn if complex."""
    return [f"w{index}.{element}{'i' * part}" for element in range(count // parts) for part in range(parts)]


_Results = tuple[Program, int, Meaning, bool]


@lru_cache(maxsize=1024)
def _results(recorded: Trace, kind: str, traced: tuple[int, ...], elementwise: bool) -> list[_Results]:
    """Program, count, meaning and `cancels` of each column."""
    # A builder of its own: the text of a column must not depend on what else was asked of the function before.
    builder = recorded.builder.copy()
    results, arguments = recorded.outputs, recorded.arguments
    function = builder.extract(results)
    names = [[str(builder.nodes[node].parameter) for node in argument] for argument in arguments]

    summed = not elementwise or recorded.complex

    def column(nodes: Sequence[int], meaning: Meaning, *, cancels: bool = summed) -> _Results:
        return builder.extract([*nodes, *results]), len(nodes), meaning, cancels

    if kind == "forward":
        return [column(results, Meaning("value", function))]
    first = 0 if kind == "jvp" else 1
    tangents = [weight_names(first + place, len(arguments[i]), recorded.parts[i]) for place, i in enumerate(traced)]
    pairs = tuple(pair for t, i in zip(tangents, traced, strict=True) for pair in zip(names[i], t, strict=True))
    inputs = [node for i in traced for node in arguments[i]]
    if kind == "jvp":
        nodes = [[builder.input(name) for name in tangent] for tangent in tangents]
        meaning = Meaning("tangent", function, tangents=pairs)
        if summed:
            return [column(push_forward(builder, results, inputs, [node for ns in nodes for node in ns]), meaning)]
        terms = [pull_back(builder, results, t, arguments[i])[0] for t, i in zip(nodes, traced, strict=True)]
        total = terms[0]
        for term in terms[1:]:
            total = builder.apply("add", total, term)
        return [column([total], meaning, cancels=len(terms) > 1)]
    weights = tuple(weight_names(0, len(results), recorded.result_parts))
    cotangents = [builder.input(name) for name in weights]
    if kind in ("vjp", "grad1"):
        return [
            column(
                pull_back(builder, results, cotangents, arguments[i]),
                Meaning("partial", function, weights, tuple((name,) for name in names[i])),
            )
            for i in traced
        ]
    if kind.startswith("second") or kind == "third":
        directions = [builder.input(name) for tangent in tangents for name in tangent]
        found, lower = cotangents, []
        slopes = pull_back(builder, results, cotangents, inputs)
        for _ in range(1 if kind.startswith("second") else 2):
            lower.extend(slopes)
            slopes = pull_back(builder, slopes, directions, inputs)
        ends = list(accumulate((len(arguments[i]) for i in traced), initial=0))
        order = 3 if kind == "third" else 2
        return [
            column(
                slopes[start:end],
                Meaning("directional", function, weights, tuple((name,) for name in names[i]), pairs, order),
                cancels=summed or len(traced) > 1,
            )
            for i, start, end in zip(traced, ends[:-1], ends[1:], strict=True)
        ]
    if summed:
        raise AuditError(f"Mode {kind}: the reference gives every entry of real elementwise functions only.")
    chains = [(i, j) for i in traced for j in traced]
    if kind.startswith("grad"):
        chains = [traced * int(kind.removeprefix("grad"))]
    found = []
    for chain in chains:
        # The order of differentiation does not matter, and one order for both makes (a, b) and (b, a) one column.
        chain = tuple(sorted(chain))
        # The weight is a factor: left out until the end, it is not carried through every sweep.
        (node,) = results
        for i in chain:
            (node,) = pull_back(builder, [node], [builder.constant(1)], arguments[i])
        node = builder.apply("multiply", node, cotangents[0])
        partials = (tuple(names[i][0] for i in chain),)
        found.append(column([node], Meaning("partial", function, weights, partials, order=len(chain))))
    return found
