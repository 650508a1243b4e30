"""What a batch asks for, as programs: one column of results for each argument.

A column is independent of how it was asked for: the vjp of one argument with cotangent w and the jvp along the same
argument with tangent w are the same elementwise column, with the same text, and are computed once.

Higher derivatives along tangents are those of the real function ``<w, f>`` of real numbers, a complex one counting as
two: with H_w its Hessian, reverse over reverse, forward over reverse and reverse over forward all give ``H_w v``, and
reverse over that, with v again as cotangent, gives the gradient of ``<v, H_w v>``. Since MLX's cotangents are gradients
with respect to the pair of reals, its compositions need no conjugates either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import accumulate, pairwise

from audit.case import Batch
from audit.errors import AuditError
from audit.reference.adjoint import DECIDED, pull_back, push_forward
from audit.reference.mapped import mapped_axes
from audit.reference.program import Builder, Program, ancestors
from audit.reference.trace import Shape, Trace, trace

# Columns of larger programs are not compared with those of other modes.
LARGEST_SHARED = 3000
# Smooth at every number, and so is what is made of them: nothing need be looked at to see that it exists.
EVERYWHERE = frozenset(
    {
        "input", "constant", "add", "subtract", "multiply", "negative", "square", "sum", "dot", "exp", "exp2", "expm1",
        "sin", "cos", "sinh", "cosh", "tanh", "sech", "arctan", "arcsinh", "sigmoid", "erf", "erfc", "two_over_sqrt_pi",
        "pi", "log_2",
    }
)  # fmt: skip


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
        task: the programs of all columns of the batch.
        lanes: which of the task's results are its elements.
        meaning: what they are.
        cancels: whether the size of the terms matters even where an element is not zero: it is a sum, or the batch
            allows for cancellation.
    """

    argument: str
    shape: Shape
    parts: int
    task: Task
    lanes: range
    meaning: Meaning
    cancels: bool

    @property
    def count(self) -> int:
        """How many results there are: elements times parts."""
        return len(self.lanes)

    @cached_property
    def program(self) -> Program:
        """Computes the elements, flat, and after them what must exist for them to do so."""
        return self.task.program.restricted([*self.lanes, *self.task.required])

    @cached_property
    def text(self) -> str:
        """Equal texts have equal values. A large column is named by its whole task, which is quicker."""
        if len(self.task.program.nodes) > LARGEST_SHARED:
            return f"{self.task.program.digest} {self.lanes}"
        return self.program.text

    @cached_property
    def arrays(self) -> tuple[str, ...]:
        """Names of all arrays that the elements are asked for at, whether they depend on them or not."""
        meaning = self.meaning
        program = self.task.program if len(self.task.program.nodes) > LARGEST_SHARED else self.program
        groups = (program.inputs, meaning.function.inputs, meaning.weights, *meaning.partials, *meaning.tangents)
        return tuple(dict.fromkeys(name.partition(".")[0] for group in groups for name in group)) or ("p0",)


@dataclass(frozen=True, eq=False)
class Task:
    """Programs that compute all columns of a batch.

    Args:
        program: the elements of every column, then what must exist: the function's own results, since a derivative
            exists only where the function does, and derivatives of lower order.
        lanes: of each column, which results are its elements.
        meanings: of each column.
        cancels: of each column, whether its elements are sums.
        moving: names of the inputs that are differentiated.
        again: records the same with every contribution gated, for points where slopes are infinite or undecided.
    """

    program: Program
    lanes: tuple[range, ...]
    meanings: tuple[Meaning, ...]
    cancels: tuple[bool, ...]
    moving: frozenset[str]
    again: Callable[[], Task]

    @cached_property
    def careful(self) -> Program:
        """The same results, none of which a zero weight or a branch not taken can spoil."""
        return self.again().program

    @property
    def required(self) -> range:
        """Which results are what must exist."""
        return range(self.lanes[-1].stop, len(self.program.outputs))


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
    task = _task(recorded, batch.mode.kind, batch.mode.traced, function.elementwise)
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
    found = zip(labels, places, counts, task.lanes, task.meanings, task.cancels, strict=True)
    return [
        Column(label, shape, count, task, lanes, meaning, cancels or wanted)
        for index, (label, shape, count, lanes, meaning, cancels) in enumerate(found)
        if batch.compared is None or index in batch.compared
    ]


