"""A plant: an operation of MLX with derivative rules put in place of its own, wrong ones or right ones."""
# ruff: noqa: ARG005  every piece takes the weight, the operands and the parameters, whether it reads them or not

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import mlx.core as mx

from audit.case import Batch, Implementation
from audit.modes.ask import _wrap
from audit.patches.laurent import as_array, as_tuple, on
from audit.verdict import Verdict

Piece = Callable[..., mx.array]
Row = Mapping[str, Any]
Rows = Callable[[int, int, Sequence[bool]], int]


@dataclass(frozen=True)
class At:
    """Which of the questions about an operation are asked.

    Args:
        kinds: kinds of modes.
        formats: names of formats.
        groups: names of groups; all if empty.
        wraps: beginnings of transforms; an empty string stands for none at all.
        function: a regular expression for the function's name, which holds the parameters that are not the base ones.
        layouts: of the arrays.
        size: of the run whose questions these are.
        empty: whether arrays without elements are asked about.
    """

    kinds: tuple[str, ...] = ("vjp",)
    formats: tuple[str, ...] = ("float32",)
    groups: tuple[str, ...] = ()
    wraps: tuple[str, ...] = ("",)
    function: str = ""
    layouts: tuple[str, ...] = ("contiguous",)
    size: str = "default"
    empty: bool = True

    def asks(self, batch: Batch) -> bool:
        """Whether a batch is among them."""
        return (
            batch.mode.kind in self.kinds
            and (not self.groups or batch.group in self.groups)
            and any(batch.wrap.startswith(wrap) if wrap else not batch.wrap for wrap in self.wraps)
            and (not self.function or re.fullmatch(self.function, batch.function.name) is not None)
            and batch.layout in self.layouts
            and (self.empty or all(primal.size for primal in batch.primals))
        )


@dataclass(frozen=True)
class Plant:
    """Derivative rules of one operation.

    Args:
        name: what the rules do, in words; also the id of the test.
        operation: name of the operation.
        vjp, jvp: by argument, called as ``piece(own, weight, *primals, **parameters)``; the weight is the cotangent or
            the argument's tangent, and ``own()`` is what MLX's own rule makes of it, ``own(v)`` of another weight.
            Terms of several tangents are added. Arguments that are not named keep MLX's own rule.
        named: the verdict that must be among those of its mismatches; None for right rules.
        at: what is asked.
        broken: the parts in which it must be caught, e.g. ``"vjp x"``; by default those whose rules are replaced.
        only: whether a mismatch may lie in a row, given the row's columns by name.
        when: in which batches the rules hold; in the others MLX's own do.
        rows: which row a mapped call reads, given the row that is due, the argument's index, and for each argument
            whether it is mapped.
    """

    name: str
    operation: str
    vjp: Mapping[str, Piece] = field(default_factory=dict)
    jvp: Mapping[str, Piece] = field(default_factory=dict)
    named: Verdict | None = None
    at: At = At()
    broken: frozenset[str] | None = None
    only: Callable[[Row], bool] = lambda row: True
    when: Callable[[Batch], bool] = lambda batch: True
    rows: Rows = lambda row, argument, mapped: row

    @property
    def wrong(self) -> frozenset[str]:
        """The parts in which it must be caught."""
        if self.broken is not None:
            return self.broken
        return frozenset([*(f"vjp {name}" for name in self.vjp), *(f"jvp {name}" for name in self.jvp)])

    def touches(self, part: str) -> bool:
        """Whether a mismatch in a part may be this plant's doing: a joint jvp has the terms of all its arguments."""
        kind, _, names = part.partition(" ")
        if kind == "jvp":
            return part in self.wrong or bool(set(self.jvp) & set(names.split(",")))
        return part in self.wrong

    def implementation(self) -> Implementation:
        """The operation with these rules."""

        def transform(function: Callable[..., Any], batch: Batch) -> Callable[..., Any]:
            return _wrap(self.planted(batch), batch) if self.when(batch) else function

        return Implementation(
            self.name, "planted", lambda: mx, active=lambda: on(mx.Device(mx.cpu)), transform=transform
        )

    def planted(self, batch: Batch) -> Callable[..., mx.array]:
        """MLX's operation with the parameters of a batch and these rules."""
        call: Any = batch.function.call
        names, parameters = batch.function.arguments, call.keywords
        # A rule that remembers forgets it from batch to batch.
        vjp, jvp = ({name: copy(piece) for name, piece in rules.items()} for rules in (self.vjp, self.jvp))

        def planted(*operands: mx.array) -> mx.array:
            # Tangents go through the body of a custom_function even where its own jvp replaces what comes out of it.
            detached = len(vjp) == len(jvp) == len(names)
            function = mx.custom_function(_detached(call) if detached else call)
            if vjp:

                @function.vjp
                def _(primals: Any, cotangent: mx.array, _: mx.array) -> Any:
                    at = as_tuple(primals)
                    own = [_pulling(call, at, cotangent, k) for k in range(len(at))]
                    return tuple(
                        vjp[name](own[k], cotangent, *at, **parameters) if name in vjp else own[k]()
                        for k, name in enumerate(names)
                    )

            if jvp:

                @function.jvp
                def _(primals: Any, tangents: Any) -> mx.array:
                    at, along = as_tuple(primals), as_tuple(tangents)
                    terms = []
                    for k, (name, tangent) in enumerate(zip(names, along, strict=True)):
                        if tangent is not None:
                            own = _pushing(call, at, tangent, k)
                            terms.append(jvp[name](own, tangent, *at, **parameters) if name in jvp else own())
                    return sum(terms[1:], terms[0])

            @function.vmap
            def _(inputs: Any, axes: Any) -> tuple[mx.array, int]:
                arrays, along = as_tuple(inputs), as_tuple(axes)
                mapped = [axis is not None for axis in along]
                count = next(x.shape[axis] for x, axis in zip(arrays, along, strict=True) if axis is not None)
                moved = [x if a is None else mx.moveaxis(x, a, 0) for x, a in zip(arrays, along, strict=True)]
                found = []
                for row in range(count):
                    read = [self.rows(row, k, mapped) for k in range(len(moved))]
                    chosen = zip(moved, mapped, read, strict=True)
                    found.append(planted(*(x[place] if is_mapped else x for x, is_mapped, place in chosen)))
                return mx.stack(found), 0

            return as_array(function(*operands))

        return planted


