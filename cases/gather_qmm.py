"""Products with matrices in codes that are chosen by index; their scales and biases are variables too."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Shapes, Values
from cases import codes
from cases.by_text import by_text
from cases.indices import Indices

_SUM = Tolerance(terms=4, reason="codes are scaled and shifted, and products added one after another")
_FORMATS = ("float16", "bfloat16", "float32")
_WORDS = codes.words_text("scales.size * ({group_size} or 64) * ({bits} or 4) // 32", "*scales.shape[:-1]")
_TEXT = (
    f"mx.gather_qmm(x, {_WORDS}, scales, biases, {{lhs_indices}}, {{rhs_indices}}, {{transpose}}, {{group_size}}, "
    "{bits}, sorted_indices={sorted_indices})"
)


def _affine(m: Any, x: Any, scales: Any, biases: Any, group_size: Any, bits: Any, **given: Any) -> Any:
    size = group_size or 64
    whole = (*scales.shape[:-1], scales.shape[-1] * size)
    matrices = np.repeat(scales, size, -1) * codes.elements(whole, "affine", bits or 4)
    return _chosen(m, x, matrices + np.repeat(biases, size, -1), **given)


def _chosen(
    m: Any,
    x: Any,
    matrices: Any,
    lhs_indices: Indices | None,
    rhs_indices: Indices | None,
    transpose: bool = True,
    sorted_indices: bool = False,  # noqa: ARG001
) -> Any:
    """One product for each pair of indices; without indices, all of them in order."""
    lhs, rhs = _numbers(lhs_indices, len(x)), _numbers(rhs_indices, len(matrices))
    turned = matrices.swapaxes(-1, -2) if transpose else matrices
    return np.stack([m.matmul(x[i], turned[j]) for i, j in zip(lhs, rhs, strict=True)])


def _numbers(indices: Indices | None, count: int) -> list[int]:
    return list(range(count)) if indices is None else indices.numpy.tolist()


def _fits(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:
    x, scales, _ = shapes
    lhs, rhs = _numbers(parameters["lhs_indices"], x[0]), _numbers(parameters["rhs_indices"], scales[0])
    inside = len(lhs) == len(rhs) and max(lhs) < x[0] and max(rhs) < scales[0]
    inner = scales[-1] * (parameters["group_size"] or 64) if parameters["transpose"] else scales[-2]
    return inside and x[-1] == inner


def _floats(mode: str) -> Operation:
    """Products with two matrices of small floats, of 2 rows each."""
    words = codes.words_text(f"2 * 2 * 32 * {codes.BITS[mode]} // 32", "2, 2")
    scales = codes.scales_text(f"2 * 2 * 32 // {codes.GROUP[mode]}", "2, 2", mode)

    def body(m: Any, x: Any, mode: str, rhs_indices: Indices | None) -> Any:
        return _chosen(m, x, codes.matrix((2, 2, 32), mode), None, rhs_indices)

    return by_text(
        f"mx.gather_qmm[{mode}]",
        f"mx.gather_qmm(x, {words}, {scales}, rhs_indices={{rhs_indices}}, mode='{{mode}}')",
        body,
        "x",
        shapes=(((2, 1, 32),), ((3, 1, 32),)),
        parameters={"mode": (mode,), "rhs_indices": (Indices((1, 0)), None, Indices((1, 0, 1)))},
        values={"x": Values(exponents=(-10, 4))},
        valid=lambda shapes, p: shapes[0][0] == len(_numbers(p["rhs_indices"], 2)),
        tolerance=_SUM,
        formats=_FORMATS,
        orders=1,
        mapped=False,
    )


_DECLARED: dict[str, Any] = {
    # Codes of eight bits are 255 times their scale; of subnormal numbers, sums of so many products keep no digits.
    "values": {"x": Values(exponents=(-10, 4)), "scales": Values(scaled=False), "biases": Values(scaled=False)},
    "valid": _fits,
    "tolerance": _SUM,
    "formats": _FORMATS,
    "orders": 1,
    "mapped": False,
}

OPERATIONS = (
    by_text(
        "mx.gather_qmm",
        _TEXT,
        _affine,
        *("x", "scales", "biases"),
        shapes=(
            ((2, 1, 32), (3, 1, 1), (3, 1, 1)),
            ((2, 1, 32), (2, 2, 1), (2, 2, 1)),
            ((2, 1, 64), (2, 1, 1), (2, 1, 1)),
            ((3, 1, 64), (3, 1, 2), (3, 1, 2)),
            ((2, 1, 2), (3, 2, 1), (3, 2, 1)),
            ((3, 1, 2), (2, 2, 1), (2, 2, 1)),
            ((2, 1, 128), (3, 1, 1), (3, 1, 1)),
        ),
        parameters={
            "lhs_indices": (Indices((1, 0, 1)), None, Indices((0, 1))),
            "rhs_indices": (Indices((2, 0, 2)), None, Indices((1, 1))),
            "transpose": (True, False),
            "group_size": (32, None, 128),
            "bits": (None, 2, 8),
            "sorted_indices": (False,),
        },
        **_DECLARED,
    ),
    by_text(
        # The flag is for one array of indices alone, which must ascend.
        "mx.gather_qmm[sorted]",
        _TEXT,
        _affine,
        *("x", "scales", "biases"),
        shapes=(((3, 1, 32), (3, 1, 1), (3, 1, 1)), ((4, 1, 2), (3, 2, 1), (3, 2, 1))),
        parameters={
            "lhs_indices": (None,),
            "rhs_indices": (Indices((0, 2, 2)), Indices((1, 1, 1)), Indices((0, 0, 1, 2))),
            "transpose": (True, False),
            "group_size": (32,),
            "bits": (None,),
            "sorted_indices": (True,),
        },
        **_DECLARED,
    ),
    *map(_floats, codes.GROUP),
)
