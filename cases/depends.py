"""Arrays that are computed after others, on which their values do not depend."""

import mlx.core as mx

from audit.operation import REAL_FORMATS, Operation

OPERATIONS = (
    Operation(
        name="mx.depends",
        arguments=("inputs", "dependencies"),
        call=mx.depends,
        body=lambda m, inputs, dependencies: inputs,  # noqa: ARG005
        shapes=(((2, 3), (4,)), ((3,), (3,)), ((), (1,)), ((0,), (2,))),
        formats=(*REAL_FORMATS, "complex64"),
    ),
)
