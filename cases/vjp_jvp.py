"""The products with a Jacobian themselves: several results, unused and repeated arguments, integers, nesting.

Functions are polynomials, whose derivatives are read off; factors tell the results apart. ``w`` is a cotangent, and
``u`` and ``v`` are tangents.
"""

from typing import Any

import numpy as np

from audit.operation import REAL_FORMATS
from cases.by_text import by_text

# Text of a function of x and y -> its derivatives by x and by y.
_FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "lambda x, y: x * x * y": (lambda x, y: 2 * x * y, lambda x, y: x * x),  # noqa: ARG005
    "lambda x, y: x * y * y + y": (lambda x, y: y * y, lambda x, y: 2 * x * y + 1),  # noqa: ARG005
    "lambda x, y: x * x": (lambda x, y: 2 * x, lambda x, y: 0 * y),  # noqa: ARG005
}
_XYW = ("x", "y", "w")
_XYUV = ("x", "y", "u", "v")
_INTEGERS = np.array([3, 0, -2])


def _pulled(m: Any, x: Any, y: Any, w: Any, fun: str) -> Any:
    by_x, by_y = _FUNCTIONS[fun]
    return w * m.conj(by_x(x, y)) - 2 * w * m.conj(by_y(x, y))


def _pushed(m: Any, x: Any, y: Any, u: Any, v: Any, fun: str) -> Any:  # noqa: ARG001
    by_x, by_y = _FUNCTIONS[fun]
    return by_x(x, y) * u + by_y(x, y) * v


