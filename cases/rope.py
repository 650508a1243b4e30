"""Rotary positions."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Values
from cases.indices import Indices, to_mlx, to_numpy

_ROUNDINGS = Tolerance(terms=4, reason="angle, sine, cosine, two products and a sum round")
_SHAPES = (((1, 3, 4),), ((2, 2, 4),), ((1, 1, 6),), ((2, 2, 1, 4),))


def _rope(a: mx.array, dims: int, traditional: bool, base: float, scale: float, offset: int | Indices) -> mx.array:
    return mx.fast.rope(a, dims, traditional=traditional, base=base, scale=scale, offset=to_mlx(offset))


def _turned(m: Any, a: Any, dims: int, traditional: bool, base: float, scale: float, offset: Any) -> Any:
    return m.rope(a, dims, traditional=traditional, base=base, scale=scale, offset=to_numpy(offset))


def _by_frequencies(a: mx.array, freqs: mx.array, traditional: bool) -> mx.array:
    return mx.fast.rope(
        a, a.shape[-1], traditional=traditional, base=None, scale=1.0, offset=1, freqs=freqs.astype(mx.float32)
    )


def _layer(x: mx.array, dims: int, traditional: bool, base: float, scale: float, offset: int) -> mx.array:
    return nn.RoPE(dims, traditional=traditional, base=base, scale=scale)(x, offset=offset)


OPERATIONS = (
    Operation(
        name="mx.fast.rope",
        arguments=("a",),
        call=_rope,
        body=_turned,
        shapes=_SHAPES,
        parameters={
            "dims": (4, 2),
            "traditional": (False, True),
            "base": (10000.0, 16.0, 100.0),
            "scale": (1.0, 0.5, 2.0),
            "offset": (0, 3, Indices((1, 2))),
        },
        symmetries=(Homogeneous({"a": 1}),),
        tolerance=_ROUNDINGS,
        valid=lambda shapes, parameters: not isinstance(parameters["offset"], Indices) or shapes[0][0] == 2,
        text="mx.fast.rope(a, {dims}, traditional={traditional}, base={base}, scale={scale}, offset={offset})",
    ),
    Operation(
        name="mx.fast.rope[freqs]",
        arguments=("a", "freqs"),
        call=_by_frequencies,
        body=lambda m, a, freqs, traditional: m.rope(a, a.shape[-1], traditional=traditional, offset=1, freqs=freqs),
        shapes=(((1, 2, 4), (2,)),),
        parameters={"traditional": (False, True)},
        values={"freqs": Values(low=0.5, scaled=False)},
        symmetries=(Homogeneous({"a": 1}),),
        tolerance=_ROUNDINGS,
        text="mx.fast.rope(a, a.shape[-1], traditional={traditional}, base=None, scale=1.0, offset=1, "
        "freqs=freqs.astype(mx.float32))",
    ),
    Operation(
        name="nn.RoPE",
        arguments=("x",),
        call=_layer,
        body=lambda m, x, **parameters: _turned(m, x, **parameters),
        shapes=(((1, 3, 4),),),
        parameters={
            "dims": (4, 2),
            "traditional": (False, True),
            "base": (10000.0, 16.0, 100.0),
            "scale": (1.0, 0.5, 2.0),
            "offset": (0, 3, 1),
        },
        tolerance=_ROUNDINGS,
        text="nn.RoPE({dims}, traditional={traditional}, base={base}, scale={scale})(x, offset={offset})",
    ),
)
