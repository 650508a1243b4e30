"""Matrices in codes of a few bits and back: what codes stand for is linear in their scales and biases."""

from collections.abc import Mapping
from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Operation, Shapes
from cases import codes
from cases.by_text import by_text

_ROUNDED = Tolerance(terms=2, reason="a product and a sum, each of which rounds")

# How far a number may be from what its code stands for, in units of the largest of its group: half the widest gap
# between two codes, or what the largest code lacks.
_SPANS = {"mxfp4": 1 / 2, "nvfp4": 1 / 4, "mxfp8": 1 / 4}


_WORDS = codes.words_text("scales.size * ({group_size} or 64) * ({bits} or 4) // 32", "*scales.shape[:-1]")


def _affine(m: Any, scales: Any, biases: Any, group_size: int | None, bits: int | None) -> Any:  # noqa: ARG001
    size = group_size or 64
    shape = (*scales.shape[:-1], scales.shape[-1] * size)
    return np.repeat(scales, size, -1) * codes.elements(shape, "affine", bits or 4) + np.repeat(biases, size, -1)


def _floats(mode: str) -> Operation:
    """A vector times what the codes of a matrix of one row stand for."""
    words = codes.words_text(f"32 * {codes.BITS[mode]} // 32", "1")
    scales = codes.scales_text(f"32 // {codes.GROUP[mode]}", "1", mode)
    shared = (None, 2.0) if mode == "nvfp4" else (None,)

    def body(m: Any, x: Any, mode: str, dtype: Any, global_scale: float | None) -> Any:  # noqa: ARG001
        found = x * codes.matrix((32,), mode)
        return found if global_scale is None else found * m.divide(global_scale, codes.SHARED)

    return by_text(
        f"mx.dequantize[{mode}]",
        f"x * mx.dequantize({words}, {scales}, mode='{{mode}}', dtype={{dtype}}, global_scale="
        f"{'mx.array({global_scale}) if {global_scale} else None'})[0].astype(x.dtype)",
        body,
        "x",
        shapes=(((32,),),),
        parameters={"mode": (mode,), "dtype": (None, mx.float32, mx.float16), "global_scale": shared},
        tolerance=_ROUNDED,
        formats=("bfloat16", "float32"),
        orders=1,
    )


# Whether what each code stands for is as near as its mode allows.
_CLOSE = (
    "(lambda q, largest: (mx.abs(mx.dequantize(*q, {group_size}, {bits}, '{mode}', {global_scale}, w.dtype)"
    ".astype(mx.float32) - w.astype(mx.float32)) <= {span} * largest).astype(w.dtype))"
    "(((*mx.quantize(w, {group_size}, {bits}, '{mode}', global_scale={global_scale}), None)[:3]), "
    "mx.repeat(mx.abs(w.astype(mx.float32)).reshape(*w.shape[:-1], -1, {size}).max(-1), {size}, axis=-1))"
)


def _quantized(mode: str, formats: tuple[str, ...], **parameters: tuple[Any, ...]) -> Operation:
    return by_text(
        "mx.quantize" if mode == "affine" else f"mx.quantize[{mode}]",
        _CLOSE,
        lambda m, w, **given: 0 * w + 1,  # noqa: ARG005
        "w",
        shapes=(((1, 64),), ((2, 32),), ((1, 2, 128),)),
        parameters={"mode": (mode,), **parameters},
        valid=_in_groups,
        tolerance=Tolerance(),
        formats=formats,
        orders=1,
        note="One where what a code stands for is as near to its number as the mode allows, zero elsewhere.",
    )


def _in_groups(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:
    """Whether rows are groups, and the span is that of the codes."""
    size, bits, span = parameters["group_size"], parameters["bits"], parameters["span"]
    whole = size or codes.GROUP.get(parameters["mode"], 64)
    narrow = parameters["mode"] != "affine" or span == _span(bits or 4)
    return shapes[0][-1] % whole == 0 and parameters["size"] == whole and narrow


def _span(bits: int) -> float:
    """How far a number may be from its code, in units of the largest of its group: a code and what formats round off.

    The ends of a range give way by up to a code, so that zero has one.
    """
    return 2 / (2**bits - 1) + 1 / 64


OPERATIONS = (
    by_text(
        "mx.dequantize",
        f"mx.dequantize({_WORDS}, scales, biases, {{group_size}}, {{bits}})",
        _affine,
        "scales",
        "biases",
        shapes=(((1, 1), (1, 1)), ((2, 1), (2, 1)), ((1, 2), (1, 2)), ((2, 1, 1), (2, 1, 1))),
        parameters={"group_size": (32, None, 128), "bits": (None, 2, 8, 3, 5, 6)},
        values={},
        valid=lambda shapes, p: p["group_size"] == 32 or p["bits"] in (None, 2),  # noqa: ARG005
        tolerance=_ROUNDED,
        formats=REAL_FORMATS,
        orders=2,
    ),
    *map(_floats, codes.GROUP),
    _quantized(
        "affine",
        ("float16", "bfloat16", "float32"),
        group_size=(None, 32, 128),
        bits=(None, 2, 8),
        global_scale=(None,),
        size=(64, 32, 128),
        span=tuple(map(_span, (4, 2, 8))),
    ),
    *(
        _quantized(
            mode,
            REAL_FORMATS,
            group_size=(None,),
            bits=(None,),
            global_scale=(None, "mx.array(2.0)") if mode == "nvfp4" else (None,),
            size=(codes.GROUP[mode],),
            span=(span + 1 / 64,),
        )
        for mode, span in _SPANS.items()
    ),
)
