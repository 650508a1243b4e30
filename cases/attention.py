"""Scaled dot product attention: causal, boolean and additive masks, groups of heads, sinks."""

from typing import Any

import mlx.core as mx

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Values
from cases.indices import Indices, to_mlx, to_numpy

_ROUNDINGS = Tolerance(terms=8, reason="products, exponentials, their sum, quotients and products round in sequence")
_QKV = ("q", "k", "v")
# Scores stay where exponentials of their differences do not all vanish.
_NEAR = {"q": Values(exponents=(-12, 3)), "k": Values(exponents=(-12, 3)), "mask": Values(exponents=(-12, 4))}
_NEAR_SINKS = {"q": _NEAR["q"], "k": _NEAR["k"], "sinks": _NEAR["mask"]}
_HALF = Indices(((True, False, True), (False, True, True)))
_SHAPES = (
    ((1, 1, 2, 2), (1, 1, 3, 2), (1, 1, 3, 2)),
    ((1, 2, 1, 2), (1, 1, 3, 2), (1, 1, 3, 2)),
    ((2, 1, 2, 1), (2, 1, 3, 1), (2, 1, 3, 1)),
    ((1, 1, 1, 3), (1, 1, 1, 3), (1, 1, 1, 3)),
)


def _attention(q: mx.array, k: mx.array, v: mx.array, scale: float, mask: Any) -> mx.array:
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=to_mlx(mask))


def _body(m: Any, q: Any, k: Any, v: Any, scale: float, mask: Any) -> Any:
    return m.scaled_dot_product_attention(q, k, v, scale, to_numpy(mask))


def _fits(shapes: Any, parameters: Any) -> bool:
    return parameters["mask"] is not _HALF or (shapes[0][-2], shapes[1][-2]) == (2, 3)


def _first_row(q: mx.array, k: mx.array, v: mx.array) -> mx.array:
    mask = mx.array([[True, True], [False, False]])
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=1.0, mask=mask)[..., :1, :]


OPERATIONS = (
    Operation(
        name="mx.fast.scaled_dot_product_attention",
        arguments=_QKV,
        call=_attention,
        body=_body,
        shapes=_SHAPES,
        parameters={"scale": (1.0, 0.5, 2.0), "mask": (None, _HALF)},
        values={name: _NEAR[name] for name in ("q", "k")},
        symmetries=(Homogeneous({"v": 1}),),
        tolerance=_ROUNDINGS,
        valid=_fits,
        slow=True,
        text="mx.fast.scaled_dot_product_attention(q, k, v, scale={scale}, mask={mask})",
    ),
    Operation(
        name="mx.fast.scaled_dot_product_attention[causal]",
        arguments=_QKV,
        call=_attention,
        body=_body,
        shapes=_SHAPES,
        parameters={"scale": (1.0, 0.5), "mask": ("causal",)},
        values={name: _NEAR[name] for name in ("q", "k")},
        tolerance=_ROUNDINGS,
        slow=True,
        text="mx.fast.scaled_dot_product_attention(q, k, v, scale={scale}, mask={mask!r})",
    ),
    Operation(
        name="mx.fast.scaled_dot_product_attention[mask]",
        arguments=("q", "k", "v", "mask"),
        call=lambda q, k, v, mask, scale: mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask),
        body=lambda m, q, k, v, mask, scale: m.scaled_dot_product_attention(q, k, v, scale, mask),
        shapes=(
            ((1, 1, 2, 2), (1, 1, 3, 2), (1, 1, 3, 2), (2, 3)),
            ((1, 2, 1, 2), (1, 1, 3, 2), (1, 1, 3, 2), (1, 2, 1, 3)),
        ),
        parameters={"scale": (0.5,)},
        values=_NEAR,
        tolerance=_ROUNDINGS,
        slow=True,
        text="mx.fast.scaled_dot_product_attention(q, k, v, scale={scale}, mask=mask)",
    ),
    Operation(
        name="mx.fast.scaled_dot_product_attention[sinks]",
        arguments=("q", "k", "v", "sinks"),
        call=lambda q, k, v, sinks: mx.fast.scaled_dot_product_attention(q, k, v, scale=0.5, sinks=sinks),
        body=lambda m, q, k, v, sinks: m.scaled_dot_product_attention(q, k, v, 0.5, None, sinks),
        shapes=(((1, 2, 1, 2), (1, 2, 2, 2), (1, 2, 2, 2), (2,)), ((1, 2, 1, 1), (1, 1, 3, 1), (1, 1, 3, 1), (2,))),
        values=_NEAR_SINKS,
        tolerance=_ROUNDINGS,
        slow=True,
        text="mx.fast.scaled_dot_product_attention(q, k, v, scale=0.5, sinks=sinks)",
    ),
    Operation(
        name="mx.fast.scaled_dot_product_attention[masked row]",
        arguments=_QKV,
        # No key is seen by the second query, whose result, a mean of nothing, is not used.
        call=_first_row,
        body=lambda m, q, k, v: m.scaled_dot_product_attention(q[..., :1, :], k, v),
        shapes=(((1, 1, 2, 2),) * 3,),
        values={name: _NEAR[name] for name in ("q", "k")},
        tolerance=_ROUNDINGS,
        slow=True,
        text="mx.fast.scaled_dot_product_attention(q, k, v, scale=1.0, "
        "mask=mx.array([[True, True], [False, False]]))[..., :1, :]",
    ),
)
