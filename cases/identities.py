"""What gives its argument back: copies, conversions that change nothing, lists of elements, stopped gradients."""

import copy
from collections.abc import Callable
from typing import Any

import mlx.core as mx

from audit.operation import REAL_FORMATS, Homogeneous, Operation, Values

_FORMATS = (*REAL_FORMATS, "complex64")
_SHAPES = (((2, 3),), ((),), ((4,),), ((0,),), ((2, 1, 2),))
_LINEAR = (Homogeneous({"a": 1}),)
# Wider numbers than these would not survive the way through float32.
_NEAR = {"a": Values(singular=(0.0,), scaled=False)}


def _identity(m: Any, a: Any, **_: Any) -> Any:  # noqa: ARG001
    return a


def _of_array(a: mx.array, form: str, dtype: mx.Dtype | None) -> mx.array:
    forms: dict[str, Callable[[], mx.array]] = {
        "array": lambda: mx.array(a, dtype),
        "rows": lambda: mx.array(list(a), dtype),
        "elements": lambda: mx.array([[number for number in row] for row in a], dtype),  # noqa: C416
    }
    return forms[form]().astype(a.dtype)


OPERATIONS = (
    Operation(
        name="mx.stop_gradient",
        arguments=("a",),
        call=mx.stop_gradient,
        body=lambda m, a: m.stop_gradient(a),
        shapes=_SHAPES,
        symmetries=_LINEAR,
        formats=_FORMATS,
    ),
    Operation(
        name="mx.contiguous",
        arguments=("a",),
        call=mx.contiguous,
        body=_identity,
        shapes=_SHAPES,
        parameters={"allow_col_major": (False, True)},
        symmetries=_LINEAR,
        formats=_FORMATS,
    ),
    Operation(
        name="mx.asarray",
        arguments=("a",),
        call=lambda a, dtype, copy: mx.asarray(a, dtype, copy=copy).astype(a.dtype),
        body=_identity,
        shapes=_SHAPES,
        parameters={"dtype": (None, mx.float32, mx.float64), "copy": (None, True)},
        values=_NEAR,
        text="mx.asarray(a, {dtype}, copy={copy}).astype(a.dtype)",
    ),
    Operation(
        name="mx.array",
        arguments=("a",),
        call=_of_array,
        body=_identity,
        shapes=(((2, 3),), ((1, 1),), ((2, 0),)),
        parameters={"form": ("array", "rows", "elements"), "dtype": (None, mx.float32, mx.float64)},
        values=_NEAR,
        text='mx.array({{"array": a, "rows": list(a), "elements": [list(row) for row in a]}}["{form}"], {dtype})',
    ),
    Operation(
        name="mx.asarray(of complex numbers)",
        arguments=("a",),
        call=lambda a, dtype: mx.asarray(a, dtype),
        body=_identity,
        shapes=_SHAPES,
        parameters={"dtype": (None, mx.complex64)},
        symmetries=_LINEAR,
        formats=("complex64",),
        text="mx.asarray(a, {dtype})",
    ),
    Operation(
        name="mx.array(of complex numbers)",
        arguments=("a",),
        call=_of_array,
        body=_identity,
        shapes=(((2, 3),), ((1, 1),), ((2, 0),)),
        parameters={"form": ("array", "rows", "elements"), "dtype": (None, mx.complex64)},
        symmetries=_LINEAR,
        formats=("complex64",),
        text='mx.array({{"array": a, "rows": list(a), "elements": [list(row) for row in a]}}["{form}"], {dtype})',
    ),
    Operation(
        name="mx.array.__copy__",
        arguments=("a",),
        call=copy.copy,
        body=_identity,
        shapes=_SHAPES,
        symmetries=_LINEAR,
        formats=_FORMATS,
        text="a.__copy__()",
    ),
    Operation(
        name="mx.array.__deepcopy__",
        arguments=("a",),
        call=copy.deepcopy,
        body=_identity,
        shapes=_SHAPES,
        symmetries=_LINEAR,
        formats=_FORMATS,
        text="a.__deepcopy__({{}})",
    ),
    Operation(
        name="mx.array.__iter__",
        arguments=("a",),
        call=lambda a: mx.stack(list(a)),
        body=_identity,
        shapes=(((2, 3),), ((1,),), ((5,),), ((2, 1, 2),)),
        symmetries=_LINEAR,
        formats=_FORMATS,
        text="mx.stack(list(a))",
    ),
)
