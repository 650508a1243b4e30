"""Products of matrices that are chosen by index."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from audit.case import Tolerance
from audit.operation import Homogeneous, Shapes
from cases.by_text import by_text
from cases.indices import Indices

_SUM = Tolerance(terms=2, reason="a sum of products rounds once a term")


def _body(
    m: Any,
    a: Any,
    b: Any,
    lhs_indices: Indices | None,
    rhs_indices: Indices | None,
    sorted_indices: bool,  # noqa: ARG001
) -> Any:
    """The product of the matrices at each pair of indices; without indices, of all of them in order."""
    lhs, rhs = (np.arange(len(x)) if i is None else i.numpy for i, x in ((lhs_indices, a), (rhs_indices, b)))
    lhs, rhs = np.broadcast_arrays(lhs, rhs)
    products = [m.matmul(a[i], b[j]) for i, j in zip(lhs.reshape(-1), rhs.reshape(-1), strict=True)]
    return np.stack(products).reshape(*lhs.shape, *products[0].shape)


def _fits(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:
    (a, b), given = shapes, (parameters["lhs_indices"], parameters["rhs_indices"])
    lhs, rhs = (np.arange(s[0]) if i is None else i.numpy for i, s in zip(given, (a, b), strict=True))
    # The flag is for one array of indices alone, which must ascend.
    ascend = given.count(None) == 1 and all((np.diff(i.reshape(-1)) >= 0).all() for i in (lhs, rhs))
    fitting = lhs.shape == rhs.shape or 1 in (lhs.shape[-1], rhs.shape[-1])
    return (ascend or not parameters["sorted_indices"]) and fitting and lhs.max() < a[0] and rhs.max() < b[0]


OPERATIONS = (
    by_text(
        "mx.gather_mm",
        "mx.gather_mm(a, b, {lhs_indices}, {rhs_indices}, sorted_indices={sorted_indices})",
        _body,
        "a",
        "b",
        shapes=(
            ((2, 2, 3), (3, 3, 2)),
            ((2, 1, 3), (2, 3, 2)),
            ((3, 2, 1), (3, 1, 3)),
            ((3, 1, 1), (3, 1, 1)),
        ),
        parameters={
            "lhs_indices": (Indices((1, 0, 1)), None, Indices((0, 1, 1)), Indices(((0,), (1,)))),
            "rhs_indices": (Indices((2, 0, 2)), None, Indices((1, 1, 2)), Indices(((1, 0),))),
            "sorted_indices": (False, True),
        },
        values={},
        valid=_fits,
        symmetries=(Homogeneous({"a": 1, "b": 1}),),
        tolerance=_SUM,
        # Nothing else is computed on the CPU.
        formats=("float32",),
        orders=2,
    ),
)