OPERATIONS = (
    by_text(
        "mx.vjp",
        "(lambda a, b: a - 2 * b)(*mx.vjp({fun}, [x, y], [w])[1])",
        _pulled,
        *_XYW,
        parameters={"fun": tuple(_FUNCTIONS)},
        formats=(*REAL_FORMATS, "complex64"),
        orders=2,
    ),
    by_text(
        "mx.vjp[the value]",
        "mx.vjp(lambda x, y: [x * y, x * x * y], [x, y], [w, w])[0][1]",
        lambda m, x, y, w: x * x * y + 0 * w,  # noqa: ARG005
        *_XYW,
    ),
    by_text(
        "mx.vjp[of several results]",
        "(lambda a, b: a - 2 * b)(*mx.vjp(lambda x, y: [x * y, x * x, y + 3 * x], [x, y], [w, 2 * w, w * w])[1])",
        lambda m, x, y, w: w * y + 4 * w * x + 3 * w * w - 2 * (w * x + w * w),  # noqa: ARG005
        *_XYW,
    ),
    by_text(
        "mx.vjp[of results that are arguments or constant]",
        "(lambda a, b: a - 2 * b)(*mx.vjp(lambda x, y: (x, mx.ones(3), y), [x, y], [w, w, w * w])[1])",
        lambda m, x, y, w: w - 2 * w * w + 0 * x + 0 * y,  # noqa: ARG005
        *_XYW,
        shapes=(((3,), (3,), (3,)),),
    ),
    by_text(
        "mx.vjp[of a result that is returned twice]",
        "mx.vjp(lambda x: [{returned}] * 2, [x], [w, 3 * y])[1][0]",
        lambda m, x, y, w, returned: (w + 3 * y) * (2 * x if "*" in returned else 1) + 0 * x,  # noqa: ARG005
        *_XYW,
        parameters={"returned": ("x * x", "x")},
    ),
    by_text(
        "mx.vjp[of the same array twice]",
        "(lambda a, b: a - 3 * b)(*mx.vjp(lambda x, y: x * x * y, [x, x], [w])[1])",
        lambda m, x, w: 2 * w * x * x - 3 * w * x * x,  # noqa: ARG005
        "x",
        "w",
    ),
    by_text(
        "mx.vjp[beside an integer argument]",
        "mx.vjp(lambda x, i: x * x * i, [x, mx.array([3, 0, -2])], [w])[1][0]",
        lambda m, x, w: 2 * w * x * _INTEGERS,  # noqa: ARG005
        "x",
        "w",
        shapes=(((3,), (3,)),),
    ),
    by_text(
        "mx.vjp[by indices]",
        "mx.vjp(lambda x, i: x[i], [x, mx.array([2, 0, 1])], [w])[1][0]",
        lambda m, x, w: w[[1, 2, 0]] + 0 * x,  # noqa: ARG005  what went to 2, 0, 1 comes from there
        "x",
        "w",
        shapes=(((3,), (3,)),),
        note="An index has no derivative but zero.",
    ),
    by_text(
        "mx.vjp[beside an integer result]",
        "mx.vjp(lambda x: [x * x, mx.argsort(x)], [x], [w, mx.array([3, 0, 2], dtype=mx.uint32)])[1][0]",
        lambda m, x, w: 2 * x * w,  # noqa: ARG005
        "x",
        "w",
        shapes=(((3,), (3,)),),
    ),
    by_text(
        "mx.vjp[of a product with a Jacobian]",
        "mx.vjp(lambda a, c: mx.vjp(lambda b: b * b * b, [a], [c])[1], [x, w], [y])[1][0]",
        lambda m, x, y, w: 6 * x * w * y,  # noqa: ARG005  of 3 a^2 c by a
        *_XYW,
    ),
    by_text(
        "mx.jvp",
        "mx.jvp({fun}, [x, y], [u, v])[1][0]",
        _pushed,
        *_XYUV,
        parameters={"fun": tuple(_FUNCTIONS)},
        formats=(*REAL_FORMATS, "complex64"),
        orders=2,
    ),
    by_text(
        "mx.jvp[the value]",
        "mx.jvp(lambda x, y: [x * y, x * x * y], [x, y], [y, x])[0][1]",
        lambda m, x, y: x * x * y,  # noqa: ARG005
        "x",
        "y",
    ),
    by_text(
        "mx.jvp[of several results]",
        "(lambda a, b, c: a - 2 * b + 5 * c)(*mx.jvp(lambda x, y: [x * y, x * x, y + 3 * x], [x, y], [u, v])[1])",
        lambda m, x, y, u, v: y * u + x * v - 4 * x * u + 5 * v + 15 * u,  # noqa: ARG005
        *_XYUV,
    ),
    by_text(
        "mx.jvp[of results that are arguments or constant]",
        "(lambda a, b, c: a - 2 * b + 5 * c)(*mx.jvp(lambda x, y: [y, x, mx.ones(3)], [x, y], [u, v])[1])",
        lambda m, x, y, u, v: v - 2 * u + 0 * x + 0 * y,  # noqa: ARG005
        *_XYUV,
        shapes=(((3,),) * 4,),
    ),
    by_text(
        "mx.jvp[of the same array twice]",
        "mx.jvp(lambda x, y: x * x * y, [x, x], [u, v])[1][0]",
        lambda m, x, u, v: 2 * x * x * u + x * x * v,  # noqa: ARG005
        "x",
        "u",
        "v",
    ),
    by_text(
        "mx.jvp[beside an integer result]",
        "mx.jvp(lambda x: [x * x, mx.argsort(x)], [x], [u])[1][0]",
        lambda m, x, u: 2 * x * u,  # noqa: ARG005
        "x",
        "u",
    ),
    by_text(
        "mx.jvp[along indices]",
        "mx.jvp(lambda x, i: x[i], [x, mx.array([2, 0, 1])], [u, mx.array([0, 0, 0])])[1][0]",
        lambda m, x, u: u[[2, 0, 1]] + 0 * x,  # noqa: ARG005
        "x",
        "u",
        shapes=(((3,), (3,)),),
        note="An index has no derivative but zero.",
    ),
    by_text(
        "mx.jvp[beside an inner one]",
        # The inner is a, the derivative of a b by b; two directions that must not be taken for one another.
        "mx.jvp(lambda a: a * mx.jvp(lambda b: a * b, [mx.ones_like(a)], [mx.ones_like(a)])[1][0], [x], [u])[1][0]",
        lambda m, x, u: 2 * x * u,  # noqa: ARG005
        "x",
        "u",
    ),
    by_text(
        "mx.jvp[of a gradient]",
        "mx.jvp(mx.grad(lambda a: (a * a * a * y).sum()), [x], [u])[1][0]",
        lambda m, x, y, u: 6 * x * y * u,  # noqa: ARG005
        "x",
        "y",
        "u",
    ),
)