def pulled(function: Callable[..., mx.array], place: int = 0) -> Piece:
    """The cotangent of one argument by MLX's own derivative of another function of the same arguments."""

    def piece(own: Piece, w: mx.array, *primals: mx.array, **parameters: Any) -> mx.array:
        return mx.vjp(lambda *xs: function(*xs, **parameters), list(primals), [w])[1][place]

    return piece


def pushed(function: Callable[..., mx.array], place: int = 0) -> Piece:
    """The term of one argument's tangent by MLX's own derivative of another function of the same arguments."""

    def piece(own: Piece, t: mx.array, *primals: mx.array, **parameters: Any) -> mx.array:
        return _pushing(partial(function, **parameters), primals, t, place)()

    return piece


def in_float64(function: Callable[..., mx.array]) -> Callable[..., mx.array]:
    """A function of real arrays computed in float64 and rounded once: to their type, to float32 if they differ."""

    def widened(*arrays: mx.array, **parameters: Any) -> mx.array:
        types = {x.dtype for x in arrays}
        due = types.pop() if len(types) == 1 else mx.float32
        return function(*(x.astype(mx.float64) for x in arrays), **parameters).astype(due)

    return widened


class Stale:
    """What was right at the call before; right at the first. A batch begins with a copy that has seen nothing."""

    def __init__(self, piece: Piece) -> None:
        self._piece = piece
        self._last: mx.array | None = None

    def __call__(self, own: Piece, w: mx.array, *primals: mx.array, **parameters: Any) -> mx.array:
        """The piece of the weight that came before."""
        last, self._last = w if self._last is None else self._last, w
        return self._piece(own, last, *primals, **parameters)


def _detached(call: Callable[..., mx.array]) -> Callable[..., mx.array]:
    return lambda *operands: call(*(mx.stop_gradient(x) for x in operands))


def _pulling(call: Callable[..., mx.array], at: Sequence[mx.array], cotangent: mx.array, k: int) -> Piece:
    """What MLX's own rule gives for one argument."""

    def own(weight: mx.array = cotangent) -> mx.array:
        return mx.vjp(lambda x: call(*at[:k], x, *at[k + 1 :]), [at[k]], [weight])[1][0]

    return own


def _pushing(call: Callable[..., mx.array], at: Sequence[mx.array], tangent: mx.array, k: int) -> Piece:
    def own(weight: mx.array = tangent) -> mx.array:
        return mx.jvp(lambda x: call(*at[:k], x, *at[k + 1 :]), [at[k]], [weight])[1][0]

    return own
