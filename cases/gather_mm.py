"""Products of matrices that are chosen by index."""

from collections.abc import Mapping
from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Shapes

Indices = tuple[Any, ...] | None

_SUM = Tolerance(terms=2, reason="a sum of products rounds once a term")


def _gathered(a: mx.array, b: mx.array, lhs_indices: Indices, rhs_indices: Indices, sorted_indices: bool) -> mx.array:
    lhs, rhs = (None if i is None else mx.array(i, dtype=mx.uint32) for i in (lhs_indices, rhs_indices))
    return mx.gather_mm(a, b, lhs, rhs, sorted_indices=sorted_indices)


def _body(m: Any, a: Any, b: Any, lhs_indices: Indices, rhs_indices: Indices, sorted_indices: bool) -> Any:  # noqa: ARG001
    """The product of the matrices at each pair of indices; without indices, of all of them in order."""
    lhs, rhs = (np.arange(len(x)) if i is None else np.array(i) for i, x in ((lhs_indices, a), (rhs_indices, b)))
    lhs, rhs = np.broadcast_arrays(lhs, rhs)
    products = [m.matmul(a[i], b[j]) for i, j in zip(lhs.reshape(-1), rhs.reshape(-1), strict=True)]
    return np.stack(products).reshape(*lhs.shape, *products[0].shape)


def _fits(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:
    (a, b), given = shapes, (parameters["lhs_indices"], parameters["rhs_indices"])
    lhs, rhs = (np.arange(s[0]) if i is None else np.array(i) for i, s in zip(given, (a, b), strict=True))
    # The flag is for one array of indices alone, which must ascend.
    ascend = given.count(None) == 1 and all((np.diff(i.reshape(-1)) >= 0).all() for i in (lhs, rhs))
    fitting = lhs.shape == rhs.shape or 1 in (lhs.shape[-1], rhs.shape[-1])
    return (ascend or not parameters["sorted_indices"]) and fitting and lhs.max() < a[0] and rhs.max() < b[0]


OPERATIONS = (
    Operation(
        name="mx.gather_mm",
        arguments=("a", "b"),
        call=_gathered,
        body=_body,
        shapes=(
            ((2, 2, 3), (3, 3, 2)),
            ((2, 1, 3), (2, 3, 2)),
            ((3, 2, 1), (3, 1, 3)),
            ((3, 1, 1), (3, 1, 1)),
        ),
        parameters={
            "lhs_indices": ((1, 0, 1), None, (0, 1, 1), ((0,), (1,))),
            "rhs_indices": ((2, 0, 2), None, (1, 1, 2), ((1, 0),)),
            "sorted_indices": (False, True),
        },
        valid=_fits,
        symmetries=(Homogeneous({"a": 1, "b": 1}),),
        tolerance=_SUM,
        # Nothing else is computed on the CPU.
        formats=("float32",),
        orders=2,
    ),
)
