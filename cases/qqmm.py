"""Products of two quantized matrices, of which the first is put into codes on the way.

What is put into codes has no derivative but zero; in training it is passed on as if it had been left as it was. So the
derivative is compared by itself, as a number: the cotangent times the second matrix. The first one is such that codes
hold it exactly.
"""

from collections.abc import Callable, Mapping
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Shapes, Values
from cases import codes

# In every group is the largest number of its mode or, of eight bits, a 64th of it, so that the scale is a power of two.
_EXACT = {
    "nvfp4": (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0, 6.0) * 2,
    "mxfp8": (7.0, -0.015625, 0.03125, 0.0546875, 0.0009765625, 4.0, -7.0, 0.1875) * 4,
}

Asked = Callable[..., mx.array]


def _product(x: mx.array, mode: str, group_size: int | None, bits: int | None, rows: int, **given: Any) -> mx.array:
    packed = codes.packed((rows, 32), mode, codes.BITS[mode])
    scales = codes.scales((rows, 32 // codes.GROUP[mode]), mode)[0]
    shared = [None if given[name] is None else mx.array(given[name]) for name in ("global_scale_x", "global_scale_w")]
    return mx.qqmm(x[None], packed, scales, group_size, bits, mode, *shared)[0]


def _layer(x: mx.array, mode: str, group_size: Any, bits: Any, rows: int) -> mx.array:
    layer = nn.QQLinear(32, rows, group_size, bits, mode)
    layer.eval()
    layer.weight = codes.packed((rows, 32), mode, codes.BITS[mode])
    layer.scales = codes.scales((rows, 32 // codes.GROUP[mode]), mode)[0]
    return layer(x[None])[0]


def _matrix(m: Any, mode: str, rows: int, global_scale_w: float | None = None, **given: Any) -> Any:  # noqa: ARG001
    size = codes.GROUP[mode]
    scales = np.repeat(codes.scales((rows, 32 // size), mode)[1], size, 1)
    matrix = scales * codes.elements((rows, 32), mode, codes.BITS[mode])
    # The scale that all numbers of the first factor share changes nothing: they are as exact as before.
    return matrix if global_scale_w is None else matrix * m.divide(global_scale_w, codes.SHARED)


def _exact(mode: str) -> Any:
    return np.array(_EXACT[mode], object)


def _exists(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:
    """Whether the argument has an element a row."""
    return shapes[0] == (parameters["rows"],)


def _both(name: str, asked: Asked, text: str, mode: str, **parameters: tuple[Any, ...]) -> tuple[Operation, Operation]:
    """The product, times the argument, and its derivative with the argument as cotangent."""

    def value(y: mx.array, **given: Any) -> mx.array:
        return y * asked(mx.array(_EXACT[mode]).astype(y.dtype), mode=mode, **given)

    def derivative(y: mx.array, **given: Any) -> mx.array:
        exact = mx.array(_EXACT[mode]).astype(y.dtype)
        return mx.vjp(lambda x: asked(x, mode=mode, **given), [exact], [y])[1][0]

    shared: dict[str, Any] = {
        "shapes": (((2,),), ((1,),), ((3,),)),
        "parameters": {"rows": (2, 1, 3), "mode": (mode,), **parameters},
        "values": {"y": Values(scaled=False)},
        "valid": _exists,
        "tolerance": Tolerance(terms=4, reason="codes are scaled, and products added one after another"),
        "formats": ("float16", "bfloat16", "float32"),
        "mapped": False,
        "slow": True,
    }
    head, _, tail = name.partition("[")
    return (
        Operation(
            name,
            ("y",),
            lambda y, mode, **given: value(y, **given),  # noqa: ARG005
            lambda m, y, **given: y * m.matmul(_matrix(m, **given), _exact(mode)),
            text=f"y * {text.format('exact')}",
            orders=1,
            **shared,
        ),
        Operation(
            f"{head}[the derivative{', ' + tail if tail else ']'}",
            ("y",),
            lambda y, mode, **given: derivative(y, **given),  # noqa: ARG005
            lambda m, y, **given: m.matmul(y, _matrix(m, **given)),
            text=f"mx.vjp(lambda x: {text.format('x')}, [exact], [y])[1][0]",
            orders=0,
            **shared,
        ),
    )


_TEXT = (
    "mx.qqmm({}[None], codes, {{scales}}, group_size={{group_size}}, bits={{bits}}, mode='{{mode}}', "
    "global_scale_x={{global_scale_x}}, global_scale_w={{global_scale_w}})[0]"
)
_LAYER = "nn.QQLinear(32, {{rows}}, {{group_size}}, {{bits}}, '{{mode}}').eval()({}[None])[0]"
# Without scales it is not computed on the CPU.
_ALONE: dict[str, tuple[Any, ...]] = {
    "scales": ("scales",),
    "global_scale_x": (None,),
    "global_scale_w": (None,),
}

OPERATIONS = (
    *_both("mx.qqmm", _product, _TEXT, "nvfp4", group_size=(None, 16), bits=(None, 4), **_ALONE),
    *_both(
        "mx.qqmm[in floats of eight bits]", _product, _TEXT, "mxfp8", group_size=(None, 32), bits=(None, 8), **_ALONE
    ),
    *_both(
        "mx.qqmm[with scales that all share]",
        _product,
        _TEXT,
        "nvfp4",
        scales=("scales",),
        group_size=(None,),
        bits=(None,),
        global_scale_x=(float(codes.SHARED),),
        global_scale_w=(codes.SHARED / 2, float(codes.SHARED)),
    ),
    *_both("nn.QQLinear", _layer, _LAYER, "nvfp4", group_size=(None, 16), bits=(None, 4)),
    *_both("nn.QQLinear[in floats of eight bits]", _layer, _LAYER, "mxfp8", group_size=(None, 32), bits=(None, 8)),
)