def weight_names(index: int, count: int, parts: int) -> list[str]:
    """Names of the inputs that hold the elements of a weight, real and imaginary part in turn if complex."""
    return [f"w{index}.{element}{'i' * part}" for element in range(count // parts) for part in range(parts)]


@lru_cache(maxsize=1024)
def _task(recorded: Trace, kind: str, traced: tuple[int, ...], elementwise: bool, careful: bool = False) -> Task:
    # A builder of its own: the text of a column must not depend on what else was asked of the function before.
    builder = recorded.builder.copy()
    names = [[str(builder.nodes[node].parameter) for node in argument] for argument in recorded.arguments]
    function = builder.extract(recorded.outputs)
    found, required = _recorded(builder, recorded, names, function, kind, traced, elementwise, careful)
    if kind != "forward":
        required = [*recorded.outputs, *required, *_decisions(builder, recorded, traced)]
        if all(node.operation in EVERYWHERE for node in function.nodes):
            required = []
    ends = list(accumulate((len(nodes) for nodes, _, _ in found), initial=0))
    return Task(
        builder.extract([*(node for nodes, _, _ in found for node in nodes), *required]),
        tuple(range(start, end) for start, end in pairwise(ends)),
        tuple(meaning for _, meaning, _ in found),
        tuple(cancels for _, _, cancels in found),
        frozenset(name for i in traced for name in names[i]) if kind != "forward" else frozenset(),
        lambda: _task(recorded, kind, traced, elementwise, True),
    )


def _decisions(builder: Builder, recorded: Trace, traced: tuple[int, ...]) -> list[int]:
    """Nodes that have no value where a condition is about to change, even if no derivative flows through a branch."""
    moving = {node for i in traced for node in recorded.arguments[i]}
    found: dict[int, None] = {}
    one = builder.constant(1)
    for index in ancestors(builder.nodes, recorded.outputs):
        operation, operands, _ = builder.nodes[index]
        if not moving.isdisjoint(operands):
            moving.add(index)
            if operation in DECIDED:
                decided = builder.apply(DECIDED[operation], *operands)
                found[builder.apply("select", decided, one, one)] = None
    return list(found)


_Recorded = list[tuple[list[int], Meaning, bool]]


def _recorded(
    builder: Builder,
    recorded: Trace,
    names: list[list[str]],
    function: Program,
    kind: str,
    traced: tuple[int, ...],
    elementwise: bool,
    careful: bool,
) -> tuple[_Recorded, list[int]]:
    """Nodes, meaning and `cancels` of each column, and nodes of lower derivatives, which must exist too."""
    results, arguments = recorded.outputs, recorded.arguments
    summed = not elementwise or recorded.complex
    back = partial(pull_back, builder, careful=careful)
    if kind == "forward":
        return [(list(results), Meaning("value", function), summed)], []
    first = 0 if kind == "jvp" else 1
    tangents = [weight_names(first + place, len(arguments[i]), recorded.parts[i]) for place, i in enumerate(traced)]
    pairs = tuple(pair for t, i in zip(tangents, traced, strict=True) for pair in zip(names[i], t, strict=True))
    inputs = [node for i in traced for node in arguments[i]]
    ends = list(accumulate((len(arguments[i]) for i in traced), initial=0))
    if kind == "jvp":
        nodes = [[builder.input(name) for name in tangent] for tangent in tangents]
        meaning = Meaning("tangent", function, tangents=pairs)
        if summed:
            directions = [node for ns in nodes for node in ns]
            return [(push_forward(builder, results, inputs, directions, careful=careful), meaning, True)], []
        terms = [back(results, t, arguments[i])[0] for t, i in zip(nodes, traced, strict=True)]
        return [([builder.apply("sum", *terms)], meaning, len(terms) > 1)], []
    weights = tuple(weight_names(0, len(results), recorded.result_parts))
    cotangents = [builder.input(name) for name in weights]
    if kind in ("vjp", "grad1"):
        # Elementwise, the column of one argument must not depend on which others are traced.
        slopes = [back(results, cotangents, arguments[i]) for i in traced] if elementwise else None
        if slopes is None:
            whole = back(results, cotangents, inputs)
            slopes = [whole[start:end] for start, end in pairwise(ends)]
        meanings = [Meaning("partial", function, weights, tuple((name,) for name in names[i])) for i in traced]
        return [(nodes, meaning, summed) for nodes, meaning in zip(slopes, meanings, strict=True)], []
    if kind.startswith("second") or kind == "third":
        directions = [builder.input(name) for tangent in tangents for name in tangent]
        lower: list[int] = []
        whole = back(results, cotangents, inputs)
        for _ in range(1 if kind.startswith("second") else 2):
            lower.extend(whole)
            whole = back(whole, directions, inputs)
        order = 3 if kind == "third" else 2
        return [
            (
                whole[start:end],
                Meaning("directional", function, weights, tuple((name,) for name in names[i]), pairs, order),
                summed or len(traced) > 1,
            )
            for i, (start, end) in zip(traced, pairwise(ends), strict=True)
        ], lower
    if summed:
        raise AuditError(f"Mode {kind}: the reference gives every entry of real elementwise functions only.")
    chains = [(i, j) for i in traced for j in traced]
    if kind.startswith("grad"):
        chains = [traced * int(kind.removeprefix("grad"))]
    found: _Recorded = []
    required: list[int] = []
    one = builder.constant(1)
    for chain in chains:
        # The order of differentiation does not matter, and one order for both makes (a, b) and (b, a) one column.
        chain = tuple(sorted(chain))
        # The weight is a factor: left out until the end, it is not carried through every sweep.
        (node,) = results
        seeds = [cotangents[0] if careful else one, *[one] * (len(chain) - 1)]
        for place, (i, seed) in enumerate(zip(chain, seeds, strict=True)):
            if place:
                required.append(node)
            (node,) = back([node], [seed], arguments[i])
        node = node if careful else builder.apply("multiply", node, cotangents[0])
        partials = (tuple(names[i][0] for i in chain),)
        found.append(([node], Meaning("partial", function, weights, partials, order=len(chain)), False))
    return found, required
