"""Products of two quantized matrices, of which the first is put into codes on the way.

What is put into codes has no derivative; it is passed on as if it had been left as it was. So ``x`` is given by its
differences to numbers that the codes hold exactly, and the differences are zero.
"""

from collections.abc import Callable, Mapping
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Shapes, Values
from cases import codes

# In every group is the largest number of its mode, so that the scale is 1.
_EXACT = {
    "nvfp4": (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0, 6.0) * 2,
    "mxfp8": (448.0, -1.0, 2.0, 3.5, 0.0625, 256.0, -448.0, 12.0) * 4,
}


def _product(x: mx.array, mode: str, group_size: int | None, bits: int | None, rows: int, **given: Any) -> mx.array:
    packed = codes.packed((rows, 32), mode, codes.BITS[mode])
    scales = codes.scales((rows, 32 // codes.GROUP[mode]), mode)[0]
    exact = mx.array(_EXACT[mode]).astype(x.dtype) + (x - mx.stop_gradient(x))
    shared = [None if given[name] is None else mx.array(given[name]) for name in ("global_scale_x", "global_scale_w")]
    return mx.qqmm(exact[None], packed, scales, group_size, bits, mode, *shared)[0]


def _layer(x: mx.array, mode: str, group_size: Any, bits: Any, rows: int) -> mx.array:
    layer = nn.QQLinear(32, rows, group_size, bits, mode)
    layer.eval()
    layer.weight = codes.packed((rows, 32), mode, codes.BITS[mode])
    layer.scales = codes.scales((rows, 32 // codes.GROUP[mode]), mode)[0]
    exact = mx.array(_EXACT[mode]).astype(x.dtype) + (x - mx.stop_gradient(x))
    return layer(exact[None])[0]


def _body(m: Any, x: Any, mode: str, rows: int, global_scale_w: float | None = None, **given: Any) -> Any:  # noqa: ARG001
    size = codes.GROUP[mode]
    matrix = np.repeat(codes.scales((rows, 32 // size), mode)[1], size, 1) * codes.elements(
        (rows, 32), mode, codes.BITS[mode]
    )
    if global_scale_w is not None:
        # The scale that all numbers of x share changes nothing: they are as exact as before.
        matrix = matrix * m.divide(global_scale_w, codes.SHARED)
    exact = np.array(_EXACT[mode], object) + (x - m.stop_gradient(x))
    return m.matmul(matrix, exact)


def _exists(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:  # noqa: ARG001
    """Each mode has one size of group and of codes; a scale that all share is for one mode, and for both factors."""
    mode, x, w = parameters["mode"], parameters.get("global_scale_x"), parameters.get("global_scale_w")
    own = parameters["group_size"] in (None, codes.GROUP[mode]) and parameters["bits"] in (None, codes.BITS[mode])
    return own and ((x is None and w is None) or (mode == "nvfp4" and x is not None and w is not None))


def _operation(name: str, call: Callable[..., mx.array], text: str, **parameters: tuple[Any, ...]) -> Operation:
    return Operation(
        name,
        ("x",),
        call,
        _body,
        shapes=(((32,),),),
        parameters={"rows": (2, 1, 3), **parameters},
        values={"x": Values(scaled=False)},
        valid=_exists,
        tolerance=Tolerance(terms=4, reason="codes are scaled, and products added one after another"),
        formats=("float16", "bfloat16", "float32"),
        orders=1,
        mapped=False,
        slow=True,
        text=text,
    )


_TEXT = (
    "mx.qqmm((exact + (x - mx.stop_gradient(x)))[None], codes, {scales}, group_size={group_size}, bits={bits}, "
    "mode='{mode}', global_scale_x={global_scale_x}, global_scale_w={global_scale_w})[0]"
)
_LAYER = "nn.QQLinear(32, {rows}, {group_size}, {bits}, '{mode}').eval()((exact + (x - mx.stop_gradient(x)))[None])[0]"
# Without scales it is not computed on the CPU.
_GIVEN: dict[str, tuple[Any, ...]] = {"scales": ("scales",)}
_ALONE: dict[str, tuple[Any, ...]] = {"global_scale_x": (None,), "global_scale_w": (None,)}

OPERATIONS = (
    _operation("mx.qqmm", _product, _TEXT, **_GIVEN, mode=("nvfp4",), group_size=(None, 16), bits=(None, 4), **_ALONE),
    _operation(
        "mx.qqmm[in floats of eight bits]",
        _product,
        _TEXT,
        **_GIVEN,
        mode=("mxfp8",),
        group_size=(None, 32),
        bits=(None, 8),
        **_ALONE,
    ),
    _operation(
        "mx.qqmm[with scales that all share]",
        _product,
        _TEXT,
        **_GIVEN,
        mode=("nvfp4",),
        group_size=(None,),
        bits=(None,),
        global_scale_x=(float(codes.SHARED),),
        global_scale_w=(codes.SHARED / 2, float(codes.SHARED)),
    ),
    _operation("nn.QQLinear", _layer, _LAYER, mode=("nvfp4",), group_size=(None, 16), bits=(None, 4)),
    _operation(
        "nn.QQLinear[in floats of eight bits]", _layer, _LAYER, mode=("mxfp8",), group_size=(None, 32), bits=(None, 8)
    ),
)
