"""Products of matrices and vectors, and tensors contracted along axes."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Homogeneous, Operation, Shapes, Values

_ALL = (*REAL_FORMATS, "complex64")
_SUM = Tolerance(terms=2, reason="a sum of products rounds once a term")
_BILINEAR = (Homogeneous({"a": 1, "b": 1}),)


def _in_place(a: mx.array, b: mx.array) -> mx.array:
    a = a + 0
    a @= b
    return a


def _addmm(m: Any, c: Any, a: Any, b: Any, alpha: float, beta: float) -> Any:
    return m.add(m.multiply(beta, c), m.multiply(alpha, m.matmul(a, b)))


def _tensordot_fits(shapes: Shapes, parameters: Any) -> bool:
    axes, (a, b) = parameters["axes"], shapes
    if isinstance(axes, int):
        return axes <= min(len(a), len(b)) and a[len(a) - axes :] == b[:axes]
    return all(-len(a) <= i < len(a) and -len(b) <= j < len(b) and a[i] == b[j] for i, j in zip(*axes, strict=True))


def _einsum_fits(subscripts: str, shapes: Shapes) -> bool:
    try:
        np.einsum(subscripts, *(np.zeros(shape) for shape in shapes))
    except ValueError:
        return False
    return True


OPERATIONS = (
    Operation(
        name="mx.matmul",
        arguments=("a", "b"),
        call=mx.matmul,
        body=lambda m, a, b: m.matmul(a, b),
        shapes=(
            ((2, 3), (3, 2)),
            ((3,), (3,)),
            ((2, 3), (3,)),
            ((3,), (3, 2)),
            ((2, 2, 3), (3, 1)),
            ((2, 1, 2, 2), (3, 2, 1)),
            ((1, 1), (1, 1)),
            ((2, 0), (0, 3)),
            ((0, 2), (2, 1)),
        ),
        symmetries=_BILINEAR,
        tolerance=_SUM,
        formats=_ALL,
        mixed=True,
        also=("mx.array.__matmul__",),
        long=(((1, 2304), (2304, 1)),),
    ),
    Operation(
        name="mx.array.__imatmul__",
        arguments=("a", "b"),
        call=_in_place,
        body=lambda m, a, b: m.matmul(a, b),
        shapes=(((2, 2), (2, 2)), ((3, 1, 2), (2, 2))),
        symmetries=_BILINEAR,
        tolerance=_SUM,
        formats=_ALL,
        text="(a + 0).__imatmul__(b)",
    ),
    Operation(
        name="mx.addmm",
        arguments=("c", "a", "b"),
        call=lambda c, a, b, alpha, beta: mx.addmm(c, a, b, alpha, beta),
        body=_addmm,
        shapes=(
            ((2, 2), (2, 3), (3, 2)),
            ((2,), (2, 3), (3, 2)),
            ((), (1, 2), (2, 1)),
            ((2, 1, 2), (2, 2, 1), (1, 2)),
            ((2, 3), (2, 0), (0, 3)),
        ),
        parameters={"alpha": (1.0, 0.5, 0.0, -2.0), "beta": (1.0, -2.0, 0.0, 0.25)},
        tolerance=_SUM,
        formats=_ALL,
        text="mx.addmm(c, a, b, {alpha}, {beta})",
    ),
    Operation(
        name="mx.inner",
        arguments=("a", "b"),
        call=mx.inner,
        body=lambda m, a, b: m.inner(a, b),
        shapes=(((3,), (3,)), ((2, 3), (3,)), ((2, 2), (3, 2)), ((1,), (1,)), ((), (2,))),
        symmetries=_BILINEAR,
        tolerance=_SUM,
        formats=_ALL,
    ),
    Operation(
        name="mx.outer",
        arguments=("a", "b"),
        call=mx.outer,
        body=lambda m, a, b: m.outer(a, b),
        shapes=(((3,), (2,)), ((2, 2), (3,)), ((1,), (1,)), ((0,), (2,))),
        symmetries=_BILINEAR,
        tolerance=_SUM,
        formats=_ALL,
    ),
    Operation(
        name="mx.vecdot",
        arguments=("a", "b"),
        call=lambda a, b, axis: mx.vecdot(a, b, axis=axis),
        body=lambda m, a, b, axis: m.vecdot(a, b, axis=axis),
        shapes=(((2, 3), (2, 3)), ((3,), (3,)), ((3, 2), (3, 1)), ((1,), (1,))),
        parameters={"axis": (-1, 0, 1)},
        valid=lambda shapes, p: (
            all(-len(s) <= p["axis"] < len(s) for s in shapes) and shapes[0][p["axis"]] == shapes[1][p["axis"]]
        ),
        symmetries=_BILINEAR,
        tolerance=_SUM,
        formats=_ALL,
    ),
    Operation(
        name="mx.tensordot",
        arguments=("a", "b"),
        call=lambda a, b, axes: mx.tensordot(a, b, axes if isinstance(axes, int) else [list(x) for x in axes]),
        body=lambda m, a, b, axes: m.tensordot(a, b, axes=axes),
        shapes=(((2, 3), (3, 2)), ((2, 3, 2), (3, 2)), ((2, 3), (2, 3)), ((2,), (3,))),
        parameters={"axes": (1, 0, 2, ((1,), (0,)), ((0, 1), (0, 1)), ((-1,), (-1,)))},
        valid=_tensordot_fits,
        symmetries=_BILINEAR,
        tolerance=_SUM,
        formats=_ALL,
    ),
    Operation(
        name="mx.kron",
        arguments=("a", "b"),
        call=lambda a, b: mx.kron(a, b),
        body=lambda m, a, b: m.kron(a, b),
        shapes=(((2, 2), (1, 3)), ((3,), (2,)), ((1,), (1,)), ((2,), (1, 2))),
        symmetries=_BILINEAR,
        tolerance=_SUM,
        formats=_ALL,
    ),
    *(
        Operation(
            name=f"mx.einsum[{count}]",
            arguments=("a", "b", "c")[:count],
            call=lambda *arrays, subscripts: mx.einsum(subscripts, *arrays),
            body=lambda m, *arrays, subscripts: m.einsum(subscripts, *arrays),
            shapes=shapes,
            parameters={"subscripts": subscripts},
            valid=lambda shapes, p: _einsum_fits(p["subscripts"], shapes),
            # Products of three numbers and a cotangent leave the range on the way, whatever their order.
            values=dict.fromkeys(("a", "b", "c"), Values(scaled=False)) if count == 3 else {},
            tolerance=_SUM,
            formats=_ALL,
            text=f"mx.einsum({{subscripts!r}}, {', '.join(('a', 'b', 'c')[:count])})",
        )
        for count, shapes, subscripts in (
            (1, (((2, 3),), ((2, 2),), ((3,),)), ("ij->ji", "ij->", "ij->i", "ii->i", "ii->", "i->i", "...i->...")),
            (
                2,
                (((2, 3), (3, 2)), ((2, 3), (2, 3)), ((2,), (3,)), ((2, 2, 2), (2, 2, 1))),
                ("ij,jk->ik", "ij,jk->ki", "ij,ij->", "ij,ij->ij", "i,j->ij", "bij,bjk->bik", "...ij,...jk->...ik"),
            ),
            (3, (((2, 2), (2, 3), (3, 2)), ((2,), (2,), (2,))), ("ij,jk,kl->il", "i,i,i->i", "i,i,i->")),
        )
    ),
)
