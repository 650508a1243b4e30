"""The generators reach what they are there to reach, in every format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from audit.case import Batch
from audit.formats import BFLOAT16, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, REAL_FORMATS, Format
from audit.operation import Operation, Permutation, Shift, Values
from audit.points import batches
from audit.points.numbers import digits

FORMAT_IDS = [fmt.name for fmt in REAL_FORMATS]


def unary(**changes: Any) -> Operation:
    """An elementwise operation."""
    return Operation(
        **({"name": "mx.f", "arguments": ("x",), "call": lambda x: x, "body": lambda m, x: x} | changes)  # noqa: ARG005
    )


def reduction(**changes: Any) -> Operation:
    """A sum of six elements."""
    declared = {
        "name": "mx.g",
        "arguments": ("x",),
        "call": lambda x: x.sum(),
        "body": lambda m, x: m.sum(x),
        "shapes": (((2, 3),), ((0,),), ((1,),)),
    }
    return Operation(**(declared | changes))


def binary(**changes: Any) -> Operation:
    """A product of matrices."""
    declared = {
        "name": "mx.h",
        "arguments": ("a", "b"),
        "call": lambda a, b: a @ b,
        "body": lambda m, a, b: m.matmul(a, b),
        "shapes": (((2, 3), (3, 2)),),
        "mixed": True,
    }
    return Operation(**(declared | changes))


def asked(operation: Operation, fmt: Format, size: str = "default", **wanted: Any) -> list[Batch]:
    """The batches of an operation whose attributes, or whose mode's, are as wanted."""
    found = []
    for batch in batches(operation, fmt, size):
        attributes = {"kind": batch.mode.kind, "group": batch.group, "wrap": batch.wrap, "layout": batch.layout}
        if all(attributes[name] == value for name, value in wanted.items()):
            found.append(batch)
    return found


