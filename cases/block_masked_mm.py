"""Products of matrices of which blocks are masked, or multiplied by the numbers of a mask."""

from collections.abc import Mapping
from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Shapes, Values
from cases.by_text import by_text
from cases.indices import Indices

_SUM = Tolerance(terms=4, reason="a sum of products of three factors rounds once a term, and is multiplied by a fourth")


def _blocks(mask: Any, shape: tuple[int, ...], block_size: int) -> Any:
    """Every number of a mask repeated for its block."""
    return np.repeat(np.repeat(mask, block_size, -2), block_size, -1)[..., : shape[-2], : shape[-1]]


def _masked(m: Any, a: Any, b: Any, out: Any, lhs: Any, rhs: Any, block_size: int) -> Any:
    a, b = _blocks(lhs, a.shape, block_size) * a, _blocks(rhs, b.shape, block_size) * b
    found = m.matmul(a, b)
    return _blocks(out, found.shape, block_size) * found


def _chosen_body(m: Any, a: Any, b: Any, block_size: int, **masks: Indices | None) -> Any:
    def known(name: str, shape: tuple[int, ...]) -> Any:
        mask = masks[name]
        return np.ones(shape, bool) if mask is None else _blocks(mask.numpy, shape, block_size)

    a, b = m.where(known("mask_lhs", a.shape), a, 0), m.where(known("mask_rhs", b.shape), b, 0)
    found = m.matmul(a, b)
    return m.where(known("mask_out", found.shape), found, 0)


def _fits(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:
    (a, b), size = shapes, parameters["block_size"]
    wanted = {"mask_out": (a[-2], b[-1]), "mask_lhs": a[-2:], "mask_rhs": b[-2:]}
    return all(
        parameters[name] is None or parameters[name].numpy.shape == tuple(-(-n // size) for n in shape)
        for name, shape in wanted.items()
    )


OPERATIONS = (
    Operation(
        name="mx.block_masked_mm",
        arguments=("a", "b", "mask_out", "mask_lhs", "mask_rhs"),
        call=lambda a, b, out, lhs, rhs, block_size: mx.block_masked_mm(a, b, block_size, out, lhs, rhs),
        body=_masked,
        shapes=(
            ((1, 33), (33, 1), (1, 1), (1, 2), (2, 1)),
            ((2, 3), (3, 2), (1, 1), (1, 1), (1, 1)),
            ((33, 1), (1, 2), (2, 1), (2, 1), (1, 1)),
            ((2, 1, 3), (2, 3, 1), (2, 1, 1), (2, 1, 1), (2, 1, 1)),
        ),
        parameters={"block_size": (32, 64)},
        valid=lambda shapes, p: p["block_size"] == 32 or max(*shapes[0], *shapes[1]) < 33,
        # Products of four numbers and a cotangent leave the range on the way, whatever their order.
        values=dict.fromkeys(("a", "b", "mask_out", "mask_lhs", "mask_rhs"), Values(scaled=False)),
        tolerance=_SUM,
        # Nothing else is computed on the CPU.
        formats=("float32",),
        orders=2,
        slow=True,
        text="mx.block_masked_mm(a, b, {block_size}, mask_out, mask_lhs, mask_rhs)",
    ),
    by_text(
        "mx.block_masked_mm[masks of truths]",
        "mx.block_masked_mm(a, b, {block_size}, {mask_out}, {mask_lhs}, {mask_rhs})",
        _chosen_body,
        "a",
        "b",
        shapes=(((2, 33), (33, 1)), ((1, 3), (3, 2)), ((33, 1), (1, 2))),
        parameters={
            "block_size": (32, 64),
            "mask_out": (None, Indices(((True,),)), Indices(((False,),)), Indices(((True,), (False,)))),
            "mask_lhs": (
                Indices(((True, False),)),
                None,
                Indices(((False, True),)),
                Indices(((False,),)),
                Indices(((False,), (True,))),
            ),
            "mask_rhs": (None, Indices(((False,), (True,))), Indices(((True,),))),
        },
        values={},
        valid=_fits,
        tolerance=_SUM,
        orders=2,
    ),
)
