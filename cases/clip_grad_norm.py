"""Gradients that are scaled down together where their common norm is too large."""

from typing import Any

import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Homogeneous, Operation
from cases.by_text import evaluated

_TEXT = (
    "(lambda g, n: mx.concatenate([g['a'], g['b'][0], n[None].astype(a.dtype)]))"
    "(*optim.clip_grad_norm({{'a': a, 'b': [b]}}, {max_norm}))"
)


def _clipped(m: Any, a: Any, b: Any, max_norm: float) -> Any:
    """What is left of the arrays, and the norm that they had.

    MLX adds 1e-6 to the norm by which it divides.
    """
    norm = m.sqrt(m.sum(m.square(a)) + m.sum(m.square(b)))
    factor = m.minimum(m.divide(max_norm, norm + 1e-6), 1)
    return np.concatenate([factor * a, factor * b, np.reshape(np.asarray(norm, object), (1,))])


OPERATIONS = (
    Operation(
        name="optim.clip_grad_norm",
        arguments=("a", "b"),
        call=evaluated(_TEXT, "a", "b"),
        body=_clipped,
        text=_TEXT,
        shapes=(((3,), (2,)), ((1,), (1,)), ((0,), (2,))),
        parameters={"max_norm": (1.125, 0.5, 16.0)},
        tolerance=Tolerance(terms=6, reason="a sum of squares, a root, a quotient and a product, each of which rounds"),
        formats=REAL_FORMATS,
        orders=2,
    ),
    Operation(
        name="optim.clip_grad_norm[of zeros]",
        arguments=("a",),
        call=evaluated("optim.clip_grad_norm({{'a': a * 0}}, 2.0)[0]['a'] + 3 * a", "a"),
        body=lambda m, a: 3 * a,  # noqa: ARG005
        text="optim.clip_grad_norm({{'a': a * 0}}, 2.0)[0]['a'] + 3 * a",
        shapes=(((3,),),),
        symmetries=(Homogeneous({"a": 1}),),
        formats=REAL_FORMATS,
        orders=1,
    ),
)
