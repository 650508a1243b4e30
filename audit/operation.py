"""Operations: what a case file declares of one operation of MLX, from which all its questions are generated.

An `Operation` says how MLX is called, what the call means in generic arithmetic, which parameters and shapes exist,
where the values of its arguments lie and where it is singular, and under what the result is known to stay or to scale.
Everything that is asked of it (`audit.points`) follows from that.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import combinations, product
from types import MappingProxyType
from typing import Any, Literal

from audit.case import Body, Function, Tolerance
from audit.errors import AuditError
from audit.formats import FORMATS, Format, lookup

Shape = tuple[int, ...]
Shapes = tuple[Shape, ...]
# Beside these, the name of a format.
Kind = Literal["same", "real", "complex", "float16", "bfloat16", "float32", "float64", "complex64"]

REAL_FORMATS = ("float16", "bfloat16", "float32", "float64")

# More combinations of parameter values than this are thinned out to one for each pair of values.
FULL_PRODUCT = 12

_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Values:
    """Where the values of one argument lie.

    Args:
        low, high: bounds of the values that are asked for, both excluded unless they are singular points.
        singular: poles, kinks, edges, values at which an additive or multiplicative constant has no effect: the
            function is asked at them and just beside them.
        scaled: whether values run over the whole exponent range; otherwise they stay near 1 (or between finite bounds).
        exponents: the exponents between which values are scaled, where the whole range makes no sense.
    """

    low: float = -math.inf
    high: float = math.inf
    singular: tuple[float, ...] = ()
    scaled: bool = True
    exponents: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise AuditError(f"Values: low is {self.low} and high {self.high}: low must be less.")
        if any(not self.low <= x <= self.high for x in self.singular):
            raise AuditError(f"Values: a singular point of {self.singular} is outside [{self.low}, {self.high}].")

    @property
    def bounded(self) -> bool:
        """Whether both bounds are finite."""
        return math.isfinite(self.low) and math.isfinite(self.high)


@dataclass(frozen=True)
class Homogeneous:
    """``f(.., s x, ..) = s**degree f(.., x, ..)`` for every power of two s, for each argument by itself.

    Args:
        degrees: degree by argument.
    """

    degrees: Mapping[str, int]


@dataclass(frozen=True)
class Shift:
    """``f(x + c) = f(x) + gain * c`` for a number c added to all elements.

    Args:
        argument: which x.
        gain: 0 if the result is invariant.
    """

    argument: str
    gain: int = 0


@dataclass(frozen=True)
class Parity:
    """``f(-x) = sign * f(x)``, all named arguments negated at once.

    Args:
        arguments: which.
        sign: 1 for an even function, -1 for an odd one.
    """

    arguments: tuple[str, ...]
    sign: Literal[1, -1]


@dataclass(frozen=True)
class Permutation:
    """The elements of arguments may be permuted along an axis.

    Args:
        arguments: permuted together.
        axis: along which.
        out_axis: the axis of the result that is permuted with them; None if the result stays.
    """

    arguments: tuple[str, ...]
    axis: int = -1
    out_axis: int | None = None


Symmetry = Homogeneous | Shift | Parity | Permutation


@dataclass(frozen=True)
class Operation:
    """One operation of MLX under audit.

    Args:
        name: MLX's own name: ``"mx.softmax"``, ``"nn.gelu"``, ``"mx.fast.rms_norm"``.
        arguments: names of the arrays that may be differentiated, in the order of `call` and `body`.
        call: how MLX is asked: ``call(*arrays, **parameters)`` returns one array.
        body: the same function in generic arithmetic: ``body(m, *arrays, **parameters)`` on numbers or object arrays.
        shapes: of the arguments, one tuple of shapes each; the first is the base, which is asked in full. Empty means
            that the operation is elementwise: it is asked at thousands of points, and at small arrays that broadcast.
        parameters: keyword to values, the base value first; two others each, where there are two.
        values: where the values of an argument lie; arguments that are not named may have any.
        symmetries: under what the result stays or scales.
        tolerance: how far a result may be off; `exact` operations have no allowance, sums and compositions have one.
        formats: names of the formats it is defined in.
        kinds: for each argument whether its numbers are of the format (``same``), or real or complex where the format
            is complex, or of one format whatever the other arguments have (its name).
        result: likewise for the result.
        also: other names that this covers: ``"mx.array.softmax"``, ``"mx.array.__add__"``.
        valid: ``valid(shapes, parameters)`` says whether a combination exists; by default all do.
        text: the call as a user writes it, with ``{parameter}`` for parameters; made from name and arguments if empty.
        long: shapes of thousands of elements, asked in half precision only, with the first parameters that they fit.
        mixed: whether arguments of different float formats may be mixed, the result being of the wider.
        orders: highest order of derivatives that exist and are asked for; 0 for values alone.
        mapped: whether it may be mapped over an additional axis of its arguments (vmap).
        traceable: the arguments that can be differentiated, if not all of them are.
        slow: its reference takes long: fewer points are asked.
        deadly: it kills the process or hangs it: one point is asked, in a few modes.
        note: what a reader of its results must know.
    """

    name: str
    arguments: tuple[str, ...]
    call: Callable[..., Any]
    body: Body
    shapes: tuple[Shapes, ...] = ()
    parameters: Mapping[str, tuple[Any, ...]] = field(default_factory=lambda: _NONE)
    values: Mapping[str, Values] = field(default_factory=lambda: _NONE)
    symmetries: tuple[Symmetry, ...] = ()
    tolerance: Tolerance = field(default_factory=Tolerance)
    formats: tuple[str, ...] = REAL_FORMATS
    kinds: tuple[Kind, ...] = ()
    result: Kind = "same"
    also: tuple[str, ...] = ()
    valid: Callable[[Shapes, Mapping[str, Any]], bool] = lambda shapes, parameters: True  # noqa: ARG005
    text: str = ""
    long: tuple[Shapes, ...] = ()
    mixed: bool = False
    orders: int = 3
    mapped: bool = True
    traceable: tuple[str, ...] = ()
    slow: bool = False
    deadly: bool = False
    note: str = ""

    def __post_init__(self) -> None:
        where = f"Operation {self.name!r}"
        if not self.arguments:
            raise AuditError(f"{where} has no arguments: name the arrays that it is a function of.")
        for shapes in (*self.shapes, *self.long):
            if len(shapes) != len(self.arguments):
                raise AuditError(f"{where}: shapes {shapes} are {len(shapes)}, arguments {self.arguments}.")
        if self.kinds and len(self.kinds) != len(self.arguments):
            raise AuditError(f"{where}: {len(self.kinds)} kinds for arguments {self.arguments}.")
        for name in (*self.values, *self.traceable, *(n for s in self.symmetries for n in _named(s))):
            if name not in self.arguments:
                raise AuditError(f"{where}: there is no argument {name!r}; there are {', '.join(self.arguments)}.")
        for name, choices in self.parameters.items():
            if not choices:
                raise AuditError(f"{where}: parameter {name!r} has no value.")
        for function in (self.call, self.body):
            _check_signature(where, function, self.parameters)
        unknown = set(self.formats) - set(FORMATS)
        if unknown or not self.formats:
            raise AuditError(f"{where}: formats {sorted(unknown) or 'none'} do not exist.")

    @property
    def elementwise(self) -> bool:
        """Whether each element of the result depends on the same element of each argument only."""
        return not self.shapes

    @property
    def exact(self) -> bool:
        """Whether nothing is excused by the size of terms."""
        return self.tolerance.terms == 0

    @property
    def traced(self) -> tuple[int, ...]:
        """Indices of the arguments that can be differentiated."""
        return tuple(i for i, name in enumerate(self.arguments) if not self.traceable or name in self.traceable)

    def values_of(self, argument: str) -> Values:
        """Where the values of an argument lie."""
        return self.values.get(argument, Values())

    def values_in(self, argument: str, fmt: Format) -> Values:
        """Where the values of an argument lie in a format: of complex numbers everywhere, real bounds are edges."""
        values = self.values_of(argument)
        return replace(values, low=-math.inf, high=math.inf) if fmt.parts == 2 else values

    def argument_formats(self, fmt: Format) -> tuple[Format, ...]:
        """The formats of the arguments in a batch of this format; empty if they are all the same."""
        if all(kind == "same" for kind in self.kinds):
            return ()
        return tuple(_of_kind(kind, fmt) for kind in self.kinds)

    def result_format(self, fmt: Format) -> Format | None:
        """The format of the result, None if it is the batch's."""
        return None if self.result == "same" else _of_kind(self.result, fmt)

    @property
    def base(self) -> dict[str, Any]:
        """The parameters' base values."""
        return {name: choices[0] for name, choices in self.parameters.items()}

    def combinations(self) -> list[dict[str, Any]]:
        """Parameters to ask with, the base first: all combinations, or if those are many, every pair of values."""
        names, choices = list(self.parameters), list(self.parameters.values())
        if math.prod(map(len, choices)) <= FULL_PRODUCT:
            found = [dict(zip(names, chosen, strict=True)) for chosen in product(*choices)]
        else:
            found = _pairwise(names, choices)
        return found

    def function(self, parameters: Mapping[str, Any], *, elementwise: bool) -> Function:
        """The function with these parameters; the same object for the same parameters."""
        return _function(self, _Frozen(parameters), elementwise)

    def configurations(self) -> list[tuple[Shapes, dict[str, Any]]]:
        """Shapes and parameters to ask with: all parameters with the base shapes, all shapes with the base parameters.

        Combinations that do not exist are left out; where base shapes and a parameter do not go together, the first
        shapes that do are taken.
        """
        found: list[tuple[Shapes, dict[str, Any]]] = []
        for parameters in self.combinations():
            fitting = [shapes for shapes in self.shapes if self.valid(shapes, parameters)]
            if fitting:
                found.append((fitting[0], parameters))
        for shapes in self.shapes[1:]:
            fitting_parameters = [p for p in self.combinations() if self.valid(shapes, p)]
            found.extend((shapes, parameters) for parameters in fitting_parameters[:1])
        unique = {(shapes, _Frozen(parameters)): (shapes, parameters) for shapes, parameters in found}
        if not unique:
            raise AuditError(f"Operation {self.name!r}: no combination of shapes and parameters is valid.")
        return list(unique.values())

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


