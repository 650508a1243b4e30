"""Cross entropy with class indices and with probabilities, weights, label smoothing and reductions.

Probabilities add to one and are no variables here: elsewhere the loss means nothing.
"""

from fractions import Fraction
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Shift, Values
from cases.losses import NONE_FIRST, reduced

_SUM = Tolerance(terms=4, reason="the exponentials, their sum, its logarithm and the difference round")
_LOGITS = {"logits": Values(singular=(0.0,))}


def _dropped(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    axis %= len(shape)
    return shape[:axis] + shape[axis + 1 :]


def _classes(shape: tuple[int, ...], axis: int) -> np.ndarray:
    """Class indices: every class in turn, last ones first."""
    rest = _dropped(shape, axis)
    return (shape[axis] - 1 - 2 * np.arange(int(np.prod(rest, dtype=int)))).reshape(rest) % shape[axis]


def _probabilities(shape: tuple[int, ...], axis: int) -> np.ndarray:
    """A half, a quarter, ... along the axis, the last one twice, so that they add to one exactly."""
    count = shape[axis]
    halves = 0.5 ** np.minimum(np.arange(1, count + 1), max(count - 1, 1))
    halves[0] += 1 - halves.sum()
    return np.moveaxis(np.broadcast_to(halves, (*_dropped(shape, axis), count)), -1, axis)


def _picked(x: Any, axis: int) -> Any:
    classes = np.expand_dims(_classes(x.shape, axis), axis)
    return np.take_along_axis(x, classes, axis).squeeze(axis)


def _logsumexp(m: Any, x: Any, axis: int) -> Any:
    """The logarithm of the sum of exponentials of differences, which round and may be large."""
    first = np.take(x, [0], axis)
    total = m.log(m.sum(m.exp(m.subtract(x, first)), axis))
    return m.add(first.squeeze(axis), total)


def _of_indices(m: Any, logits: Any, axis: int = -1, label_smoothing: float = 0.0, reduction: str = "none") -> Any:
    score = m.multiply(1 - Fraction(label_smoothing), _picked(logits, axis))
    mean = m.multiply(Fraction(label_smoothing), m.mean(logits, axis))
    return reduced(m, m.subtract(_logsumexp(m, logits, axis), m.add(score, mean)), reduction)


def _of_probabilities(m: Any, logits: Any, weights: Any, axis: int, label_smoothing: float, reduction: str) -> Any:
    targets = np.array(_probabilities(logits.shape, axis).tolist(), object)
    score = m.multiply(1 - Fraction(label_smoothing), m.sum(m.multiply(logits, targets), axis))
    mean = m.multiply(Fraction(label_smoothing), m.mean(logits, axis))
    loss = m.subtract(_logsumexp(m, logits, axis), m.add(score, mean))
    return reduced(m, m.multiply(loss, weights), reduction)


def _ask_indices(logits: mx.array, axis: int = -1, label_smoothing: float = 0.0, reduction: Any = "none") -> mx.array:
    targets = mx.array(_classes(logits.shape, axis))
    return nn.losses.cross_entropy(logits, targets, axis=axis, label_smoothing=label_smoothing, reduction=reduction)


def _ask_probabilities(
    logits: mx.array, weights: mx.array, axis: int, label_smoothing: float, reduction: Any
) -> mx.array:
    targets = mx.array(_probabilities(logits.shape, axis).astype(np.float32)).astype(logits.dtype)
    return nn.losses.cross_entropy(
        logits, targets, weights, axis=axis, label_smoothing=label_smoothing, reduction=reduction
    )


def _fits(shapes: Any, parameters: Any) -> bool:
    axis, rank = parameters["axis"], len(shapes[0])
    return -rank <= axis < rank and (len(shapes) == 1 or shapes[1] == _dropped(shapes[0], axis))


OPERATIONS = (
    Operation(
        name="nn.losses.cross_entropy[indices]",
        arguments=("logits",),
        call=_ask_indices,
        body=_of_indices,
        shapes=(((3, 4),), ((5,),), ((2, 1),), ((2, 3, 2),)),
        parameters={"axis": (-1, 0, 1), "label_smoothing": (0.0, 0.25, 0.5), "reduction": NONE_FIRST},
        values=_LOGITS,
        symmetries=(Shift("logits", 0),),
        tolerance=_SUM,
        valid=_fits,
        long=(((1, 2304),),),
        text="nn.losses.cross_entropy(logits, (logits.shape[{axis}] - 1 - 2 * mx.arange(logits.size // "
        "logits.shape[{axis}])).reshape(mx.sum(logits, {axis}).shape) % logits.shape[{axis}], None, {axis}, "
        "{label_smoothing}, {reduction!r})",
    ),
    Operation(
        name="nn.losses.cross_entropy[probabilities]",
        arguments=("logits", "weights"),
        call=_ask_probabilities,
        body=_of_probabilities,
        shapes=(((3, 4), (3,)), ((3, 4), (4,)), ((5,), ())),
        parameters={"axis": (-1, 0), "label_smoothing": (0.0, 0.25), "reduction": NONE_FIRST},
        values=_LOGITS,
        symmetries=(Shift("logits", 0),),
        tolerance=_SUM,
        valid=_fits,
        text="nn.losses.cross_entropy(logits, 0.5 ** mx.minimum(mx.cumsum(mx.ones_like(logits), {axis}), "
        "logits.shape[{axis}] - 1), weights, {axis}, {label_smoothing}, {reduction!r})",
    ),
)
