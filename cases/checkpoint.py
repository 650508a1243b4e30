"""Checkpointed functions: values that are computed anew for a derivative are the values that they were."""

from typing import Any

from audit.operation import REAL_FORMATS
from cases.by_text import by_text

# Text of a function of x and y -> the same in generic arithmetic.
_FUNCTIONS = {
    "lambda x, y: x * x * y": lambda m, x, y: x * x * y,  # noqa: ARG005
    "lambda x, y: (x * y).sum() * y - x": lambda m, x, y: y * m.sum(x * y) - x,
    "lambda x, y: x * x + 1": lambda m, x, y: x * x + 1 + 0 * y,  # noqa: ARG005
}
_XY = ("x", "y")
_LAYER = ("w", "b", "x")


def _layer(m: Any, w: Any, b: Any, x: Any, module: str, fn: str) -> Any:  # noqa: ARG001
    found = m.matmul(w, x) + b
    return found if fn == "None" else found * found


OPERATIONS = (
    by_text(
        "mx.checkpoint",
        "mx.checkpoint({fun})(x, y)",
        lambda m, x, y, fun: _FUNCTIONS[fun](m, x, y),
        *_XY,
        parameters={"fun": tuple(_FUNCTIONS)},
        formats=(*REAL_FORMATS, "complex64"),
        orders=2,
    ),
    by_text(
        "mx.checkpoint[of the same array twice]",
        "mx.checkpoint(lambda a, b: a * a * b)(x, x)",
        lambda m, x: x * x * x,  # noqa: ARG005
        "x",
        orders=1,
    ),
    by_text(
        "mx.checkpoint[of trees]",
        "(lambda d: d['p'] - 2 * d['q'][0] + 3 * d['q'][1])(mx.checkpoint(lambda t, k, *, c: {{'p': "
        "t['a'] * t['b'][0] * k, 'q': (t['b'][0] * c, c * c)}})({{'a': x, 'b': [y]}}, 5, c=x * y))",
        lambda m, x, y: 5 * x * y - 2 * y * x * y + 3 * x * y * x * y,  # noqa: ARG005
        *_XY,
        orders=1,
    ),
    by_text(
        "mx.checkpoint[of a result that is not used]",
        "mx.checkpoint(lambda a, b: [a * b, a * a, b])(x, y)[{used}]",
        lambda m, x, y, used: (x * y, x * x + 0 * y, y + 0 * x)[used],  # noqa: ARG005
        *_XY,
        parameters={"used": (0, 1, 2)},
        orders=1,
    ),
    by_text(
        "mx.checkpoint[of a result that is returned twice]",
        "(lambda r: r[0] * y + 3 * r[1])(mx.checkpoint(lambda a: [{returned}] * 2)(x))",
        lambda m, x, y, returned: (y + 3) * (x * x if "*" in returned else x),  # noqa: ARG005
        *_XY,
        parameters={"returned": ("a * a", "a")},
        orders=1,
    ),
    by_text(
        "mx.checkpoint[beside an integer argument]",
        "mx.checkpoint(lambda a, i: a{used})(x, mx.array([2, 0, 1]))",
        lambda m, x, used: x[[2, 0, 1]] if used == "[i]" else x * (2, 0, 1),  # noqa: ARG005
        "x",
        shapes=(((3,),),),
        parameters={"used": (" * i", "[i]")},
        orders=1,
    ),
    by_text(
        "mx.checkpoint[in a checkpointed function]",
        "mx.checkpoint(lambda a, b: mx.checkpoint(lambda c, d: c * c * d)(a, b) * a)(x, y)",
        lambda m, x, y: x * x * x * y,  # noqa: ARG005
        *_XY,
        orders=1,
    ),
    by_text(
        "mx.checkpoint[of a gradient]",
        "mx.checkpoint(mx.grad(lambda a, b: (a * a * a * b).sum()))(x, y)",
        lambda m, x, y: 3 * x * x * y,  # noqa: ARG005
        *_XY,
        orders=1,
    ),
    by_text(
        "mx.checkpoint[in a mapped function]",
        "mx.vmap({outside}(mx.checkpoint(lambda a, b: (a * a * b).sum())), in_axes=(1, None))(x, y)",
        lambda m, x, y, outside: 2 * x.T * y if outside else m.sum(x.T * x.T * y, 1),
        *_XY,
        shapes=(((2, 3), (2,)),),
        parameters={"outside": ("", "mx.grad")},
        orders=1,
    ),
    by_text(
        "nn.utils.checkpoint",
        "(lambda l: (l.update({{'weight': w, 'bias': b}}), nn.utils.checkpoint(l, {fn})(x))[1])({module})",
        _layer,
        *_LAYER,
        shapes=(((2, 3), (2,), (3,)),),
        # The layer's own numbers are replaced.
        parameters={
            "module": ("nn.Linear(3, 2)", "nn.Linear(3, 2).train()"),
            "fn": ("None", "lambda x: l(x) * l(x)", "lambda x: l(x).square()"),
        },
        formats=REAL_FORMATS,
        orders=1,
    ),
    by_text(
        "nn.utils.checkpoint[of a frozen layer]",
        "(lambda l: (l.update({{'weight': w, 'bias': b}}), l.freeze(keys='bias'), nn.utils.checkpoint(l)(x))[2])"
        "(nn.Linear(3, 2))",
        lambda m, w, b, x: m.matmul(w, x) + b,
        *_LAYER,
        shapes=(((2, 3), (2,), (3,)),),
        traceable=("w", "x"),
        mapped=False,
        note="A bias that is frozen is no parameter, so that none but the others are differentiated.",
        orders=1,
    ),
)
