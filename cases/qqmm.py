"""Products of two quantized matrices, of which the first is put into codes on the way.

What is put into codes has no derivative; it is passed on as if it had been left as it was. So ``x`` is given by its
differences to numbers that the codes hold exactly, and the differences are zero.
"""

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Values
from cases import codes

# In every group is the largest number of its mode, so that the scale is 1.
_EXACT = {
    "nvfp4": (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0, 6.0) * 2,
    "mxfp8": (448.0, -1.0, 2.0, 3.5, 0.0625, 256.0, -448.0, 12.0) * 4,
}


def _product(x: mx.array, mode: str, rows: int) -> mx.array:
    size = codes.GROUP[mode]
    packed, scales = codes.packed((rows, 32), mode, codes.BITS[mode]), codes.scales((rows, 32 // size), mode)[0]
    exact = mx.array(_EXACT[mode]).astype(x.dtype) + (x - mx.stop_gradient(x))
    return mx.qqmm(exact[None], packed, scales, size, codes.BITS[mode], mode)[0]


def _body(m: Any, x: Any, mode: str, rows: int) -> Any:
    size = codes.GROUP[mode]
    matrix = np.repeat(codes.scales((rows, 32 // size), mode)[1], size, 1) * codes.elements(
        (rows, 32), mode, codes.BITS[mode]
    )
    exact = np.array(_EXACT[mode], object) + (x - m.stop_gradient(x))
    return m.matmul(matrix, exact)


OPERATIONS = (
    Operation(
        name="mx.qqmm",
        arguments=("x",),
        call=_product,
        body=_body,
        shapes=(((32,),),),
        parameters={"mode": ("nvfp4", "mxfp8"), "rows": (2, 1, 3)},
        values={"x": Values(scaled=False)},
        tolerance=Tolerance(terms=4, reason="codes are scaled, and products added one after another"),
        formats=("bfloat16", "float32"),
        orders=1,
        mapped=False,
        slow=True,
        text="mx.qqmm((exact + (x - mx.stop_gradient(x)))[None], codes, scales, mode='{mode}')[0]",
    ),
)
