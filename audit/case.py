"""Cases and implementations: records that check their own mathematics when they are made.

A `Function` is mathematics written once in generic arithmetic. A `Batch` is many points at which one derivative of one
function is asked for in one format. A `Case` is one operation of a library: its functions and its batches, in named
groups. An `Implementation` is one way to compute a function: stock MLX, patched MLX, compiled, a Python VJP ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np

from audit.errors import AuditError
from audit.formats import Floats, Format

Body = Callable[..., Any]
Layout = Literal["contiguous", "transposed", "strided", "broadcast", "reversed"]


@dataclass(frozen=True)
class Function:
    """A mathematical function of named arguments, written once.

    Args:
        name: short name, e.g. ``"quotient"``.
        arguments: names of the arguments, in order.
        body: called as ``body(m, *arguments)``, where m is an arithmetic: ``m.divide``, ``m.exp``, ``m.sum`` ...
            MLX's own operations, Arb balls, exact rationals and mpmath numbers each give one. Plain operators may be
            used too, except for an operation that an implementation replaces: write ``m.divide(a, b)`` for that.
        call: how the library is asked, if not by the body with the library as m: called as ``call(*arguments)``.
        elementwise: whether each element of the result depends on the same element of each argument only, so that
            thousands of points go through one call.
        text: the function as a reader would write it in Python with ``mx``, e.g. ``"C / (C * t)"``.
    """

    name: str
    arguments: tuple[str, ...]
    body: Body
    text: str
    elementwise: bool = True
    call: Body | None = None

    def __post_init__(self) -> None:
        if len(set(self.arguments)) != len(self.arguments) or not self.arguments:
            raise AuditError(f"Function {self.name!r}: arguments {self.arguments} must be distinct and not empty.")


@dataclass(frozen=True)
class Mode:
    """How a derivative is asked for.

    Args:
        kind: ``forward``; ``vjp``; ``jvp``; ``grad1`` to ``grad3`` (repeated ``grad`` for the one traced argument);
            ``hessian-rr`` (reverse over reverse) and ``hessian-fr`` (forward over reverse), every entry for the
            traced arguments, of real elementwise functions. ``second-rr`` (reverse over reverse), ``second-fr``
            (forward over reverse) and ``second-rf`` (reverse over forward) are three ways to one thing, ``H_w v``:
            with H_w the Hessian of ``<w, f(x)>`` over the traced arguments jointly, one array per traced argument, of
            any function. ``third`` is the gradient of ``<v, H_w v>``, by reverse over ``second-rr``.
        traced: indices of the arguments that are differentiated; the others are closed over.
    """

    kind: Literal[
        "forward",
        "vjp",
        "jvp",
        "grad1",
        "grad2",
        "grad3",
        "hessian-rr",
        "hessian-fr",
        "second-rr",
        "second-fr",
        "second-rf",
        "third",
    ]
    traced: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.kind.startswith("grad") and len(self.traced) != 1:
            raise AuditError(f"Mode {self.kind} differentiates one argument, not {len(self.traced)}.")
        if tuple(sorted(set(self.traced))) != self.traced:
            raise AuditError(f"Mode {self.kind}: traced arguments {self.traced} must ascend without repetition.")

    @property
    def order(self) -> int:
        """Order of the derivative."""
        if self.kind.startswith(("hessian", "second")):
            return 2
        return {"forward": 0, "vjp": 1, "jvp": 1, "grad1": 1, "grad2": 2, "grad3": 3, "third": 3}[self.kind]

    @property
    def directional(self) -> bool:
        """Whether a higher derivative is asked along given tangents, one per traced argument."""
        return self.kind.startswith("second") or self.kind == "third"

    @property
    def weights(self) -> int:
        """How many weights the derivative takes."""
        if self.kind == "forward":
            return 0
        if self.kind == "jvp":
            return len(self.traced)
        return 1 + len(self.traced) * self.directional


@dataclass(frozen=True)
class Tolerance:
    """How far a derivative may be from the right value.

    Args:
        ulps: in units in the last place of the format.
        relative: relative to the right value and, where that is zero, to the largest term that cancels; used in
            place of `ulps` when given (by format name).
        terms: the allowance for `stable` functions: this many unit roundoffs of the sum of the absolute values of
            the terms that add to the element. 0 for `exact` functions, of which nothing is excused.
        reason: why it is not the default.
    """

    ulps: float = 16.0
    relative: Mapping[str, float] | None = None
    terms: float = 0.0
    reason: str = ""


@dataclass(frozen=True)
class Batch:
    """Points at which one derivative of one function is asked for in one format.

    Args:
        group: name of the group in its case, e.g. ``"grid"``.
        function: what is differentiated.
        format: the format of all inputs and outputs.
        mode: which derivative.
        primals: one float64 array per argument, ``[points, *shape]``, of numbers of the format (complex128 for
            complex formats). Elementwise functions have an empty shape.
        weights: the cotangent (one array shaped as the output, ``[points, *shape]``) for vjp, grad and hessian; one
            tangent per traced argument for jvp; the cotangent and then a tangent per traced argument for second and
            third; empty for forward.
        tolerance: how far the derivative may be off.
        layout: how an array is laid out in memory when MLX sees it.
        compared: indices of the traced arguments whose cotangents are compared; None means all.
        wrap: a transform under which the function is evaluated: "", ``"checkpoint"``, ``"vmap AXES"``, ``"compile"``
            (the derivative is compiled), ``"vmap-in AXES"`` (the points are the rows of a mapped function, which is
            differentiated) or ``"vmap-out AXES"`` (the derivative is mapped over the points). AXES has one entry an
            argument, ``-`` where it is not mapped: ``"vmap-out 0,-"``.
        formats: the formats of the arguments, where they are not all that of the batch.
        result: the format of the result, where it is not that of the batch.
    """

    group: str
    function: Function
    format: Format
    mode: Mode
    primals: tuple[Floats, ...]
    weights: tuple[Floats, ...]
    tolerance: Tolerance = field(default_factory=Tolerance)
    layout: Layout = "contiguous"
    compared: tuple[int, ...] | None = None
    wrap: str = ""
    formats: tuple[Format, ...] = ()
    result: Format | None = None

    def __post_init__(self) -> None:
        where = f"Batch {self.group!r} of {self.function.name!r}"
        if len(self.primals) != len(self.function.arguments):
            raise AuditError(f"{where}: {len(self.primals)} primals for arguments {self.function.arguments}.")
        wanted = self.mode.weights
        if len(self.weights) != wanted:
            raise AuditError(f"{where}: mode {self.mode.kind} takes {wanted} weights, not {len(self.weights)}.")
        if self.formats and len(self.formats) != len(self.primals):
            raise AuditError(f"{where}: {len(self.formats)} formats for arguments {self.function.arguments}.")
        given = (*self.argument_formats, *self.weight_formats)
        for array, fmt in zip((*self.primals, *self.weights), given, strict=True):
            if len(array) != self.points:
                raise AuditError(f"{where}: {len(array)} points beside {self.points}.")
            parts = (array.real, array.imag) if np.iscomplexobj(array) else (array,)
            if len(parts) > fmt.parts or not all(fmt.contains(part).all() for part in parts):
                raise AuditError(f"{where}: a primal or weight is not a number of {fmt.name}.")

    @property
    def points(self) -> int:
        """Number of points."""
        return len(self.primals[0])

    @property
    def argument_formats(self) -> tuple[Format, ...]:
        """The format of each argument."""
        return self.formats or (self.format,) * len(self.primals)

    @property
    def result_format(self) -> Format:
        """The format of the result."""
        return self.result or self.format

    @property
    def weight_formats(self) -> tuple[Format, ...]:
        """The format of each weight: a cotangent has that of the result, a tangent that of its argument."""
        tangents = tuple(self.argument_formats[i] for i in self.mode.traced)
        if self.mode.kind == "jvp":
            return tangents
        return (self.result_format, *tangents)[: len(self.weights)]

    @property
    def complex(self) -> bool:
        """Whether any of its numbers is complex."""
        return any(fmt.parts == 2 for fmt in (*self.argument_formats, self.result_format))

    def format_of(self, argument: str) -> Format:
        """The format of what is compared: of the result for ``"output"``, otherwise of the argument named last."""
        if argument == "output":
            return self.result_format
        return self.argument_formats[self.function.arguments.index(argument.rpartition(",")[2])]

    def distinct(self) -> Batch:
        """The batch without points that repeat an earlier one, bit for bit, in the order of their first occurrence."""
        whole = [np.ascontiguousarray(array).reshape(self.points, -1) for array in (*self.primals, *self.weights)]
        table = np.concatenate([part.view(np.float64) for part in whole], axis=1).view(np.uint64)
        _, first = np.unique(table, axis=0, return_index=True)
        if len(first) == self.points:
            return self
        kept = np.sort(first)
        return replace(self, primals=tuple(p[kept] for p in self.primals), weights=tuple(w[kept] for w in self.weights))


class ScaleFamily(Protocol):
    """Points over the whole exponent range of a format; `audit.families.Family` is one."""

    @property
    def name(self) -> str:
        """Name of the group its rows belong to."""
        ...

    def grid(self, fmt: Format, scale: float = 1.0) -> Iterator[Batch]:
        """The fixed grid; scale multiplies its density."""
        ...

    def batches(self, fmt: Format, scale: float, points: int, seed: int) -> Iterator[Batch]:
        """The grid and so many points drawn from the same axes, each point once."""
        ...

    def strategy(self, fmt: Format, points: int = 1) -> Any:
        """A Hypothesis strategy of lists of batches, of at most so many points."""
        ...


@dataclass(frozen=True)
class Case:
    """One operation under audit.

    Args:
        name: short name by which it is selected, e.g. ``"divide"``.
        operation: the library's own name, e.g. ``"mx.divide"``.
        functions: the functions whose derivatives are asked for.
        series: the fixed, named plan: ``series(fmt)`` gives its batches in a format (may be None).
        families: the scale families over the whole exponent range.
        version: version of the series; a change of any point changes it.
        series_name: name of the series in reports, e.g. ``"divide-1328"``.
    """

    name: str
    operation: str
    functions: Sequence[Function]
    formats: Sequence[Format]
    series: Callable[[Format], Iterator[Batch]] | None
    families: Sequence[ScaleFamily]
    version: str = "1"
    series_name: str = ""


@dataclass(frozen=True)
class Implementation:
    """One way to compute a function.

    Args:
        name: e.g. ``"mlx"``, ``"mlx+divide"``, ``"python"``.
        summary: one line for ``gradaudit list``.
        arithmetic: the namespace handed to a function's body as ``m``; it is made fresh for every batch.
        active: context in which the whole batch is evaluated (a hot patch is switched on in it).
        transform: wraps the function before differentiation (compile, vmap), given the function and the batch.
        unavailable: the reason why it cannot run here, or an empty string.
    """

    name: str
    summary: str
    arithmetic: Callable[[], Any]
    active: Callable[[], AbstractContextManager[Any]] = nullcontext
    transform: Callable[[Callable[..., Any], Batch], Callable[..., Any]] | None = None
    unavailable: Callable[[], str] = lambda: ""
