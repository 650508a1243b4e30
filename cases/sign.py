"""Signs; of a complex number z, z / abs(z)."""

import mlx.core as mx

from audit.operation import REAL_FORMATS, Homogeneous, Operation, Parity, Values

OPERATIONS = (
    Operation(
        name="mx.sign",
        arguments=("x",),
        call=mx.sign,
        body=lambda m, x: m.sign(x),
        values={"x": Values(singular=(0.0,))},
        symmetries=(Homogeneous({"x": 0}), Parity(("x",), -1)),
        formats=(*REAL_FORMATS, "complex64"),
    ),
)
