"""Negative log likelihoods: of classes, and of normal distributions."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Values
from cases.losses import MEAN, NONE_FIRST, REDUCTIONS, reduced

# Far below, weights that are scaled up leave the format when they are divided by a variance.
_FAR = Values(exponents=(-10, 1100))


def _classes(shape: tuple[int, ...], axis: int) -> np.ndarray:
    """Class indices without the axis: every class in turn, last ones first."""
    rest = tuple(np.delete(np.array(shape), axis))
    return (shape[axis] - 1 - 2 * np.arange(int(np.prod(rest, dtype=int)))).reshape(rest) % shape[axis]


def _nll(m: Any, inputs: Any, axis: int, reduction: str) -> Any:
    picked = np.take_along_axis(inputs, np.expand_dims(_classes(inputs.shape, axis), axis), axis)
    return reduced(m, m.negative(picked.squeeze(axis)), reduction)


def _ask_nll(inputs: mx.array, axis: int, reduction: Any) -> mx.array:
    return nn.losses.nll_loss(inputs, mx.array(_classes(inputs.shape, axis)), axis=axis, reduction=reduction)


def _gaussian(m: Any, inputs: Any, targets: Any, vars: Any, full: bool, eps: float, reduction: str) -> Any:  # noqa: A002
    spread = m.maximum(vars, eps)
    loss = m.divide(m.add(m.log(spread), m.divide(m.square(m.subtract(inputs, targets)), spread)), 2)
    if full:
        loss = m.add(loss, m.divide(m.log(m.multiply(2, m.pi)), 2))
    return reduced(m, loss, reduction)


OPERATIONS = (
    Operation(
        name="nn.losses.nll_loss",
        arguments=("inputs",),
        call=_ask_nll,
        body=_nll,
        shapes=(((3, 4),), ((2, 3, 2),), ((5,),)),
        parameters={"axis": (-1, 0, 1), "reduction": NONE_FIRST},
        symmetries=(Homogeneous({"inputs": 1}),),
        tolerance=Tolerance(terms=2, reason="the sum rounds"),
        valid=lambda shapes, parameters: -len(shapes[0]) <= parameters["axis"] < len(shapes[0]),
        text="nn.losses.nll_loss(inputs, (inputs.shape[{axis}] - 1 - 2 * mx.arange("
        "inputs.size // inputs.shape[{axis}])).reshape(mx.sum(inputs, {axis}).shape) "
        "% inputs.shape[{axis}], {axis}, {reduction!r})",
    ),
    Operation(
        name="nn.losses.gaussian_nll_loss",
        arguments=("inputs", "targets", "vars"),
        call=nn.losses.gaussian_nll_loss,
        body=_gaussian,
        shapes=(((2, 3),) * 3, ((4,),) * 3, ((1,),) * 3),
        parameters={"full": (False, True), "eps": (1e-6, 0.5, 1.25), "reduction": REDUCTIONS},
        values={"inputs": _FAR, "targets": _FAR, "vars": Values(low=0.0, exponents=(-10, 1100))},
        tolerance=MEAN,
    ),
    Operation(
        name="nn.losses.gaussian_nll_loss[below eps]",
        arguments=("inputs", "vars"),
        call=lambda inputs, vars: nn.losses.gaussian_nll_loss(inputs, mx.ones_like(inputs), vars, eps=1.0),  # noqa: A006
        body=lambda m, inputs, vars: _gaussian(m, inputs, 1, vars, False, 1.0, "mean"),  # noqa: A006
        shapes=(((2, 2), (2, 2)),),
        values={"vars": Values(low=-2.0, high=2.0, singular=(0.0, 1.0))},
        tolerance=MEAN,
        text="nn.losses.gaussian_nll_loss(inputs, mx.ones_like(inputs), vars, eps=1.0)",
    ),
)