class _Frozen(Mapping[str, Any]):
    """Parameters that can be hashed, by their text."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._parameters = dict(parameters)
        self._text = repr(sorted(self._parameters.items(), key=lambda item: item[0]))

    def __getitem__(self, name: str) -> Any:
        return self._parameters[name]

    def __iter__(self) -> Any:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and self._text == other._text


@lru_cache(maxsize=4096)
def _function(operation: Operation, parameters: _Frozen, elementwise: bool) -> Function:
    base = operation.base
    listed = ", ".join(f"{name}={value!r}" for name, value in parameters.items() if value is not base[name])
    name = f"{operation.name}({listed})" if listed else operation.name
    return Function(
        name,
        operation.arguments,
        partial(operation.body, **parameters),
        _text(operation, parameters),
        elementwise=elementwise,
        call=partial(operation.call, **parameters),
    )


def _text(operation: Operation, parameters: Mapping[str, Any]) -> str:
    # A type of numbers is shown as a user writes it.
    shown = {name: _written(value) for name, value in parameters.items()}
    if operation.text:
        return operation.text.format(**{name: _Shown(value, shown[name]) for name, value in parameters.items()})
    given = [f"{name}={value}" for name, value in shown.items()]
    return f"{operation.name.partition('[')[0]}({', '.join([*operation.arguments, *given])})"


def _written(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value).replace("mlx.core.", "mx.")


@dataclass(frozen=True)
class _Shown:
    """A parameter in a text: ``{name!r}`` quotes what is a word, ``{name}`` does not."""

    value: Any
    text: str

    def __repr__(self) -> str:
        return self.text

    def __str__(self) -> str:
        return self.value if isinstance(self.value, str) else self.text


def _of_kind(kind: Kind, fmt: Format) -> Format:
    if kind in FORMATS:
        return lookup(kind)
    if kind == "complex":
        return lookup("complex64")
    return lookup("float32") if kind == "real" and fmt.parts == 2 else fmt


def _pairwise(names: Sequence[str], choices: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Few combinations that together hold every pair of values, the base first (greedy)."""
    indices = [range(len(values)) for values in choices]
    missing = {(i, a, j, b) for i, j in combinations(range(len(names)), 2) for a in indices[i] for b in indices[j]}
    chosen = [(0,) * len(names)]
    missing -= _pairs(chosen[0])
    while missing:
        i, a, j, b = min(missing)
        row: list[int | None] = [None] * len(names)
        row[i], row[j] = a, b
        for place in range(len(names)):
            if row[place] is None:
                row[place] = max(indices[place], key=lambda v, p=place: _gain(row, p, v, missing))
        full = tuple(v or 0 for v in row)
        chosen.append(full)
        missing -= _pairs(full)
    return [
        dict(zip(names, (values[k] for values, k in zip(choices, row, strict=True)), strict=True)) for row in chosen
    ]


def _gain(row: Sequence[int | None], place: int, value: int, missing: set[tuple[int, int, int, int]]) -> int:
    """How many missing pairs a value at a place would make with what is chosen already."""
    found = 0
    for other, chosen in enumerate(row):
        if chosen is not None:
            pair = (other, chosen, place, value) if other < place else (place, value, other, chosen)
            found += pair in missing
    return found


def _pairs(row: Sequence[int]) -> set[tuple[int, int, int, int]]:
    return {(i, row[i], j, row[j]) for i, j in combinations(range(len(row)), 2)}


def _named(symmetry: Symmetry) -> tuple[str, ...]:
    if isinstance(symmetry, Homogeneous):
        return tuple(symmetry.degrees)
    return (symmetry.argument,) if isinstance(symmetry, Shift) else symmetry.arguments


def _check_signature(where: str, function: Callable[..., Any], parameters: Mapping[str, Any]) -> None:
    """Every parameter must be one of the function's own."""
    try:
        known = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return
    if any(p.kind is p.VAR_KEYWORD for p in known.values()):
        return
    missing = [name for name in parameters if name not in known]
    if missing:
        raise AuditError(
            f"{where}: parameters {missing} are not arguments of {getattr(function, '__name__', function)}."
        )