@pytest.mark.parametrize("fmt", REAL_FORMATS, ids=FORMAT_IDS)
def test_elementwise_points_cover_the_whole_range(fmt: Format) -> None:
    x = np.concatenate([b.primals[0] for b in asked(unary(), fmt, kind="vjp", group="range")]).reshape(-1)
    sizes = np.abs(x[x != 0])
    assert sizes.min() == fmt.smallest_subnormal
    assert sizes.max() > fmt.largest / 2
    subnormal, signs = (sizes < fmt.smallest_normal), np.sign(x)
    assert subnormal.sum() > 5
    assert (signs > 0).any()
    assert (signs < 0).any()
    exponents = np.unique(np.frexp(sizes)[1])
    assert np.diff(exponents).max() <= max(40, (fmt.emax - fmt.esub) // 40)


@pytest.mark.parametrize("fmt", REAL_FORMATS, ids=FORMAT_IDS)
def test_singular_points_are_met_and_approached_with_and_without_weight(fmt: Format) -> None:
    operation = unary(values={"x": Values(low=-1, high=1, singular=(-1.0, 0.0, 1.0))})
    batch = asked(operation, fmt, kind="vjp", group="singular", wrap="")[0]
    x, w = batch.primals[0], batch.weights[0]
    for point in (-1.0, 0.0, 1.0):
        assert {0.0, 1.0} <= set(w[x == point])
    assert np.nextafter(1, 0) - x[x < 1].max() <= 2 * fmt.unit_roundoff
    assert x.min() == -1
    assert x.max() == 1
    assert np.abs(x[x != 0]).min() == fmt.smallest_subnormal


def test_operands_are_equal_and_nearly_equal() -> None:
    operation = unary(arguments=("x", "y"), call=lambda x, y: x - y, body=lambda m, x, y: x - y)  # noqa: ARG005
    batch = asked(operation, FLOAT32, kind="vjp", group="near equal")[0]
    x, y = batch.primals
    apart = np.abs(x - y) / np.abs(x)
    assert (apart == 0).sum() > 10
    assert ((apart > 0) & (apart <= 2.0**-22)).sum() > 10


@pytest.mark.parametrize("fmt", [FLOAT16, BFLOAT16, FLOAT32, FLOAT64], ids=FORMAT_IDS)
def test_arrays_are_scaled_from_the_subnormal_range_to_the_edge(fmt: Format) -> None:
    (batch,) = asked(binary(), fmt, kind="vjp", group="range")
    for array in batch.primals:
        sizes = np.abs(array[array != 0])
        assert sizes.min() < fmt.smallest_normal
        assert sizes.max() > fmt.largest / 2**8
    together = [np.abs(a).reshape(len(a), -1).max(1) for a in batch.primals]
    assert ((together[0] > 2.0**8) & (together[1] < 4)).any()


def test_special_arrays_hold_zeros_ties_and_near_ties_and_weights_that_vanish() -> None:
    (batch,) = asked(reduction(), FLOAT32, kind="vjp", group="special")
    x = batch.primals[0].reshape(batch.points, -1)
    zeros, kinds = (x == 0).sum(1), np.array([len(np.unique(row)) for row in x])
    assert {0, 1, 2, 6} <= set(zeros.tolist())
    assert (kinds == 5).any()
    assert (kinds == 1).any()
    assert (batch.weights[0] == 0).any()
    assert (batch.weights[0] != 0).any()
    spread = x.max(1) - x.min(1)
    assert ((spread > 0) & (spread < 0.1)).any()


def test_permutations_are_not_their_own_inverse() -> None:
    operation = reduction(symmetries=(Permutation(("x",), axis=-1),))
    (batch,) = asked(operation, FLOAT32, kind="forward", group="special")
    base = asked(operation, FLOAT32, kind="forward", group="plain")[0].primals[0][0]
    rolled = np.roll(base, 1, -1)
    assert any(np.array_equal(x, rolled) for x in batch.primals[0])
    assert not np.array_equal(np.roll(rolled, 1, -1), base)


def test_shifts_reach_the_last_bit_and_beyond() -> None:
    operation = reduction(symmetries=(Shift("x"),))
    (batch,) = asked(operation, FLOAT32, kind="forward", group="special")
    assert np.abs(batch.primals[0]).max() > 2.0**100
    assert any(2.0**19 < np.abs(x).min() < 2.0**22 for x in batch.primals[0])


def test_every_axis_is_mapped_and_every_argument_left_unmapped() -> None:
    wraps = {b.wrap for b in asked(binary(), FLOAT32)}
    assert {"vmap-in 0,0>0", "vmap-in 1,1>1", "vmap-in 2,2>2", "vmap-in -1,-1>-1"} <= wraps
    assert {"vmap-in -,0>0", "vmap-in 0,->0", "vmap-out -,0", "vmap-out 0,-", "checkpoint", "compile"} <= wraps
    for batch in asked(binary(), FLOAT32, wrap="vmap-in 0,0>0"):
        rows = batch.primals[0]
        assert not np.array_equal(rows[0], rows[1])


@pytest.mark.parametrize("fmt", [FLOAT32, FLOAT16, FLOAT64, COMPLEX64], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("make", [unary, binary, reduction], ids=lambda make: make.__name__)
def test_a_quick_run_asks_a_part_of_a_default_one(make: Callable[..., Operation], fmt: Format) -> None:
    operation = make(formats=("float32", "float16", "float64", "complex64"))

    def questions(size: str) -> set[tuple[Any, ...]]:
        return {
            (b.function.name, b.mode, b.layout, b.wrap, *(x[i].tobytes() for x in (*b.primals, *b.weights)))
            for b in batches(operation, fmt, size)
            for i in range(b.points)
            if not b.wrap.startswith("vmap-")
        }

    quick, default = questions("quick"), questions("default")
    assert quick <= default
    if make is unary:
        assert len(quick) < len(default) / 2


def test_layouts_subsets_orders_and_mixtures_are_asked() -> None:
    found = asked(binary(), FLOAT32)
    assert {b.layout for b in found} >= {"contiguous", "transposed", "strided", "reversed", "broadcast"}
    assert {b.mode.traced for b in found if b.mode.kind == "vjp"} >= {(0,), (1,), (0, 1)}
    assert {b.mode.kind for b in found} >= {"forward", "vjp", "jvp", "second-rr", "second-fr", "second-rf", "third"}
    assert any([f.name for f in b.formats] == ["float32", "bfloat16"] for b in found)


def test_sizes_zero_and_one_and_long_rows_in_half_precision() -> None:
    operation = reduction(long=(((4096,),),))
    sizes = {b.primals[0][0].size for b in asked(operation, FLOAT32)}
    assert {0, 1, 6} <= sizes
    for fmt, due in ((FLOAT16, True), (BFLOAT16, True), (FLOAT32, False)):
        assert any(b.primals[0][0].size == 4096 for b in asked(operation, fmt)) == due


def test_complex_points_have_parts_of_every_size_and_weights_in_every_direction() -> None:
    operation = unary(formats=("complex64",))
    batch, *_ = asked(operation, COMPLEX64, kind="vjp", group="range")
    z, w = batch.primals[0], batch.weights[0]
    assert (np.abs(z.real) > 2.0**100).any()
    assert (np.abs(z.imag) > 2.0**100).any()
    assert ((z.real == 0) & (z.imag != 0)).any()
    assert ((z.real != 0) & (z.imag == 0)).any()
    assert (w.imag != 0).any()
    assert (w.real == 0).any()


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.9375), (0.1, 0.3), (-1.0, 1.0), (0.3, np.inf), (-np.inf, 2.1)])
def test_numbers_between_any_bounds_are_numbers_of_every_format(low: float, high: float) -> None:
    numbers = digits((40,), Values(low=low, high=high), np.random.default_rng(0))
    assert all(fmt.contains(numbers).all() for fmt in REAL_FORMATS)
    assert len(set(numbers)) == 40
    assert ((numbers > low) & (numbers < high)).all()


def test_points_depend_on_nothing_but_the_question() -> None:
    first, second = (asked(binary(), FLOAT16) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        for a, b in zip((*one.primals, *one.weights), (*other.primals, *other.weights), strict=True):
            assert a.tobytes() == b.tobytes()
