"""Matrices in codes of a few bits and back: what codes stand for is linear in their scales and biases."""

from collections.abc import Mapping
from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation, Shapes, Values
from cases import codes

_ROUNDED = Tolerance(terms=2, reason="a product and a sum, each of which rounds")

# How far a number may be from what its code stands for, in units of the largest of its group: half the widest gap
# between two codes, or what the largest code lacks. In the affine mode the ends give way by up to a code, so that zero
# has one.
_SPANS = {"mxfp4": 1 / 2, "nvfp4": 1 / 4, "mxfp8": 1 / 4}


def _affine(scales: mx.array, biases: mx.array, group_size: int | None, bits: int | None) -> mx.array:
    shape = (*scales.shape[:-1], scales.shape[-1] * (group_size or 64))
    return mx.dequantize(codes.packed(shape, "affine", bits or 4), scales, biases, group_size, bits)


def _affine_body(m: Any, scales: Any, biases: Any, group_size: Any, bits: Any) -> Any:  # noqa: ARG001
    size = group_size or 64
    shape = (*scales.shape[:-1], scales.shape[-1] * size)
    return np.repeat(scales, size, -1) * codes.elements(shape, "affine", bits or 4) + np.repeat(biases, size, -1)


def _floats(x: mx.array, mode: str, dtype: Any, global_scale: float | None) -> mx.array:
    size = codes.GROUP[mode]
    packed, scales = codes.packed((1, 2 * size), mode, codes.BITS[mode]), codes.scales((1, 2), mode)[0]
    shared = None if global_scale is None else mx.array(global_scale)
    found = mx.dequantize(packed, scales, mode=mode, dtype=dtype, global_scale=shared)
    return x * found[0, : x.size].astype(x.dtype)


def _floats_body(m: Any, x: Any, mode: str, dtype: Any, global_scale: float | None) -> Any:  # noqa: ARG001
    size = codes.GROUP[mode]
    found = np.repeat(codes.scales((1, 2), mode)[1], size, 1) * codes.elements((1, 2 * size), mode, codes.BITS[mode])
    shared = 1 if global_scale is None else m.divide(global_scale, codes.SHARED)
    return x * (found[0, : x.size] * shared)


def _exists(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:  # noqa: ARG001
    """Only the mode ``nvfp4`` has a scale that all share."""
    return parameters["global_scale"] is None or parameters["mode"] == "nvfp4"


def _close(w: mx.array, group_size: int | None, bits: int | None, mode: str, global_scale: float | None) -> mx.array:
    """Whether what each code stands for is as near as its mode allows."""
    shared = None if global_scale is None else mx.array(global_scale)
    found = mx.quantize(w, group_size, bits, mode, global_scale=shared)
    biases = found[2] if mode == "affine" else None
    back = mx.dequantize(found[0], found[1], biases, group_size, bits, mode, shared, w.dtype)
    size = group_size or codes.GROUP[mode]
    exact = w.astype(mx.float32)
    largest = mx.repeat(mx.abs(exact.reshape(*w.shape[:-1], -1, size)).max(-1), size, axis=-1)
    # Half precision adds its own roundings.
    span = 1 / 64 + (2 / (2 ** (bits or 4) - 1) if mode == "affine" else _SPANS[mode])
    return mx.less_equal(mx.abs(back.astype(mx.float32) - exact), span * largest).astype(w.dtype)


def _in_groups(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:
    """Whether rows are groups, and the mode has such groups, codes and a scale that all share."""
    mode, size, bits = parameters["mode"], parameters["group_size"], parameters["bits"]
    own = mode == "affine" or (size in (None, codes.GROUP[mode]) and bits in (None, codes.BITS[mode]))
    return own and shapes[0][-1] % (size or codes.GROUP[mode]) == 0 and _exists(shapes, parameters)


OPERATIONS = (
    Operation(
        name="mx.dequantize",
        arguments=("scales", "biases"),
        call=_affine,
        body=_affine_body,
        shapes=(((1, 1), (1, 1)), ((2, 1), (2, 1)), ((1, 2), (1, 2)), ((2, 1, 1), (2, 1, 1))),
        parameters={"group_size": (32, None, 128), "bits": (None, 2, 8, 3, 5, 6)},
        tolerance=_ROUNDED,
        formats=REAL_FORMATS,
        orders=2,
        slow=True,
    ),
    Operation(
        name="mx.dequantize[of small floats]",
        arguments=("x",),
        call=_floats,
        body=_floats_body,
        shapes=(((32,),), ((30,),)),
        parameters={
            "mode": ("mxfp4", "nvfp4", "mxfp8"),
            "dtype": (None, mx.float32, mx.float16),
            "global_scale": (None, 2.0),
        },
        values={"x": Values(scaled=False)},
        valid=_exists,
        tolerance=_ROUNDED,
        formats=("bfloat16", "float32"),
        orders=1,
        text="x * mx.dequantize(codes, scales, mode='{mode}', dtype={dtype}, global_scale={global_scale})[0, :x.size]",
        note="A vector is multiplied by what the codes stand for.",
    ),
    *(
        Operation(
            name=name,
            arguments=("w",),
            call=_close,
            body=lambda m, w, **given: 0 * w + 1,  # noqa: ARG005
            shapes=(((1, 64),), ((2, 32),), ((1, 2, 128),)),
            parameters=parameters,
            values={"w": Values(scaled=False)},
            valid=_in_groups,
            formats=formats,
            orders=1,
            text="mx.quantize(w, {group_size}, {bits}, '{mode}', global_scale={global_scale})",
            slow=True,
            note="One where what a code stands for is as near to its number as the mode allows, zero elsewhere.",
        )
        for name, formats, parameters in (
            (
                "mx.quantize",
                ("float16", "bfloat16", "float32"),
                {"group_size": (None, 32, 128), "bits": (None, 2, 8), "mode": ("affine",), "global_scale": (None,)},
            ),
            (
                "mx.quantize[into small floats]",
                REAL_FORMATS,
                {
                    "group_size": (None,),
                    "bits": (None,),
                    "mode": ("mxfp4", "nvfp4", "mxfp8"),
                    "global_scale": (None, 2.0),
                },
            ),
        )
    ),
)
