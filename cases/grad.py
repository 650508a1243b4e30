"""Gradients of scalar functions: which arguments, of which structure, how often.

The functions are polynomials, whose derivatives are read off; the differences 1 and -2 tell the gradients apart.
"""

from typing import Any

import numpy as np

from audit.operation import REAL_FORMATS
from cases.by_text import by_text

# Text of a function of x and y -> its derivatives by x and by y.
_FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "lambda x, y: (x * x * y).sum()": (lambda x, y: 2 * x * y, lambda x, y: x * x + 0 * y),
    "lambda x, y: (x * y * y).sum() + y.sum()": (lambda x, y: y * y + 0 * x, lambda x, y: 2 * x * y + 1),
    "lambda x, y: (x * x * x).sum()": (lambda x, y: 3 * x * x + 0 * y, lambda x, y: 0 * x * y),
}
_CHOSEN = ("None", "0", "1")


def _one(m: Any, x: Any, y: Any, fun: str, argnums: str) -> Any:
    # Of complex numbers, what multiplies a real change of the result: conjugate.
    return m.conj(_FUNCTIONS[fun][int(argnums == "1")](x, y))


def _both(m: Any, x: Any, y: Any, fun: str) -> Any:  # noqa: ARG001
    first, second = _FUNCTIONS[fun]
    return first(x, y) - 2 * second(x, y)


def _value(m: Any, x: Any, y: Any, fun: str) -> Any:
    """The function itself."""
    return m.sum((x * x * y, x * y * y + y, x * x * x)[list(_FUNCTIONS).index(fun)])


def _named(m: Any, x: Any, y: Any, argnames: str) -> Any:  # noqa: ARG001
    by_y = x * x + 0 * y
    return by_y if argnames == "'y'" else by_y - 4 * x * y


def _layer(m: Any, w: Any, b: Any, x: Any, model: str, fn: str) -> Any:
    """The value of <c, w x + b>, its gradient by w and, unless that is frozen, by b; c is 1 or x itself."""
    c = x if "x * " in fn else 0 * x + 1
    value = m.sum(c * (m.matmul(w, x) + b))
    return value + 2 * c[:, None] * x + (0 if "freeze" in model else 3 * c)


