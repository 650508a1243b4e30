"""Programs run at many points: one generated Python function for small programs, a loop over nodes for large ones.

A dialect says what the numbers are. The generated function has locals only and one loop, since at a tenth of a
microsecond an Arb product costs no more than a look-up of a global name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import mul
from typing import Any

from audit.reference.operations import OPERATIONS
from audit.reference.program import CONSTANT, INPUT, Program

# Compiling a longer program, or one for fewer points, takes longer than it saves.
LARGEST_GENERATED = 600
FEWEST_GENERATED = 100
# Sums of so many terms are written out.
WRITTEN_OUT = 16


class Undecided(Exception):
    """Two balls that are compared overlap: more precision may decide."""


class NoDerivative(Exception):
    """An exact tie at a kink: no precision helps."""


@dataclass(frozen=True)
class Dialect:
    """Numbers that a program runs on.

    Args:
        name: for messages and for telling dialects apart.
        scope: names that the expressions use.
        constant: an exact constant as such a number, at the precision of the moment.
        failed: what a result is where an operation has no value.
        failures: exceptions that mean so.
        by_value: whether what does nothing but decide a condition is a plain number, not a power series: a kink in it
            is no kink of the results.
    """

    name: str
    scope: Mapping[str, Any]
    constant: Callable[[Fraction], Any]
    failed: Any
    failures: tuple[type[Exception], ...]
    by_value: bool = False

    def expression(self, operation: str, *, active: bool = False) -> str:
        """The operation as a Python expression; `active` if an operand is a power series."""
        entry = OPERATIONS[operation]
        if self.name == "rational":
            assert entry.rational is not None
            return entry.rational
        if active and entry.series is not None:
            return entry.series
        return entry.ball

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dialect) and self.name == other.name


Column = Sequence[Any]


def evaluate(
    program: Program, dialect: Dialect, inputs: Sequence[Column], active: frozenset[str] = frozenset()
) -> list[list[Any]]:
    """The results of a program at many points.

    Args:
        program: what is computed.
        dialect: the numbers.
        inputs: one column of numbers per name in ``program.inputs``, in that order.
        active: inputs that are power series.

    Returns:
        One list per result, one number per point; all results of a point are `dialect.failed` where one of its
        operations fails.
    """
    if not program.outputs:
        return []
    points = len(inputs[0]) if inputs else 1
    if points < FEWEST_GENERATED or len(program.nodes) > LARGEST_GENERATED:
        return _interpret(program, dialect, inputs, active, points)
    run = _generated(program, dialect, active)
    constants = [dialect.constant(n.parameter) for n in program.nodes if isinstance(n.parameter, Fraction)]
    return run(constants, inputs or [range(points)])


def series_nodes(program: Program, active: frozenset[str]) -> list[bool]:
    """Which nodes are power series when these inputs are."""
    if not active:
        return [False] * len(program.nodes)
    kept: dict[frozenset[str], list[bool]] = program.__dict__.setdefault("_flags", {})
    if active not in kept:
        kept[active] = flags = [False] * len(program.nodes)
        for index, (operation, operands, parameter) in enumerate(program.nodes):
            if operation == INPUT:
                flags[index] = parameter in active
                continue
            for operand in operands:
                if flags[operand]:
                    flags[index] = True
                    break
    return kept[active]


def _flags(program: Program, dialect: Dialect, active: frozenset[str]) -> list[bool]:
    """Which nodes are power series in this dialect."""
    flags = series_nodes(program, active)
    if not (dialect.by_value and any(flags)):
        return flags
    wanted = bytearray(len(flags))
    for output in program.outputs:
        wanted[output] = 1
    for index in range(len(flags) - 1, -1, -1):
        operation, operands, _ = program.nodes[index]
        if wanted[index] and not _logical(operation):
            for operand in operands:
                wanted[operand] = 1
    return [
        flag and (node.operation == INPUT or (bool(want) and not _logical(node.operation)))
        for flag, want, node in zip(flags, wanted, program.nodes, strict=True)
    ]


def _to_lift(program: Program, flags: list[bool], index: int) -> set[int]:
    """Operands of a power series that are plain numbers: each is made a series once."""
    if not flags[index]:
        return set()
    operands = program.nodes[index].operands
    return {x for x in operands if not flags[x] and not _logical(program.nodes[x].operation)}


def _logical(operation: str) -> bool:
    return operation in OPERATIONS and OPERATIONS[operation].logical


@lru_cache(maxsize=512)
def _generated(program: Program, dialect: Dialect, active: frozenset[str]) -> Callable[..., list[list[Any]]]:
    flags = _flags(program, dialect, active)
    names, constants, body = [], [], []
    lifted: set[int] = set()
    for index, (operation, operands, parameter) in enumerate(program.nodes):
        if operation == INPUT:
            names.append(f"v{index}")
        elif operation == CONSTANT:
            constants.append(f"v{index}")
        else:
            lifts = _to_lift(program, flags, index)
            body.extend(f"            s{operand} = lift([v{operand}])" for operand in sorted(lifts - lifted))
            lifted |= lifts
            operands_ = (
                f"s{operand}" if operand in lifts
                else f"first(v{operand})" if flags[operand] and not flags[index]
                else f"v{operand}"
                for operand in operands
            )  # fmt: skip
            text = _written(dialect.expression(operation, active=flags[index]), list(operands_), parameter)
            body.append(f"            v{index} = {text}")
    width = len(program.outputs)
    results = ", ".join(f"r{place}" for place in range(width))
    source = "\n".join(
        [
            "def run(constants, inputs):",
            f"    {', '.join(constants)}, = constants" if constants else "    pass",
            f"    {results}, = [], " + "[], " * (width - 1),
            *(f"    put{place} = r{place}.append" for place in range(width)),
            f"    for {', '.join(names) or '_'}, in zip(*inputs):",
            "        try:",
            *body,
            *(f"            a{place} = v{output}" for place, output in enumerate(program.outputs)),
            "        except failures:",
            f"            {' = '.join(f'a{place}' for place in range(width))} = failed",
            *(f"        put{place}(a{place})" for place in range(width)),
            f"    return [{results}]",
        ]
    )
    scope = {**dialect.scope, "failures": dialect.failures, "failed": dialect.failed}
    exec(compile(source, f"<program on {dialect.name}>", "exec"), scope)  # noqa: S102  # source is made right here
    return scope["run"]


def _interpret(
    program: Program, dialect: Dialect, inputs: Sequence[Column], active: frozenset[str], points: int
) -> list[list[Any]]:
    plan = _plan(program, dialect, active)
    start = _start(dialect, plan)
    results: list[list[Any]] = [[] for _ in program.outputs]
    for point in range(points):
        values = start.copy()
        for place, column in zip(plan.places, inputs, strict=True):
            values[place] = column[point]
        try:
            for index, function, operands in plan.steps:
                values[index] = function(*[values[operand] for operand in operands])
            found = [values[output] for output in program.outputs]
        except dialect.failures:
            found = [dialect.failed] * len(program.outputs)
        for result, value in zip(results, found, strict=True):
            result.append(value)
    return results


def everything(program: Program, dialect: Dialect, given: Sequence[Any]) -> list[Any] | None:
    """The values of all nodes at one point; None where one of its operations fails."""
    plan = _plan(program, dialect, frozenset())
    values = _start(dialect, plan)
    for place, number in zip(plan.places, given, strict=True):
        values[place] = number
    try:
        for index, function, operands in plan.steps:
            values[index] = function(*[values[operand] for operand in operands])
    except dialect.failures:
        return None
    return values


def _start(dialect: Dialect, plan: _Steps) -> list[Any]:
    start: list[Any] = [None] * plan.size
    for index, value in plan.constants:
        start[index] = dialect.constant(value)
    return start


@dataclass(frozen=True)
class _Steps:
    """A program made ready for one dialect: where inputs go, the constants, and function and operands of a node.

    `size` is the number of values: one a node, and one more for each plain number that is made a power series, or the
    other way round.
    """

    places: list[int]
    constants: list[tuple[int, Fraction]]
    steps: list[tuple[int, Callable[..., Any], tuple[int, ...]]]
    size: int


def _plan(program: Program, dialect: Dialect, active: frozenset[str]) -> _Steps:
    # Kept with this very program, since equal ones are told by their whole text.
    kept: dict[tuple[str, frozenset[str]], _Steps] = program.__dict__.setdefault("_plans", {})
    name = (dialect.name, active)
    if name not in kept:
        kept[name] = _steps(program, dialect, active)
    return kept[name]


def _steps(program: Program, dialect: Dialect, active: frozenset[str]) -> _Steps:
    flags = _flags(program, dialect, active)
    places: list[int] = []
    constants: list[tuple[int, Fraction]] = []
    steps: list[tuple[int, Callable[..., Any], tuple[int, ...]]] = []
    functions: dict[Any, Callable[..., Any]] = {}
    lifted: dict[int, int] = {}
    lowered: dict[int, int] = {}
    for index, (operation, operands, parameter) in enumerate(program.nodes):
        if operation == INPUT:
            places.append(index)
        elif operation == CONSTANT:
            assert isinstance(parameter, Fraction)
            constants.append((index, parameter))
        else:
            name = (operation, flags[index], len(operands), parameter)
            if name not in functions:
                expression = dialect.expression(operation, active=flags[index])
                functions[name] = operator(dialect, expression, len(operands), parameter)
            if flags[index]:
                for operand in _to_lift(program, flags, index):
                    if operand not in lifted:
                        lifted[operand] = len(program.nodes) + len(lifted) + len(lowered)
                        steps.append((lifted[operand], lambda x: dialect.scope["lift"]([x]), (operand,)))
                operands = tuple([lifted.get(operand, operand) for operand in operands])
            elif any(flags[operand] for operand in operands):
                for operand in operands:
                    if flags[operand] and operand not in lowered:
                        lowered[operand] = len(program.nodes) + len(lifted) + len(lowered)
                        steps.append((lowered[operand], dialect.scope["first"], (operand,)))
                operands = tuple([lowered.get(operand, operand) for operand in operands])
            steps.append((index, functions[name], operands))
    return _Steps(places, constants, steps, len(program.nodes) + len(lifted) + len(lowered))


def _written(expression: str, operands: list[str], parameter: Any) -> str:
    """An expression of the table with its operands and parameter put in; short sums are written out."""
    half = len(operands) // 2
    if expression == "total({all})" and len(operands) <= WRITTEN_OUT:
        return " + ".join(operands)
    if expression == "dot({all})" and half <= WRITTEN_OUT:
        return " + ".join(f"{x} * {y}" for x, y in zip(operands[:half], operands[half:], strict=True))
    return expression.format(*operands, n=f"({parameter})", all=", ".join(operands))


def total(*numbers: Any) -> Any:
    """The sum of two numbers or more."""
    return sum(numbers[1:], numbers[0])


def dot(*numbers: Any) -> Any:
    """The sum of the products of the first half of the numbers with the second."""
    half = len(numbers) // 2
    products = map(mul, numbers[:half], numbers[half:])
    return sum(products, next(products))


@lru_cache(maxsize=1024)
def operator(dialect: Dialect, expression: str, arity: int, parameter: Any) -> Callable[..., Any]:
    """An expression of one operation as a function of its operands."""
    names = [f"x{place}" for place in range(arity)]
    source = f"lambda {', '.join(names)}: {_written(expression, names, parameter)}"
    if expression.endswith("({all})"):
        source = expression.removesuffix("({all})")
    return eval(source, dict(dialect.scope))  # noqa: S307  # the expression is an entry of the table of operations
