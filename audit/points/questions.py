"""Questions: points become batches, each in one mode, one layout and under one transform."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from audit.case import Batch, Function, Mode
from audit.formats import Format, lookup
from audit.operation import Operation, Shape, Shapes
from audit.points import arrays, elementwise
from audit.points.arrays import Place
from audit.points.points import Points
from audit.reference.shape import result_shape

# Small arrays at which an elementwise operation is asked: equal shapes, broadcasting ones, sizes 1, 0, odd and even.
BROADCASTING: dict[int, tuple[Shapes, ...]] = {
    1: (((2, 3),), ((),), ((1,),), ((0,),), ((4, 1),)),
    2: (((2, 3), (2, 3)), ((2, 1), (3,)), ((), (2,)), ((1,), (4,)), ((0, 2), (2,))),
    3: (((2, 3), (2, 3), (2, 3)), ((2, 1), (3,), ()), ((0,), (), (1,))),
}
# Long arrays are not asked for derivatives of which the rows would hold more numbers: there the long sum is in the
# value, and the derivative with respect to each of its many terms has none.
LARGEST = 17_000_000
SECOND = ("second-rr", "second-fr", "second-rf")
VIEWS = ("transposed", "strided", "reversed")


def batches(operation: Operation, fmt: Format, size: str) -> Iterator[Batch]:
    """Everything that is asked of an operation in one format.

    Args:
        operation: the operation.
        fmt: one of its formats.
        size: ``"quick"``, ``"default"`` or ``"nightly"``.
    """
    if fmt.name not in operation.formats:
        return
    if operation.elementwise:
        single = ((),) * len(operation.arguments)
        existing = [p for p in operation.combinations() if operation.valid(single, p)]
        for number, parameters in enumerate(existing):
            if not number or _chosen(number, fmt, size):
                yield from _elementwise(operation, parameters, fmt, size, base=number == 0)
    yield from _small(operation, fmt, size)
    for shapes in operation.long:
        if fmt.name in ("float16", "bfloat16") and size != "quick":
            parameters = next(p for p in operation.combinations() if operation.valid(shapes, p))
            place, function = _place(operation, shapes, parameters, fmt)
            for batch in _first_order(operation, function, arrays.long(place), fmt):
                if _recorded(batch, place) <= LARGEST:
                    yield batch


def _recorded(batch: Batch, place: Place) -> int:
    """How many numbers the rows of a batch hold: each has all primals and weights of its point."""
    held = sum(array[0].size for array in (*batch.primals, *batch.weights))
    backward = batch.mode.kind == "vjp"
    elements = sum(batch.primals[i][0].size for i in batch.mode.traced) if backward else math.prod(place.result)
    return batch.points * elements * held


def _elementwise(
    operation: Operation, parameters: Mapping[str, Any], fmt: Format, size: str, *, base: bool
) -> Iterator[Batch]:
    scale = (3.0 if size == "nightly" else 1.0) * (0.3 if operation.slow or not base else 1.0)
    function = operation.function(parameters, elementwise=True)
    made = elementwise.complex_points if fmt.parts == 2 else elementwise.points
    for points in made(operation, fmt, scale):
        if size == "quick":
            # Some of a default run's: what is found at them is found there too.
            points = points.take(slice(None, None, 4))
        yield from _first_order(operation, function, points, fmt)
        few = points.take(slice(None, None, 3))
        if operation.orders >= 2:
            for kind in SECOND if base else SECOND[:1]:
                yield from _batch(operation, function, few.mild(), fmt, Mode(kind, operation.traced))
        whole = size == "nightly" or fmt.name in WHOLE
        if operation.orders >= 3 and base and whole:
            yield from _batch(operation, function, few.mild(), fmt, Mode("third", operation.traced))
        for traced in _subsets(operation) if _single(operation, fmt, size) else ():
            for kind in ("vjp", "jvp"):
                yield from _batch(operation, function, few, fmt, Mode(kind, traced))
        if base and _single(operation, fmt, size) and size != "quick" and points.group == "range":
            for kind in ("vjp", "jvp") if size == "nightly" else ("vjp",):
                yield from _batch(operation, function, few, fmt, Mode(kind, operation.traced), wrap="compile")


def _small(operation: Operation, fmt: Format, size: str) -> Iterator[Batch]:
    """Operations at arrays of a few elements."""
    if operation.elementwise:
        shapes = BROADCASTING.get(len(operation.arguments))
        if shapes is None:
            shapes = (((2, 3),) * len(operation.arguments),)
        configurations = [(s, operation.base) for s in shapes if operation.valid(s, operation.base)]
    else:
        configurations = operation.configurations()
    for number, (shapes, parameters) in enumerate(configurations):
        if number and not _chosen(number, fmt, size):
            continue
        place, function = _place(operation, shapes, parameters, fmt)
        if number:
            yield from _first_order(operation, function, arrays.plain(place, 2), fmt)
            if operation.orders >= 2 and (size == "nightly" or number % 3 == 1):
                yield from _batch(operation, function, arrays.plain(place, 1), fmt, Mode("second-rr", operation.traced))
            continue
        yield from _base(operation, function, place, size)


def _single(operation: Operation, fmt: Format, size: str) -> bool:
    """Whether this is the format in which every way of asking is tried: float32, or complex64 of what has only that."""
    return size == "nightly" or fmt.name == next((name for name in WHOLE if name in operation.formats), "")


def _chosen(number: int, fmt: Format, size: str) -> bool:
    """Of configurations beside the base: float32, and each ninth in one other format, are asked in a default run."""
    if size == "quick":
        return fmt.name == "float32" and number % 4 == 1
    if fmt.name in WHOLE or size == "nightly":
        return True
    return {1: "float16", 4: "bfloat16", 7: "float64"}.get(number % 9) == fmt.name


def _base(operation: Operation, function: Function, place: Place, size: str) -> Iterator[Batch]:
    fmt, traced = place.format, operation.traced
    if operation.deadly:
        # Every question costs a process, or the time after which it counts as hanging.
        alone = arrays.plain(place, 1)
        yield from _first_order(operation, function, alone, fmt)
        for subset in _subsets(operation):
            yield from _batch(operation, function, alone, fmt, Mode("vjp", subset))
        return
    plain = arrays.plain(place, 3 if size == "nightly" and not operation.slow else 2)
    groups = [plain] if operation.elementwise else [plain, arrays.over_range(place), arrays.special(place)]
    for points in groups:
        if points is not None:
            yield from _first_order(operation, function, points, fmt)
    first = plain.take(slice(0, 1))
    whole = size == "nightly" or fmt.name in WHOLE
    if operation.orders >= 2:
        for kind in SECOND if whole else SECOND[:1]:
            yield from _batch(operation, function, plain, fmt, Mode(kind, traced))
    if operation.mixed and fmt.name in MIXTURES:
        yield from _mixed(operation, function, first, fmt)
    if not whole:
        return
    if operation.orders >= 3:
        yield from _batch(operation, function, first, fmt, Mode("third", traced))
    if _single(operation, fmt, size):
        for subset in _subsets(operation):
            for kind in ("vjp", "jvp"):
                yield from _batch(operation, function, first, fmt, Mode(kind, subset))
        yield from _variants(operation, function, place, plain, size)


# In a default run, the formats in which all compositions of second derivatives and third ones are asked, and, in the
# first of them that an operation has, sets of traced arguments, layouts and transforms; in the others, values and first
# derivatives over the whole range, and second ones. Nightly runs try everything everywhere.
WHOLE = ("float32", "complex64")
# For a format, the formats of the other arguments and of the result.
MIXTURES = {"float16": ("float32", "float32"), "float32": ("bfloat16", "float32"), "bfloat16": ("float16", "float32")}


def _mixed(operation: Operation, function: Function, points: Points, fmt: Format) -> Iterator[Batch]:
    other, result = (lookup(name) for name in MIXTURES[fmt.name])
    formats = (fmt, *(other for _ in operation.arguments[1:]))
    for kind in ("forward", "vjp", "jvp"):
        mode = Mode(kind, () if kind == "forward" else operation.traced)
        for batch in _batch(operation, function, points, fmt, mode):
            yield replace(batch, formats=formats, result=result)


def _variants(operation: Operation, function: Function, place: Place, plain: Points, size: str) -> Iterator[Batch]:
    """Ways of asking that must give the same: layouts, checkpoint, compile, vmap over every axis."""
    fmt, mode = place.format, Mode("vjp", operation.traced)
    forward = Mode("forward", ())
    first = plain.take(slice(0, 1))
    if size == "quick":
        if operation.mapped:
            axes = ",".join("0" for _ in place.shapes)
            for asked in (forward, mode):
                yield from _batch(operation, function, plain, fmt, asked, wrap=f"vmap-in {axes}>0")
        return
    if any(len(shape) for shape in place.shapes):
        for layout in VIEWS:
            for asked in (forward, mode):
                yield from _batch(operation, function, first, fmt, asked, layout=layout)
        rows = arrays.equal_rows(place)
        for asked in (forward, mode):
            yield from _batch(operation, function, rows, fmt, asked, layout="broadcast")
    yield from _batch(operation, function, first, fmt, mode, wrap="checkpoint")
    if not operation.elementwise:
        yield from _batch(operation, function, plain, fmt, mode, wrap="compile")
    if operation.mapped:
        yield from _mapped(operation, function, place, plain)


def _mapped(operation: Operation, function: Function, place: Place, plain: Points) -> Iterator[Batch]:
    """The points as rows: every axis of the arguments, every argument unbatched in turn."""
    count, traced, fmt = len(place.shapes), operation.traced, place.format
    most = max(len(shape) for shape in place.shapes)
    for axis in range(most + 1):
        axes = [min(axis, len(shape)) for shape in place.shapes]
        out = min(axis, len(place.result))
        inside = f"vmap-in {','.join(map(str, axes))}>{out}"
        for kind in ("forward", "vjp", "jvp"):
            mode = Mode(kind, () if kind == "forward" else traced)
            yield from _batch(operation, function, plain, fmt, mode, wrap=inside)
        yield from _batch(
            operation, function, plain, fmt, Mode("vjp", traced), wrap=f"vmap-out {','.join(map(str, axes))}"
        )
    yield from _batch(
        operation, function, plain, fmt, Mode("vjp", traced), wrap=f"vmap-in {','.join(['-1'] * count)}>-1"
    )
    if count == 1:
        return
    for argument in range(count):
        points = arrays.shared(place, argument)
        axes = ",".join("-" if k == argument else "0" for k in range(count))
        batched = tuple(position for position, k in enumerate(traced) if k != argument)
        yield from _batch(operation, function, points, fmt, Mode("forward", ()), wrap=f"vmap-in {axes}>0")
        yield from _batch(operation, function, points, fmt, Mode("vjp", traced), wrap=f"vmap-out {axes}")
        if batched:
            for batch in _batch(operation, function, points, fmt, Mode("vjp", traced), wrap=f"vmap-in {axes}>0"):
                yield replace(batch, compared=batched)


def _first_order(operation: Operation, function: Function, points: Points, fmt: Format) -> Iterator[Batch]:
    yield from _batch(operation, function, points, fmt, Mode("forward", ()))
    for kind in ("vjp", "jvp"):
        yield from _batch(operation, function, points, fmt, Mode(kind, operation.traced))


def _batch(
    operation: Operation, function: Function, points: Points, fmt: Format, mode: Mode, **how: Any
) -> Iterator[Batch]:
    """One batch, each point once; none if there is nothing to ask at."""
    if not len(points) or mode.order > operation.orders or (mode.kind != "forward" and not mode.traced):
        return
    tangents = [points.tangents[i] for i in mode.traced]
    weights = {"forward": [], "jvp": tangents}.get(
        mode.kind, [points.cotangent, *(tangents if mode.directional else [])]
    )
    batch = Batch(
        group=points.group,
        function=function,
        format=fmt,
        mode=mode,
        primals=points.primals,
        weights=tuple(weights),
        tolerance=operation.tolerance,
        formats=operation.argument_formats(fmt),
        result=operation.result_format(fmt),
        **how,
    )
    if how.get("wrap", "").startswith("vmap-"):
        # All points are rows of one call, so that none may be taken out.
        yield batch
    elif sum(p.size for p in batch.primals):
        yield batch.distinct()
    else:
        yield batch


def _subsets(operation: Operation) -> list[tuple[int, ...]]:
    """Proper subsets of the traced arguments: all of up to three, otherwise the single ones and all but one."""
    traced = operation.traced
    if len(traced) <= 3:
        return [s for n in range(1, len(traced)) for s in combinations(traced, n)]
    return [(k,) for k in traced] + [tuple(k for k in traced if k != left) for left in traced]


def _place(operation: Operation, shapes: Shapes, parameters: Mapping[str, Any], fmt: Format) -> tuple[Place, Function]:
    function = operation.function(parameters, elementwise=False)
    parts = tuple(f.parts for f in operation.argument_formats(fmt) or (fmt,) * len(shapes))
    result: Shape = result_shape(function, shapes, parts, (operation.result_format(fmt) or fmt).parts)
    return Place(operation, shapes, result, fmt), function
