"""Products, extremes, moments and soft maxima over axes; sums are operations of their own.

Other long reductions are balanced trees, so that neither the depth of a program nor the radius of a ball grows with the
length. There is no shift by the largest element in the exponential ones: balls have no largest exponent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from audit.errors import AuditError
from audit.reference.arrays.axes import Axes, Objects, axes_of, elements, gathered, plain


def tree(operation: Callable[[Any, Any], Any], x: Objects, empty: Any = None) -> Any:
    """The elements ``[..., n]`` combined along the last axis, neighbours first.

    Raises:
        AuditError: there are none, and no value stands for that.
    """
    if x.shape[-1] == 0:
        if empty is None:
            raise AuditError("A reduction over no elements has no value.")
        return np.full(x.shape[:-1], empty, object)
    while x.shape[-1] > 1:
        even = x.shape[-1] // 2 * 2
        pairs = elements(operation(x[..., 0:even:2], x[..., 1:even:2]))
        x = pairs if even == x.shape[-1] else np.concatenate([pairs, x[..., even:]], axis=-1)
    return x[..., 0]


def product(m: Any, x: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """Product of the elements."""
    flat, restored = gathered(x, axis)
    return restored(tree(m.multiply, flat, 1), keepdims)


def largest(m: Any, x: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """Largest element."""
    flat, restored = gathered(x, axis)
    return restored(tree(m.maximum, flat), keepdims)


def smallest(m: Any, x: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """Smallest element."""
    flat, restored = gathered(x, axis)
    return restored(tree(m.minimum, flat), keepdims)


def every(m: Any, x: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """Whether all conditions hold."""
    flat, restored = gathered(x, axis)
    return restored(tree(m.logical_and, flat, True), keepdims)


def some(m: Any, x: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """Whether one of the conditions holds."""
    flat, restored = gathered(x, axis)
    return restored(tree(m.logical_or, flat, False), keepdims)


def _count(x: Any, axis: Axes) -> int:
    x = elements(x)
    return int(np.prod([x.shape[a] for a in axes_of(axis, x.ndim)], dtype=int))


def var(m: Any, x: Any, axis: Axes = None, *, keepdims: bool = False, ddof: int = 0) -> Any:
    """Mean square of the deviations from the mean, over the count less `ddof`."""
    deviation = m.subtract(x, m.mean(x, axis, keepdims=True))
    return m.divide(m.sum(m.square(deviation), axis, keepdims=keepdims), _count(x, axis) - ddof)


def std(m: Any, x: Any, axis: Axes = None, *, keepdims: bool = False, ddof: int = 0) -> Any:
    """Square root of the variance."""
    return m.sqrt(var(m, x, axis, keepdims=keepdims, ddof=ddof))


def logsumexp(m: Any, x: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """Logarithm of the sum of the exponentials."""
    return m.log(m.sum(m.exp(elements(x)), axis, keepdims=keepdims))


def softmax(m: Any, x: Any, axis: Axes = None) -> Any:
    """Exponentials over their sum."""
    powers = m.exp(elements(x))
    return plain(m.divide(powers, m.sum(powers, axis, keepdims=True)))


def log_softmax(m: Any, x: Any, axis: Axes = None) -> Any:
    """Elements less the logarithm of the sum of the exponentials."""
    return plain(m.subtract(elements(x), logsumexp(m, x, axis, keepdims=True)))


REDUCTIONS = {
    "prod": product, "max": largest, "min": smallest, "all": every, "any": some, "var": var, "std": std,
    "logsumexp": logsumexp, "softmax": softmax, "log_softmax": log_softmax,
}  # fmt: skip
