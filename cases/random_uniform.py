"""Uniform and truncated normal numbers: functions of uniform numbers between zero and one, read with the same key."""

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.modes.arrays import DTYPES
from audit.operation import Operation, Values
from cases.random_normal import fits

# There are no uniform numbers of float64.
_FORMATS = ("float16", "bfloat16", "float32")
_SUM = Tolerance(terms=4, reason="the difference of the bounds, a product and a sum round")
_INVERSE = Tolerance(terms=8, reason="both erf, their difference, a product, a sum and the inverse of erf round")


def _noise(shape: tuple[int, ...], name: str) -> Any:
    drawn = mx.random.uniform(0, 1, shape, DTYPES[name], key=mx.random.key(5))
    numbers = np.array(drawn.astype(mx.float32)).astype(np.float64)
    return np.array(numbers.tolist(), object)


def _uniform(low: mx.array, high: mx.array, shape: tuple[int, ...], dtype: str) -> mx.array:
    return mx.random.uniform(low, high, shape, DTYPES[dtype], key=mx.random.key(5))


def _truncated(lower: mx.array, upper: mx.array, shape: tuple[int, ...], dtype: str) -> mx.array:
    return mx.random.truncated_normal(lower, upper, shape, DTYPES[dtype], key=mx.random.key(5))


def _uniform_body(m: Any, low: Any, high: Any, shape: tuple[int, ...], dtype: str) -> Any:
    return m.add(low, m.multiply(m.subtract(high, low), _noise(shape, dtype)))


def _truncated_body(m: Any, lower: Any, upper: Any, shape: tuple[int, ...], dtype: str) -> Any:
    a, b = m.erf(m.divide(lower, m.sqrt(2))), m.erf(m.divide(upper, m.sqrt(2)))
    quantile = m.add(a, m.multiply(m.subtract(b, a), _noise(shape, dtype)))
    return m.multiply(m.erfinv(quantile), m.sqrt(2))


def _operation(name: str, fmt: str) -> Operation:
    uniform = name == "mx.random.uniform"
    arguments = ("low", "high") if uniform else ("lower", "upper")
    # The bounds of the truncated distribution enclose zero, and are near enough that erf does not level off.
    near = {} if uniform else {"lower": Values(low=-1.5, high=-0.5), "upper": Values(low=0.5, high=1.5)}
    return Operation(
        name=f"{name}[{fmt}]",
        arguments=arguments,
        call=_uniform if uniform else _truncated,
        body=_uniform_body if uniform else _truncated_body,
        shapes=(((), ()), ((3,), (3,)), ((2, 1), (3,)), ((), (3,))),
        parameters={"shape": ((2, 3), (3,), (1, 4)), "dtype": (fmt,)},
        values=near,
        tolerance=_SUM if uniform else _INVERSE,
        valid=fits,
        formats=(fmt,),
        text=f"{name}({', '.join(arguments)}, {{shape}}, mx.{{dtype}}, key=mx.random.key(5))",
    )


OPERATIONS = tuple(
    _operation(name, fmt) for name in ("mx.random.uniform", "mx.random.truncated_normal") for fmt in _FORMATS
)
