"""Determinants, and their sign and logarithm."""

from __future__ import annotations

import mlx.core as mx

from audit.operation import REAL_FORMATS, Homogeneous, Operation, Values
from cases.matrices import ELIMINATION, EXPONENTS, NEAR, moved, moved_exactly, text

_WIDE, _HALF = ("float32", "float64"), ("float16", "bfloat16")
# The scaled matrix is one of the format, and its determinant is not.
_SMALL = {"exponent": (0, 8, -8)}


def _slogdet(part: str, formats: tuple[str, ...], exponents: dict[str, tuple[int, ...]], note: str) -> Operation:
    index = ("sign", "log").index(part)
    return Operation(
        name=f"mx.linalg.slogdet[{part}{note}]",
        arguments=("a",),
        call=lambda a, exponent: mx.linalg.slogdet(moved(a, exponent))[index],
        body=lambda m, a, exponent: m.slogdet(moved_exactly(m, a, exponent))[index],
        shapes=(((2, 2),), ((3, 3),), ((1, 1),), ((2, 2, 2),)),
        parameters=exponents,
        values={"a": NEAR["a"]},
        tolerance=ELIMINATION,
        formats=formats,
        text=text(f"mx.linalg.slogdet(A)[{index}]"),
    )


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
    *(
        _slogdet(part, formats, exponents, note)
        for formats, exponents, note in ((_WIDE, EXPONENTS, ""), (_HALF, _SMALL, ", in half precision"))
        for part in ("sign", "log")
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
