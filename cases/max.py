"""Largest and smallest elements along axes."""

import mlx.core as mx

from audit.operation import Homogeneous, Operation, Permutation, Shift
from cases.fitting import nonempty_axes_fit

_SHAPES = (((2, 3),), ((4,),), ((1, 3),), ((2, 1),), ((2, 3, 2),), ((),))
_SYMMETRIES = (Homogeneous({"x": 1}), Shift("x", gain=1), Permutation(("x",), axis=-1))

OPERATIONS = (
    *(
        Operation(
            name=f"mx.{name}",
            arguments=("x",),
            call=lambda x, axis, keepdims, name=name: getattr(mx, name)(x, axis=axis, keepdims=keepdims),
            body=lambda m, x, axis, keepdims, name=name: getattr(m, name)(x, axis, keepdims=keepdims),
            shapes=_SHAPES,
            parameters={"axis": (None, 0, -1, (0, 1)), "keepdims": (False, True)},
            symmetries=_SYMMETRIES,
            also=(f"mx.array.{name}",),
            valid=nonempty_axes_fit,
        )
        for name in ("max", "min")
    ),
    *(
        Operation(
            name=f"mx.minmax[{output}]",
            arguments=("x",),
            call=lambda x, axis, keepdims, output=output: mx.minmax(x, axis=axis, keepdims=keepdims)[output],
            body=lambda m, x, axis, keepdims, name=name: getattr(m, name)(x, axis, keepdims=keepdims),
            shapes=_SHAPES,
            parameters={"axis": (None, 0, -1, (0, 1)), "keepdims": (False, True)},
            symmetries=_SYMMETRIES,
            valid=nonempty_axes_fit,
            text=f"mx.minmax(x, axis={{axis}}, keepdims={{keepdims}})[{output}]",
        )
        for output, name in enumerate(("min", "max"))
    ),
)
