"""Products with matrices in codes that are chosen by index; their scales and biases are variables too."""

from collections.abc import Mapping
from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Shapes, Values
from cases import codes

Indices = tuple[int, ...] | None

_SUM = Tolerance(terms=4, reason="codes are scaled and shifted, and products added one after another")
_FORMATS = ("float16", "bfloat16", "float32")


def _given(indices: Indices) -> mx.array | None:
    return None if indices is None else mx.array(indices, dtype=mx.uint32)


def _columns(scales: tuple[int, ...], group_size: int | None) -> int:
    return scales[-1] * (group_size or 64)


def _affine(x: mx.array, scales: mx.array, biases: mx.array, **given: Any) -> mx.array:
    packed = codes.packed(
        (*scales.shape[:-1], _columns(scales.shape, given["group_size"])), "affine", given["bits"] or 4
    )
    indices = {name: _given(given.pop(name)) for name in ("lhs_indices", "rhs_indices")}
    return mx.gather_qmm(x, packed, scales, biases, **indices, **given)


def _affine_body(m: Any, x: Any, scales: Any, biases: Any, **given: Any) -> Any:
    size = given["group_size"] or 64
    whole = (*scales.shape[:-1], scales.shape[-1] * size)
    matrices = np.repeat(scales, size, -1) * codes.elements(whole, "affine", given["bits"] or 4)
    return _chosen(m, x, matrices + np.repeat(biases, size, -1), given)


def _chosen(m: Any, x: Any, matrices: Any, given: Mapping[str, Any]) -> Any:
    """One product for each pair of indices; without indices, all of them in order."""
    lhs, rhs = given["lhs_indices"], given["rhs_indices"]
    lhs = range(len(x)) if lhs is None else lhs
    rhs = range(len(matrices)) if rhs is None else rhs
    turned = matrices.swapaxes(-1, -2) if given["transpose"] else matrices
    return np.stack([m.matmul(x[i], turned[j]) for i, j in zip(lhs, rhs, strict=True)])


def _fits(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:
    x, scales, _ = shapes
    lhs, rhs = parameters["lhs_indices"], parameters["rhs_indices"]
    pairs = len({x[0] if lhs is None else len(lhs), scales[0] if rhs is None else len(rhs)}) == 1
    inside = max(lhs or (0,)) < x[0] and max(rhs or (0,)) < scales[0]
    inner = _columns(scales, parameters["group_size"]) if parameters["transpose"] else scales[-2]
    # The flag is for one array of indices alone, which must ascend.
    ascend = [lhs, rhs].count(None) == 1 and all(list(i or ()) == sorted(i or ()) for i in (lhs, rhs))
    return pairs and inside and x[-1] == inner and (ascend or not parameters["sorted_indices"])


def _floats(x: mx.array, mode: str, rhs_indices: Indices, global_scale: tuple[float, float] | None) -> mx.array:
    shape, scales = (2, 2, 32), (2, 2, 32 // codes.GROUP[mode])
    packed = codes.packed(shape, mode, codes.BITS[mode])
    shared = None if global_scale is None else mx.array(global_scale)
    indices = _given(rhs_indices)
    return mx.gather_qmm(x, packed, codes.scales(scales, mode)[0], rhs_indices=indices, mode=mode, global_scale=shared)


def _floats_body(m: Any, x: Any, mode: str, rhs_indices: Indices, global_scale: tuple[float, float] | None) -> Any:
    shape, scales = (2, 2, 32), (2, 2, 32 // codes.GROUP[mode])
    matrices = np.repeat(codes.scales(scales, mode)[1], codes.GROUP[mode], -1) * codes.elements(
        shape, mode, codes.BITS[mode]
    )
    if global_scale is not None:
        # One for each matrix.
        matrices = matrices * np.array([m.divide(scale, codes.SHARED) for scale in global_scale])[:, None, None]
    return _chosen(m, x, matrices, {"lhs_indices": None, "rhs_indices": rhs_indices, "transpose": True})


OPERATIONS = (
    Operation(
        name="mx.gather_qmm",
        arguments=("x", "scales", "biases"),
        call=_affine,
        body=_affine_body,
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
            "lhs_indices": ((1, 0, 1), None, (0, 1)),
            "rhs_indices": ((2, 0, 2), None, (1, 1)),
            "transpose": (True, False),
            "group_size": (32, None, 128),
            "bits": (None, 2, 8),
            "sorted_indices": (False,),
        },
        # Codes of four bits are fifteen times their scale.
        values={"x": Values(exponents=(-1100, 4)), "scales": Values(scaled=False), "biases": Values(scaled=False)},
        valid=_fits,
        tolerance=_SUM,
        formats=_FORMATS,
        orders=1,
        mapped=False,
        slow=True,
        text="mx.gather_qmm(x, codes, scales, biases, lhs_indices={lhs_indices}, rhs_indices={rhs_indices}, "
        "transpose={transpose}, group_size={group_size}, bits={bits}, sorted_indices={sorted_indices})",
    ),
    Operation(
        name="mx.gather_qmm[sorted]",
        arguments=("x", "scales", "biases"),
        call=_affine,
        body=_affine_body,
        shapes=(((3, 1, 32), (3, 1, 1), (3, 1, 1)), ((4, 1, 2), (3, 2, 1), (3, 2, 1))),
        parameters={
            "lhs_indices": (None,),
            "rhs_indices": ((0, 2, 2), (1, 1, 1), (0, 0, 1, 2)),
            "transpose": (True, False),
            "group_size": (32,),
            "bits": (None,),
            "sorted_indices": (True,),
        },
        values=dict.fromkeys(("x", "scales", "biases"), Values(scaled=False)),
        valid=_fits,
        tolerance=_SUM,
        formats=_FORMATS,
        orders=1,
        mapped=False,
        slow=True,
        text="mx.gather_qmm(x, codes, scales, biases, rhs_indices={rhs_indices}, transpose={transpose}, "
        "group_size={group_size}, sorted_indices={sorted_indices})",
    ),
    Operation(
        name="mx.gather_qmm[in small floats]",
        arguments=("x",),
        call=_floats,
        body=_floats_body,
        shapes=(((2, 1, 32),), ((3, 1, 32),)),
        parameters={
            "mode": ("mxfp4", "nvfp4", "mxfp8"),
            "rhs_indices": ((1, 0), None, (1, 0, 1)),
            "global_scale": (None, (2.0, 0.5)),
        },
        valid=lambda shapes, p: (
            shapes[0][0] == len(p["rhs_indices"] or (0, 1)) and (p["global_scale"] is None or p["mode"] == "nvfp4")
        ),
        tolerance=_SUM,
        formats=_FORMATS,
        orders=1,
        mapped=False,
        slow=True,
        text="mx.gather_qmm(x, codes, scales, rhs_indices={rhs_indices}, mode='{mode}', global_scale={global_scale})",
    ),
)
