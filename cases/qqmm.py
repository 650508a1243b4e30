"""Products of two quantized matrices, of which the first is put into codes on the way.

What is put into codes has no derivative but zero; in training it is passed on as if it had been left as it was. So the
derivative is compared by itself, as a number: the cotangent times the second matrix. The first one is such that codes
hold it exactly.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Shapes
from cases import codes
from cases.by_text import by_text

# A quarter or half of a row. In every group is the largest number of its mode or, of eight bits, a 64th of it, so that
# the scale is a power of two.
_EXACT = {
    "nvfp4": [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0, 6.0],
    "mxfp8": [7.0, -0.015625, 0.03125, 0.0546875, 0.0009765625, 4.0, -7.0, 0.1875],
}


def _row(mode: str) -> list[float]:
    return _EXACT[mode] * (32 // len(_EXACT[mode]))


def _matrix(m: Any, mode: str, rows: int, global_scale_w: str = "None", **given: Any) -> Any:  # noqa: ARG001
    matrix = codes.matrix((rows, 32), mode)
    # The scale that all numbers of the first factor share changes nothing: they are as exact as before.
    return matrix if global_scale_w == "None" else matrix * m.divide(_SCALES[global_scale_w], codes.SHARED)


def _fits(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:
    """Whether the argument has an element a row."""
    return shapes[0] == (parameters["rows"],)


def _both(name: str, asked: str, mode: str, **parameters: tuple[Any, ...]) -> tuple[Operation, Operation]:
    """The product, times the argument, and its derivative with the argument as cotangent.

    Args:
        name: of the first; the second's says more in its brackets.
        asked: text of a function of x, a row; ``WORDS`` and ``SCALES`` stand for the second matrix.
        mode: of the codes.
        parameters: of the text, besides the number of rows.
    """
    words = codes.words_text(f"{{rows}} * {codes.BITS[mode]}", "{rows}")
    scales = codes.scales_text(f"{{rows}} * {32 // codes.GROUP[mode]}", "{rows}", mode)
    function = f"(lambda x: {asked.replace('WORDS', words).replace('SCALES', scales)})"
    exact = f"mx.array({_EXACT[mode]} * {32 // len(_EXACT[mode])}).astype(y.dtype)"
    declared: dict[str, Any] = {
        "shapes": (((2,),), ((1,),), ((3,),)),
        "parameters": {"rows": (2, 1, 3), "mode": (mode,), **parameters},
        "valid": _fits,
        "tolerance": Tolerance(terms=4, reason="codes are scaled, and products added one after another"),
        "formats": ("float16", "bfloat16", "float32"),
        "mapped": False,
    }
    head, _, tail = name.partition("[")
    return (
        by_text(
            name,
            f"y * {function}({exact})",
            lambda m, y, **given: y * m.matmul(_matrix(m, **given), np.array(_row(mode), object)),
            "y",
            orders=1,
            **declared,
        ),
        by_text(
            f"{head}[the derivative{', ' + tail if tail else ']'}",
            f"mx.vjp({function}, [{exact}], [y])[1][0]",
            lambda m, y, **given: m.matmul(y, _matrix(m, **given)),
            "y",
            **declared,
        ),
    )


_PRODUCT = "mx.qqmm(x[None], WORDS, {scales}, {group_size}, {bits}, '{mode}', {global_scale_x}, {global_scale_w})[0]"
_LAYER = (
    "(lambda l: (l.eval(), setattr(l, 'weight', WORDS), setattr(l, 'scales', SCALES), l(x[None])[0])[3])"
    "(nn.QQLinear(32, {rows}, {group_size}, {bits}, '{mode}'))"
)
_SCALES = {"mx.array(1344.0)": 1344.0, "mx.array(2688.0)": 2688.0}
# Without scales it is not computed on the CPU.
_ALONE: dict[str, tuple[Any, ...]] = {"global_scale_x": ("None",), "global_scale_w": ("None",)}


def _given(mode: str) -> tuple[str]:
    """Scales for any number of rows, which is filled in with the parameters."""
    return (codes.scales_text(f"3 * {32 // codes.GROUP[mode]}", "3", mode),)


def _product(name: str, mode: str, **parameters: tuple[Any, ...]) -> tuple[Operation, Operation]:
    return _both(name, _PRODUCT.replace("{scales}", "{scales}[:{rows}]"), mode, scales=_given(mode), **parameters)


OPERATIONS = (
    *_product("mx.qqmm", "nvfp4", group_size=(None, 16), bits=(None, 4), **_ALONE),
    *_product("mx.qqmm[in floats of eight bits]", "mxfp8", group_size=(None, 32), bits=(None, 8), **_ALONE),
    *_product(
        "mx.qqmm[with scales that all share]",
        "nvfp4",
        group_size=(None,),
        bits=(None,),
        global_scale_x=("mx.array(2688.0)",),
        global_scale_w=tuple(_SCALES),
    ),
    *_both("nn.QQLinear", _LAYER, "nvfp4", group_size=(None, 16), bits=(None, 4)),
    *_both("nn.QQLinear[in floats of eight bits]", _LAYER, "mxfp8", group_size=(None, 32), bits=(None, 8)),
)
