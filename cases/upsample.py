"""Arrays made larger or smaller: nearest neighbours, linear and cubic interpolation, with and without antialiasing.

All are products with fixed matrices along the spatial axes. Element i of the result lies at ``(i + 1/2) / scale - 1/2``
of the array, or, with aligned corners, at ``i (N - 1) / (M - 1)``. A smaller result is the mean under a wider filter
if it is antialiased.
"""

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Shapes

_SUM = Tolerance(
    terms=8,
    reason="places, the cubic polynomials of them (whose terms are larger than weights), products and sums round",
)
_SHAPES = (((1, 4, 1),), ((2, 2, 2),), ((1, 2, 2, 1),), ((1, 1, 1),))
Filter = Callable[[Fraction], Fraction]


def _triangle(x: Fraction) -> Fraction:
    return max(1 - x, Fraction(0))


def _cubic(a: Fraction) -> Filter:
    """The cubic convolution kernel (Keys 1981)."""

    def kernel(x: Fraction) -> Fraction:
        if x <= 1:
            return ((a + 2) * x - (a + 3)) * x * x + 1
        return (((x - 5) * x + 8) * x - 4) * a if x <= 2 else Fraction(0)

    return kernel


def _place(i: int, size: int, scale: Fraction, align_corners: bool) -> Fraction:
    larger = int(scale * size)
    if align_corners:
        return Fraction(i * (size - 1), max(larger - 1, 1))
    return (i + Fraction(1, 2)) / scale - Fraction(1, 2)


def _matrix(size: int, scale: Fraction, mode: str, align_corners: bool, antialias: bool) -> np.ndarray:
    """The weights ``[M, N]`` of an axis, exact."""
    larger = int(scale * size)
    matrix = np.full((larger, size), Fraction(0), object)
    for i in range(larger):
        if mode == "nearest":
            place = (i + Fraction(1, 2)) * size / larger - Fraction(1, 2)
            matrix[i, round(place) if larger > size else floor(Fraction(i * size, larger))] = Fraction(1)
            continue
        place = _place(i, size, scale, align_corners)
        wide = 1 / scale if antialias and scale < 1 else Fraction(1)
        kernel = _triangle if mode == "linear" else _cubic(Fraction(-1, 2) if antialias else Fraction(-3, 4))
        reach = ceil((1 if mode == "linear" else 2) * wide)
        taps = range(floor(place) - reach, floor(place) + reach + 2)
        weights = {k: kernel(abs(place - k) / wide) for k in taps}
        if antialias:
            # Beyond the border there is nothing.
            weights = {k: w for k, w in weights.items() if 0 <= k < size}
            total = sum(weights.values())
            weights = {k: w / total for k, w in weights.items()}
        for k, w in weights.items():
            # Beyond the border its element is repeated.
            matrix[i, min(max(k, 0), size - 1)] += w
    return matrix


def _resized(m: Any, x: Any, scale_factor: Any, mode: str, align_corners: bool, antialias: bool) -> Any:
    axes = x.ndim - 2
    factors = scale_factor if isinstance(scale_factor, tuple) else (scale_factor,) * axes
    for axis, factor in enumerate(factors, start=1):
        matrix = _matrix(x.shape[axis], Fraction(factor), mode, align_corners, antialias)
        line = np.moveaxis(x, axis, -1)
        result = np.empty((*line.shape[:-1], len(matrix)), object)
        for place in np.ndindex(result.shape):
            used = [k for k, w in enumerate(matrix[place[-1]]) if w]
            row = line[place[:-1]]
            result[place] = m.total([m.multiply(row[k], matrix[place[-1], k]) for k in used])
        x = np.moveaxis(result, -1, axis)
    return x


def _call(x: mx.array, scale_factor: Any, mode: Any, align_corners: bool, antialias: bool) -> mx.array:
    more = {"antialias": True} if antialias else {}
    # Weights are of float32, and so is the result.
    return nn.Upsample(scale_factor, mode, align_corners, **more)(x).astype(x.dtype)


def _fits(shapes: Shapes, parameters: Any) -> bool:
    """Which combinations exist, where the larger size is a whole number."""
    axes, mode, factor = shapes[0][1:-1], parameters["mode"], parameters["scale_factor"]
    factors = factor if isinstance(factor, tuple) else (factor,) * len(axes)
    if len(factors) != len(axes) or any(n * f != int(n * f) or n * f < 1 for n, f in zip(axes, factors, strict=True)):
        return False
    if mode == "nearest" and (parameters["align_corners"] or parameters["antialias"]):
        return False
    return not (parameters["align_corners"] and parameters["antialias"])


OPERATIONS = (
    Operation(
        name="nn.Upsample",
        arguments=("x",),
        call=_call,
        body=_resized,
        shapes=_SHAPES,
        parameters={
            "scale_factor": (2, 1.5, 0.5, (2.0, 1.5), (0.5, 2.0)),
            "mode": ("nearest", "linear", "cubic"),
            "align_corners": (False, True),
            "antialias": (False, True),
        },
        symmetries=(Homogeneous({"x": 1}),),
        tolerance=_SUM,
        also=(
            "nn.layers.upsample.upsample_nearest",
            "nn.layers.upsample.upsample_linear",
            "nn.layers.upsample.upsample_cubic",
        ),
        valid=_fits,
        slow=True,
        text="nn.Upsample({scale_factor}, {mode!r}, {align_corners}, antialias={antialias})(x).astype(x.dtype)",
    ),
)
