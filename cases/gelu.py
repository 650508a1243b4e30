"""Gaussian error linear units and their approximations.

The distribution function is ``(1 + erf) / 2``, as documented: MLX has no complementary error function, so that what
cancels in that sum in the lower tail is allowed for. Likewise with the hyperbolic tangent of the approximation.
"""

from typing import Any

import mlx.core as mx
import mlx.nn as nn

from audit.case import Tolerance
from audit.operation import Operation, Values

_SUM = Tolerance(terms=8, reason="x / sqrt(2), erf, a sum and two products round; the documented sum 1 + erf cancels")
_CUBE = Tolerance(terms=8, reason="the cubic, tanh, a sum and two products round; the documented sum 1 + tanh cancels")
_PRODUCTS = Tolerance(terms=4, reason="two products and a sigmoid round")
_ZERO = {"x": Values(singular=(0.0,))}


def _gelu(m: Any, x: Any) -> Any:
    return m.divide(m.multiply(x, m.add(1, m.erf(m.divide(x, m.sqrt(2))))), 2)


def _approx(m: Any, x: Any) -> Any:
    inner = m.add(x, m.multiply(0.044715, m.multiply(m.square(x), x)))
    scaled = m.multiply(m.sqrt(m.divide(2, m.pi)), inner)
    return m.multiply(m.divide(x, 2), m.add(1, m.tanh(scaled)))


def _fast(m: Any, x: Any) -> Any:
    return m.multiply(x, m.sigmoid(m.multiply(1.702, x)))


_BODIES = {"none": _gelu, "precise": _approx, "tanh": _approx, "fast": _fast}


def _layer(x: mx.array, approx: str) -> mx.array:
    return nn.GELU(approx=approx)(x)


OPERATIONS = (
    Operation(name="nn.gelu", arguments=("x",), call=nn.gelu, body=_gelu, values=_ZERO, tolerance=_SUM),
    Operation(
        name="nn.gelu_approx", arguments=("x",), call=nn.gelu_approx, body=_approx, values=_ZERO, tolerance=_CUBE
    ),
    Operation(
        name="nn.gelu_fast_approx",
        arguments=("x",),
        call=nn.gelu_fast_approx,
        body=_fast,
        values=_ZERO,
        tolerance=_PRODUCTS,
    ),
    Operation(
        name="nn.GELU",
        arguments=("x",),
        call=_layer,
        body=lambda m, x, approx: _BODIES[approx](m, x),
        shapes=(((2, 3),), ((5,),), ((0,),)),
        parameters={"approx": ("none", "precise", "tanh", "fast")},
        tolerance=_CUBE,
        text="nn.GELU(approx={approx!r})(x)",
    ),
)
