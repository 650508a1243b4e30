"""Random numbers that are whole, permutations, and normal vectors.

Whole numbers that are drawn do not change with small changes of the parameters: the derivative is zero. Of them the
numbers themselves are taken away, so that nothing but the derivative is left to be asked.
"""

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import Homogeneous, Operation, Values

_KEY = 3
_LESS_ITSELF = "(lambda d: d - mx.stop_gradient(d))(mx.random.{}, key=mx.random.key(3)).astype({}.dtype))"
_CATEGORICAL = _LESS_ITSELF.format("categorical(logits, {axis}, {shape}, {num_samples}", "logits")


def _key() -> mx.array:
    return mx.random.key(_KEY)


def _less_itself(drawn: mx.array, like: mx.array) -> mx.array:
    numbers = drawn.astype(like.dtype)
    return numbers - mx.stop_gradient(numbers)


def _bernoulli(p: mx.array, shape: Any) -> mx.array:
    return _less_itself(mx.random.bernoulli(p, shape, key=_key()), p)


def _categorical(logits: mx.array, axis: int, shape: Any, num_samples: Any) -> mx.array:
    return _less_itself(mx.random.categorical(logits, axis, shape, num_samples, key=_key()), logits)


def _categories(m: Any, logits: Any, axis: int, shape: Any, num_samples: Any) -> Any:  # noqa: ARG001
    rest = list(logits.shape)
    del rest[axis]
    samples = () if num_samples is None else (num_samples,)
    return np.full(shape or (*rest, *samples), 0, object)


def _randint(low: mx.array, high: mx.array, shape: tuple[int, ...], dtype: str) -> mx.array:
    return _less_itself(mx.random.randint(low, high, shape, getattr(mx, dtype), key=_key()), low)


def _permuted(m: Any, x: Any, axis: int) -> Any:  # noqa: ARG001
    count = x.shape[axis]
    # Of nothing there is one order, and an older MLX does not survive the question.
    order = np.array(mx.random.permutation(mx.arange(count), key=_key())) if count else np.array([], int)
    return np.take(x, order, axis)


def _vector(mean: mx.array, factor: mx.array, shape: tuple[int, ...]) -> mx.array:
    return mx.random.multivariate_normal(mean, factor @ factor.T + mx.eye(2), shape, key=_key())


def _vector_body(m: Any, mean: Any, factor: Any, shape: tuple[int, ...]) -> Any:
    drawn = mx.random.multivariate_normal(mx.zeros(2), mx.eye(2), shape, key=_key())
    noise = np.array(np.array(drawn).astype(np.float64).tolist(), object)
    one = np.array([[1, 0], [0, 1]], object)
    covariance = m.add(m.matmul(factor, factor.T), one)
    # The square root of a matrix C of order two is (C + sqrt(det C)) / sqrt(tr C + 2 sqrt(det C)).
    root = m.sqrt(m.det(covariance))
    shifted = m.add(covariance, m.multiply(root, one))
    square_root = m.divide(shifted, m.sqrt(m.add(m.trace(covariance), m.multiply(2, root))))
    return m.add(mean, m.matmul(noise, square_root))


OPERATIONS = (
    Operation(
        name="mx.random.bernoulli",
        arguments=("p",),
        call=_bernoulli,
        body=lambda m, p, shape: np.full(np.shape(p) if shape is None else shape, 0, object),  # noqa: ARG005
        shapes=(((3,),), ((2, 1),), ((),)),
        parameters={"shape": (None, (2, 3), (4, 2, 3))},
        values={"p": Values(low=0.0, high=1.0)},
        valid=lambda shapes, parameters: parameters["shape"] is None or shapes[0] == (3,),
        text=_LESS_ITSELF.format("bernoulli(p, {shape}", "p"),
    ),
    Operation(
        name="mx.random.categorical",
        arguments=("logits",),
        call=_categorical,
        body=_categories,
        shapes=(((2, 3),), ((4,),)),
        parameters={"axis": (-1, 0, 1), "shape": (None,), "num_samples": (None, 1, 5)},
        valid=lambda shapes, parameters: parameters["axis"] < len(shapes[0]),
        text=_CATEGORICAL,
    ),
    Operation(
        name="mx.random.categorical[shape]",
        arguments=("logits",),
        call=_categorical,
        body=_categories,
        shapes=(((2, 3),),),
        parameters={"axis": (-1,), "shape": ((4, 2), (2,), (1, 2, 2)), "num_samples": (None,)},
        text=_CATEGORICAL,
    ),
    Operation(
        name="mx.random.randint",
        arguments=("low", "high"),
        call=_randint,
        body=lambda m, low, high, shape, dtype: np.full(shape, 0, object),  # noqa: ARG005
        shapes=(((3,), (3,)), ((), (3,))),
        parameters={"shape": ((3,), (2, 3), (1, 3)), "dtype": ("int32", "int16", "int64")},
        values={"low": Values(low=-20.0, high=0.0), "high": Values(low=10.0, high=40.0)},
        text=_LESS_ITSELF.format("randint(low, high, {shape}, mx.{dtype}", "low"),
    ),
    Operation(
        name="mx.random.permutation",
        arguments=("x",),
        call=lambda x, axis: mx.random.permutation(x, axis, key=_key()),
        body=_permuted,
        shapes=(((5, 2),), ((4,),), ((2, 3),), ((0, 2),)),
        parameters={"axis": (0, 1, -1)},
        symmetries=(Homogeneous({"x": 1}),),
        valid=lambda shapes, parameters: parameters["axis"] < len(shapes[0]),
        text="mx.random.permutation(x, {axis}, key=mx.random.key(3))",
    ),
    Operation(
        name="mx.random.multivariate_normal",
        arguments=("mean", "factor"),
        call=_vector,
        body=_vector_body,
        shapes=(((2,), (2, 2)),),
        parameters={"shape": ((), (2,), (1, 2))},
        values={"mean": Values(scaled=False), "factor": Values(scaled=False)},
        tolerance=Tolerance(terms=8, reason="the decomposition, products and sums round"),
        formats=("float32",),
        orders=1,
        text="mx.random.multivariate_normal(mean, factor @ factor.T + mx.eye(2), {shape}, key=mx.random.key(3))",
    ),
)
