"""Determinants, and their sign and logarithm."""

from __future__ import annotations

import mlx.core as mx

from audit.operation import REAL_FORMATS, Homogeneous, Operation, Values
from cases.matrices import ELIMINATION, EXPONENTS, NEAR, moved, moved_exactly, text

OPERATIONS = (
    Operation(
        name="mx.linalg.det",
        arguments=("a",),
        call=lambda a: mx.linalg.det(a),
        body=lambda m, a: m.det(a),
        shapes=(((2, 2),), ((3, 3),), ((1, 1),), ((2, 2, 2),)),
        values={"a": Values(singular=(0.0, 1.0))},
        tolerance=ELIMINATION,
        formats=REAL_FORMATS,
    ),
    Operation(
        name="mx.linalg.slogdet[log]",
        arguments=("a",),
        call=lambda a, exponent: mx.linalg.slogdet(moved(a, exponent))[1],
        body=lambda m, a, exponent: m.slogdet(moved_exactly(m, a, exponent))[1],
        shapes=(((2, 2),), ((3, 3),), ((1, 1),), ((2, 2, 2),)),
        parameters=EXPONENTS,
        values={"a": NEAR["a"]},
        tolerance=ELIMINATION,
        formats=REAL_FORMATS,
        text=text("mx.linalg.slogdet(A)[1]"),
    ),
    Operation(
        name="mx.linalg.slogdet[sign]",
        arguments=("a",),
        call=lambda a, exponent: mx.linalg.slogdet(moved(a, exponent))[0],
        body=lambda m, a, exponent: m.slogdet(moved_exactly(m, a, exponent))[0],
        shapes=(((2, 2),), ((3, 3),)),
        parameters=EXPONENTS,
        values={"a": NEAR["a"]},
        tolerance=ELIMINATION,
        formats=REAL_FORMATS,
        text=text("mx.linalg.slogdet(A)[0]"),
    ),
    Operation(
        name="mx.linalg.cross",
        arguments=("a", "b"),
        call=lambda a, b, axis: mx.linalg.cross(a, b, axis),
        body=lambda m, a, b, axis: m.cross(a, b, axis=axis),
        shapes=(((3,), (3,)), ((2, 3), (2, 3)), ((3, 2), (3, 2)), ((2,), (2,)), ((1, 3), (3,))),
        parameters={"axis": (-1, 0, 1)},
        symmetries=(Homogeneous({"a": 1, "b": 1}),),
        valid=lambda shapes, p: all(-len(s) <= p["axis"] < len(s) and s[p["axis"]] in (2, 3) for s in shapes),
        tolerance=ELIMINATION,
        formats=(*REAL_FORMATS, "complex64"),
    ),
    Operation(
        name="mx.hadamard_transform",
        arguments=("x",),
        call=lambda x, scale: mx.hadamard_transform(x, scale),
        body=lambda m, x, scale: m.hadamard_transform(x, scale=scale),
        shapes=(((4,),), ((2, 2),), ((1,),), ((8,),)),
        parameters={"scale": (None, 1.0, -0.5)},
        symmetries=(Homogeneous({"x": 1}),),
        tolerance=ELIMINATION,
        formats=("float16", "bfloat16", "float32", "complex64"),
    ),
)