OPERATIONS = (
    by_text(
        "mx.grad",
        "mx.grad({fun}, argnums={argnums})(x, y)",
        _one,
        "x",
        "y",
        parameters={"fun": tuple(_FUNCTIONS), "argnums": _CHOSEN},
        formats=(*REAL_FORMATS, "complex64"),
        orders=2,
    ),
    by_text(
        "mx.grad[of both]",
        "(lambda a, b: a - 2 * b)(*mx.grad({fun}, argnums=(0, 1))(x, y))",
        _both,
        "x",
        "y",
        parameters={"fun": tuple(_FUNCTIONS)},
    ),
    by_text(
        "mx.grad[by name]",
        "(lambda g: g['y'] - 2 * g.get('x', 0))(mx.grad(lambda x, y: (x * x * y).sum(), "
        "argnames={argnames})(x=x, y=y)[1])",
        _named,
        "x",
        "y",
        parameters={"argnames": ("'y'", "['y', 'x']")},
    ),
    by_text(
        "mx.grad[by place and name]",
        "(lambda a, b: a - 2 * b['y'])(*mx.grad(lambda x, y: (x * x * y).sum(), argnums=0, argnames='y')(x, y=y))",
        lambda m, x, y: 2 * x * y - 2 * x * x,  # noqa: ARG005
        "x",
        "y",
    ),
    by_text(
        "mx.grad[of a tree]",
        "(lambda g: g['a'] - 2 * g['b'][0] + 3 * g['b'][1][0])(mx.grad(lambda p: (p['a'] * p['b'][0] * p['b'][1][0])"
        ".sum())({{'a': x, 'b': [y, (x * y,)]}}))",
        lambda m, x, y: y * x * y - 2 * x * x * y + 3 * x * y,  # noqa: ARG005
        "x",
        "y",
    ),
    by_text(
        "mx.grad[of the same array twice]",
        "(lambda a, b: a - 2 * b)(*mx.grad(lambda a, b: (a * a * b).sum(), argnums=(0, 1))(x, x))",
        lambda m, x: 2 * x * x - 2 * x * x,  # noqa: ARG005
        "x",
    ),
    by_text(
        "mx.grad[of an argument that is returned]",
        "mx.grad(lambda x: x)(x) * y",
        lambda m, x, y: y + 0 * x,  # noqa: ARG005
        "x",
        "y",
        shapes=(((), ()), ((), (3,))),
    ),
    by_text(
        "mx.grad[of a gradient]",
        "mx.grad(lambda a: (mx.grad(lambda b: (b * b * b * y).sum())(a) * a).sum())(x)",
        lambda m, x, y: 9 * x * x * y,  # noqa: ARG005  the derivative of 3 x^2 y x
        "x",
        "y",
    ),
    by_text(
        "mx.grad[beside an inner one]",
        # Two derivatives that must not be taken for one another: the inner is 1 + x, by b at b = 1.
        "mx.grad(lambda a: (a * mx.grad(lambda b: (a * b + b).sum())(mx.ones_like(a))).sum())(x)",
        lambda m, x: 2 * x + 1,  # noqa: ARG005
        "x",
    ),
    by_text(
        "mx.grad[beside an integer argument]",
        "mx.grad(lambda a, i: (a * a * i * y).sum())(x, mx.array([3, 0, -2]))",
        lambda m, x, y: 2 * x * np.array([3, 0, -2]) * y,  # noqa: ARG005
        "x",
        "y",
        shapes=(((3,), (3,)),),
    ),
    by_text(
        "mx.grad[by an integer argument]",
        "mx.grad(lambda x, i: (x * i).sum(), argnums=1)(x, mx.array([1, 2, 3])).astype(x.dtype)",
        lambda m, x: 0 * x,  # noqa: ARG005
        "x",
        shapes=(((3,),),),
        note="An integer has no derivative but zero.",
    ),
    by_text(
        "mx.value_and_grad",
        "(lambda v, g: v + 2 * g)(*mx.value_and_grad({fun}, argnums={argnums})(x, y))",
        lambda m, x, y, fun, argnums: 2 * _one(m, x, y, fun, argnums) + _value(m, x, y, fun),
        "x",
        "y",
        parameters={"fun": tuple(_FUNCTIONS), "argnums": _CHOSEN},
        formats=(*REAL_FORMATS, "complex64"),
        orders=2,
    ),
    by_text(
        "mx.value_and_grad[by name]",
        "(lambda v, g: v + g[1]['y'] - 2 * g[1].get('x', 0))(*mx.value_and_grad(lambda x, y: (x * x * y).sum(), "
        "argnames={argnames})(x=x, y=y))",
        lambda m, x, y, argnames: m.sum(x * x * y) + _named(m, x, y, argnames),
        "x",
        "y",
        parameters={"argnames": ("'y'", "['y', 'x']")},
    ),
    by_text(
        "mx.value_and_grad[beside further results]",
        "(lambda v, g: v[0] + 4 * g[0] + 5 * g[1])(*mx.value_and_grad(lambda x, y: ((x * x * y).sum(), x * y, "
        "{{'a': y}}, 'text'), argnums=(0, 1))(x, y))",
        lambda m, x, y: m.sum(x * x * y) + 8 * x * y + 5 * x * x,
        "x",
        "y",
    ),
    by_text(
        "mx.value_and_grad[a further result]",
        "mx.value_and_grad(lambda x: ((x * x).sum(), x * x * y))(x)[0][1]",
        lambda m, x, y: x * x * y,  # noqa: ARG005
        "x",
        "y",
        orders=1,
    ),
    by_text(
        "nn.value_and_grad",
        "(lambda l: (l.update({{'weight': w, 'bias': b}}), (lambda v, g: v + 2 * g['weight'] + 3 * g.get('bias', 0))"
        "(*nn.value_and_grad(l, {fn})(x)))[1])({model})",
        _layer,
        "w",
        "b",
        "x",
        shapes=(((2, 2), (2,), (2,)),),
        # The layer's own numbers are replaced.
        parameters={
            "model": ("nn.Linear(2, 2)", "nn.Linear(2, 2).freeze(keys='bias')"),
            "fn": ("lambda x: l(x).sum()", "lambda x: (x * l(x)).sum()"),
        },
        formats=REAL_FORMATS,
        orders=1,
    ),
)
