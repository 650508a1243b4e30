"""Whether numbers or arrays are equal, nearly or quite: 1 or 0, of which the derivative is zero."""

from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import REAL_FORMATS, Operation, Values
from cases.jumps import jump

_SHAPES = (((2, 3), (2, 3)), ((3,), (3,)), ((1,), (1,)), ((), ()))
_NEAR = {"a": Values(singular=(0.0,), scaled=False), "b": Values(singular=(0.0,), scaled=False)}


def _close(m: Any, a: Any, b: Any, rtol: float, atol: float) -> Any:
    limit = m.add(atol, m.multiply(rtol, m.abs(b)))
    return m.less_equal(m.abs(m.subtract(a, b)), limit)


def _all(m: Any, conditions: Any) -> Any:
    found: Any = True
    for condition in np.asarray(conditions, object).reshape(-1):
        found = m.logical_and(found, condition)
    return found


def _first(m: Any, a: Any) -> Any:
    return m.real(np.asarray(a, object).reshape(-1)[0])


def _equal(m: Any, a: Any, b: Any) -> Any:
    return _all(m, m.equal(a, b)) if np.shape(a) == np.shape(b) else False


OPERATIONS = (
    Operation(
        name="mx.isclose",
        arguments=("a", "b"),
        call=lambda a, b, **how: mx.isclose(a, b, **how).astype(mx.real(a).dtype),
        body=lambda m, a, b, rtol, atol, equal_nan: jump(m, _close(m, a, b, rtol, atol), m.real(a)),  # noqa: ARG005
        shapes=(*_SHAPES, ((2, 1), (3,))),
        values=_NEAR,
        parameters={"rtol": (1e-5, 0.0, 0.25), "atol": (1e-8, 0.0, 0.5), "equal_nan": (False, True)},
        formats=(*REAL_FORMATS, "complex64"),
        result="real",
        orders=1,
        text="mx.isclose(a, b, rtol={rtol}, atol={atol}, equal_nan={equal_nan}).astype(mx.real(a).dtype)",
    ),
    Operation(
        name="mx.allclose",
        arguments=("a", "b"),
        call=lambda a, b, **how: mx.allclose(a, b, **how).astype(mx.real(a).dtype),
        body=lambda m, a, b, rtol, atol, equal_nan: jump(m, _all(m, _close(m, a, b, rtol, atol)), _first(m, a)),  # noqa: ARG005
        shapes=(*_SHAPES, ((2, 1), (3,))),
        values=_NEAR,
        parameters={"rtol": (1e-5, 0.0, 0.25), "atol": (1e-8, 0.0, 0.5), "equal_nan": (False, True)},
        formats=(*REAL_FORMATS, "complex64"),
        result="real",
        orders=1,
        text="mx.allclose(a, b, rtol={rtol}, atol={atol}, equal_nan={equal_nan}).astype(mx.real(a).dtype)",
    ),
    Operation(
        name="mx.array_equal",
        arguments=("a", "b"),
        call=lambda a, b, equal_nan: mx.array_equal(a, b, equal_nan=equal_nan).astype(mx.real(a).dtype),
        body=lambda m, a, b, equal_nan: jump(m, _equal(m, a, b), _first(m, a)),  # noqa: ARG005
        shapes=(*_SHAPES, ((2, 1), (2,))),
        values=_NEAR,
        parameters={"equal_nan": (False, True)},
        formats=(*REAL_FORMATS, "complex64"),
        result="real",
        orders=1,
        text="mx.array_equal(a, b, equal_nan={equal_nan}).astype(mx.real(a).dtype)",
    ),
)
