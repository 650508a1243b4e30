"""Degrees from radians, and the reverse."""

import mlx.core as mx

from audit.operation import REAL_FORMATS, Homogeneous, Operation, Parity

_FORMATS = (*REAL_FORMATS, "complex64")
_LINEAR = (Homogeneous({"a": 1}), Parity(("a",), -1))

OPERATIONS = (
    Operation(
        name="mx.degrees",
        arguments=("a",),
        call=mx.degrees,
        body=lambda m, a: m.degrees(a),
        symmetries=_LINEAR,
        formats=_FORMATS,
    ),
    Operation(
        name="mx.radians",
        arguments=("a",),
        call=mx.radians,
        body=lambda m, a: m.radians(a),
        symmetries=_LINEAR,
        formats=_FORMATS,
    ),
)
