"""Norms of vectors and matrices, of every order."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Values

_ROUNDINGS = Tolerance(terms=4, reason="powers, their sum and a root round in sequence")
_INFINITE = float("inf")


def _vector_fits(shapes: Any, parameters: Any) -> bool:
    axis, rank = parameters["axis"], len(shapes[0])
    if axis is None:
        return rank == 1 or parameters["ord"] is None
    return isinstance(axis, int) and -rank <= axis < rank


def _matrix_fits(shapes: Any, parameters: Any) -> bool:
    axis, rank = parameters["axis"], len(shapes[0])
    return rank == 2 if axis is None else len({a % rank for a in axis}) == 2


def _body(m: Any, a: Any, ord: Any, axis: Any, keepdims: bool) -> Any:  # noqa: A002  MLX's own names
    return m.norm(a, ord, axis=axis, keepdims=keepdims)


def _norm(name: str, **declared: Any) -> Operation:
    given = {
        "name": name,
        "arguments": ("a",),
        "call": mx.linalg.norm,
        "body": _body,
        "values": {"a": Values(singular=(0.0,))},
        "symmetries": (Homogeneous({"a": 1}),),
        "tolerance": _ROUNDINGS,
        "text": "mx.linalg.norm(a, {ord!r}, {axis}, {keepdims})",
    }
    return Operation(**(given | declared))


OPERATIONS = (
    _norm(
        "mx.linalg.norm",
        shapes=(((3,),), ((2, 3),), ((1,),), ((2, 1, 2),)),
        parameters={
            "ord": (None, 1, 2, 3, _INFINITE, -_INFINITE, -1, 0.5, 0),
            "axis": (None, 0, -1),
            "keepdims": (False, True),
        },
        valid=_vector_fits,
        long=(((2304,),),),
    ),
    _norm(
        "mx.linalg.norm[complex]",
        shapes=(((3,),), ((2, 2),)),
        parameters={"ord": (None, 1, 3, _INFINITE), "axis": (-1,), "keepdims": (False,)},
        formats=("complex64",),
        result="real",
    ),
    _norm(
        "mx.linalg.norm[matrix]",
        shapes=(((2, 2),), ((2, 3),), ((2, 2, 2),)),
        parameters={
            "ord": ("fro", 1, -1, _INFINITE, -_INFINITE),
            "axis": (None, (0, 1), (-1, -2)),
            "keepdims": (False, True),
        },
        valid=_matrix_fits,
    ),
    # Singular values: closed forms of two by two, not at equal ones.
    _norm(
        "mx.linalg.norm[singular values]",
        shapes=(((2, 2),), ((2, 2, 2),)),
        parameters={"ord": (2, -2, "nuc"), "axis": (None, (0, 1), (-2, -1)), "keepdims": (False, True)},
        valid=_matrix_fits,
        values={"a": Values(scaled=False)},
        formats=("float32", "float64"),
    ),
)
