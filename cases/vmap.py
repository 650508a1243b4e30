"""Functions mapped over rows: every axis of what goes in and comes out, trees, nesting. The reference is the loop."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from audit.operation import REAL_FORMATS, Shapes
from cases.by_text import by_text

Axis = int | None

# Text of a function of one row each -> the same in generic arithmetic.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "lambda x, y: x * y.sum()": lambda m, x, y: x * m.sum(y),
    "lambda x, y: x[:, None] * y": lambda m, x, y: x[:, None] * y,  # noqa: ARG005
}
_IN: dict[str, tuple[Axis, Axis]] = {
    "0": (0, 0),
    "1": (1, 1),
    "(1, 0)": (1, 0),
    "(0, None)": (0, None),
    "(None, -1)": (None, -1),
    "(-2, 1)": (-2, 1),
}


def mapped(function: Callable[..., Any], arrays: tuple[Any, ...], axes: tuple[Axis, ...], out: int) -> Any:
    """The results of a function of each row, stacked along an axis.

    Args:
        function: of one row of each array.
        arrays: mapped along `axes`, given whole where that is None.
        axes: one an array.
        out: axis of the result along which rows are stacked.
    """
    (count,) = {array.shape[axis] for array, axis in zip(arrays, axes, strict=True) if axis is not None}
    rows = [
        function(*(a if axis is None else np.take(a, k, axis) for a, axis in zip(arrays, axes, strict=True)))
        for k in range(count)
    ]
    return np.stack(rows, out)


def _mapped(m: Any, x: Any, y: Any, fun: str, in_axes: str, out_axes: int) -> Any:
    return mapped(lambda a, b: _FUNCTIONS[fun](m, a, b), (x, y), _IN[in_axes], out_axes)


def _fits(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:
    x, y = (np.ones(shape) for shape in shapes)
    try:
        _mapped(np, x, y, **parameters)
    except (ValueError, IndexError):
        return False
    return True


OPERATIONS = (
    by_text(
        "mx.vmap",
        "mx.vmap({fun}, in_axes={in_axes}, out_axes={out_axes})(x, y)",
        _mapped,
        "x",
        "y",
        shapes=(((2, 2), (2, 2)), ((2, 3), (2, 3)), ((1, 2), (1, 2))),
        parameters={"fun": tuple(_FUNCTIONS), "in_axes": tuple(_IN), "out_axes": (0, 1, -1)},
        valid=_fits,
        formats=(*REAL_FORMATS, "complex64"),
        orders=1,
    ),
    by_text(
        "mx.vmap[of trees]",
        "(lambda d: d['p'] - 2 * d['q'][0].T)(mx.vmap(lambda t, z: {{'p': t['a'] * t['b'][0] + z, 'q': [t['b'][0] * z]"
        "}}, in_axes=({{'a': 0, 'b': [None]}}, 1), out_axes={{'p': 1, 'q': [0]}})({{'a': x, 'b': [y]}}, z))",
        lambda m, x, y, z: (x * y).T + z - 2 * y[:, None] * z,  # noqa: ARG005
        "x",
        "y",
        "z",
        shapes=(((2, 3), (3,), (3, 2)),),
        orders=1,
    ),
    by_text(
        "mx.vmap[over the same axis of all leaves]",
        "mx.vmap(lambda t: t[0] * t[1]['b'], in_axes=1, out_axes=-1)([x, {{'b': y}}])",
        lambda m, x, y: x * y,  # noqa: ARG005
        "x",
        "y",
        shapes=(((2, 3), (2, 3)),),
    ),
    by_text(
        "mx.vmap[of a result that is not mapped]",
        "mx.vmap(lambda a, b: b * b, in_axes=(0, None), out_axes=None)(x, y)",
        lambda m, x, y: y * y,  # noqa: ARG005
        "x",
        "y",
        shapes=(((2, 3), (3,)),),
        orders=1,
    ),
    by_text(
        "mx.vmap[of an argument that is not mapped]",
        "mx.vmap(lambda a: mx.vmap(lambda b: a * b, in_axes={in_axes})(y))(x)",
        lambda m, x, y, in_axes: x[:, None] * y,  # noqa: ARG005
        "x",
        "y",
        shapes=(((2,), (3,)),),
        parameters={"in_axes": ("0", "(0,)")},
        orders=1,
    ),
    by_text(
        "mx.vmap[of a result that no row changes]",
        "mx.vmap(lambda a: y * y + 3)(x)",
        lambda m, x, y: np.stack([y * y + 3 for _ in x]),  # noqa: ARG005
        "x",
        "y",
        shapes=(((2, 3), (3,)), ((3,), (2,))),
        orders=1,
    ),
    by_text(
        "mx.vmap[of a mapped function]",
        "mx.vmap(mx.vmap(lambda a, b: a * b * b, in_axes=(None, 0)), in_axes=(0, None), out_axes=1)(x, y)",
        lambda m, x, y: y[:, None] * y[:, None] * x,  # noqa: ARG005
        "x",
        "y",
        shapes=(((2,), (3,)), ((2, 2), (3, 2))),
        orders=1,
    ),
    by_text(
        "mx.vmap[of a gradient]",
        "mx.vmap(mx.grad(lambda a, b: (a * a * a * b.sum()).sum()), in_axes=(1, None))(x, y)",
        lambda m, x, y: 3 * x.T * x.T * m.sum(y),
        "x",
        "y",
        shapes=(((2, 3), (2,)),),
    ),
    by_text(
        "mx.vmap[of a gradient by what is not mapped]",
        "mx.vmap(mx.grad(lambda a, b: (a * b * b).sum(), argnums=1), in_axes=(1, None))(x, y)",
        lambda m, x, y: 2 * x.T * y,  # noqa: ARG005
        "x",
        "y",
        shapes=(((2, 3), (2,)),),
    ),
    by_text(
        "mx.vmap[of products with a Jacobian]",
        "mx.vmap(lambda a, b: mx.vjp(lambda c: c * c * c, [a], [b])[1][0] + mx.jvp(lambda c: c * c, [a], [b])[1][0], "
        "in_axes=(0, 1))(x, y)",
        lambda m, x, y: (3 * x * x + 2 * x) * y.T,  # noqa: ARG005
        "x",
        "y",
        shapes=(((2, 3), (3, 2)),),
    ),
    by_text(
        "mx.vmap[beside integers]",
        "mx.vmap(lambda a, i: a * i, in_axes=(0, 1))(x, mx.array([[3, 0], [-2, 5], [1, 7]]))",
        lambda m, x: x * np.array([[3, -2, 1], [0, 5, 7]]),  # noqa: ARG005
        "x",
        shapes=(((2, 3),),),
    ),
    by_text(
        "mx.vmap[of a permutation]",
        # Each row has its own order, none of which is its own inverse.
        "mx.vmap(lambda a, i: mx.take(a, i), in_axes=(1, 0), out_axes=1)(x, mx.array([[1, 2, 0], [2, 0, 1]]))",
        lambda m, x: np.stack([x[[1, 2, 0], 0], x[[2, 0, 1], 1]], 1),  # noqa: ARG005
        "x",
        shapes=(((3, 2),),),
        orders=1,
    ),
)
