"""Compiled functions: state that is captured and changed, sizes that change, trees, derivatives inside and outside."""

import numpy as np

from audit.operation import REAL_FORMATS
from cases.by_text import by_text, refusing

# Text of a function of x and y -> the same in generic arithmetic.
_FUNCTIONS = {
    "lambda x, y: x * x * y": lambda m, x, y: x * x * y,  # noqa: ARG005
    "lambda x, y: (x * y).sum() * y - x": lambda m, x, y: y * m.sum(x * y) - x,
    "mx.grad(lambda x, y: (x * x * x * y).sum())": lambda m, x, y: m.conj(3 * x * x * y),
}
_XY = ("x", "y")

OPERATIONS = (
    by_text(
        "mx.compile",
        "mx.compile({fun}, shapeless={shapeless})(x, y)",
        lambda m, x, y, fun, shapeless: _FUNCTIONS[fun](m, x, y),  # noqa: ARG005
        *_XY,
        parameters={"fun": tuple(_FUNCTIONS), "shapeless": (False, True)},
        formats=(*REAL_FORMATS, "complex64"),
        orders=2,
    ),
    by_text(
        "mx.compile[captured inputs]",
        "(lambda s: mx.compile(lambda a: a * a * s['b'][0], inputs={inputs})(x))({{'b': [y, 'text']}})",
        lambda m, x, y, inputs: x * x * y,  # noqa: ARG005
        *_XY,
        parameters={"inputs": ("s", "[s['b']]")},
        orders=1,
    ),
    by_text(
        "mx.compile[captured inputs that change]",
        # What was captured at the first call must not be used at the second.
        "(lambda s: (lambda f: [f(x), s.update(b=3 * x), f(x)][::2])(mx.compile(lambda a: a * s['b'], inputs=s)))"
        "({{'b': y}})[{call}]",
        lambda m, x, y, call: 3 * x * x + 0 * y if call else x * y,  # noqa: ARG005
        *_XY,
        parameters={"call": (1, 0)},
        orders=1,
    ),
    by_text(
        "mx.compile[captured outputs]",
        "(lambda s: (lambda f: [f(x), f(x), s['b']])(mx.compile(lambda a: s.update(b=s['b'] * a) or a + s['b'], "
        "inputs=s, outputs={outputs})))({{'b': y}})[{which}]",
        lambda m, x, y, outputs, which: (x + x * y, x + x * x * y, x * x * y)[which],  # noqa: ARG005
        *_XY,
        parameters={"outputs": ("s", "[s]"), "which": (2, 1, 0)},
        orders=1,
    ),
    by_text(
        "mx.compile[at another size]",
        "(lambda f: (f(y), f(x))[1])(mx.compile({fun}, shapeless={shapeless}))",
        lambda m, x, y, fun, shapeless: 2 * x if "grad" in fun else x * m.sum(x),  # noqa: ARG005
        *_XY,
        shapes=(((2,), (3,)), ((3,), (1,)), ((2,), (2, 2))),
        parameters={"fun": ("lambda a: a * a.sum()", "mx.grad(lambda a: (a * a).sum())"), "shapeless": (True, False)},
        orders=1,
    ),
    by_text(
        "mx.compile[of a reduction over one element]",
        "mx.compile({fun}, shapeless=True)(x)",
        lambda m, x, fun: np.reshape(m.sum(x), (1,)) if "sum(1)" in fun else x,
        "x",
        shapes=(((3,),),),
        parameters={"fun": ("lambda a: a[None].sum(1)", "lambda a: a[None].sum(0)")},
        mapped=False,
    ),
    by_text(
        "mx.compile[in another format]",
        "(lambda f: (f(x.astype(mx.float16)), f(x))[1])(mx.compile(lambda a: a * a * a, shapeless={shapeless}))",
        lambda m, x, shapeless: x * x * x,  # noqa: ARG005
        "x",
        parameters={"shapeless": (True, False)},
    ),
    by_text(
        "mx.compile[of trees]",
        "(lambda d: d['p'] - 2 * d['q'][0] + 3 * d['q'][1])(mx.compile(lambda t, k, *, c: {{'p': "
        "t['a'] * t['b'][0] * k, 'q': (t['b'][0] * c, c)}})({{'a': x, 'b': [y]}}, 5, c=x * y))",
        lambda m, x, y: 5 * x * y - 2 * y * x * y + 3 * x * y,  # noqa: ARG005
        *_XY,
        orders=1,
    ),
    by_text(
        "mx.compile[with another number]",
        # A Python number is part of what is compiled.
        "(lambda f: (f(x, 2.0), f(x, {number}))[1])(mx.compile(lambda a, k: a * a * k))",
        lambda m, x, number: number * x * x,  # noqa: ARG005
        "x",
        parameters={"number": (3.0, 2.0, -1.0)},
    ),
    by_text(
        "mx.compile[of a compiled function]",
        "(lambda s: mx.compile(lambda a: mx.compile(lambda b: b * b * s[0], inputs=s)(a) * a, inputs=s)(x))([y])",
        lambda m, x, y: x * x * x * y,  # noqa: ARG005
        *_XY,
        orders=1,
    ),
    by_text(
        "mx.compile[of a reversed view]",
        "mx.compile({fun})(x)",
        lambda m, x, fun: {"a[::-1] +": 2 * x[::-1] + x, "a[::-1, ::-1]": x[::-1] * x, "a.at": 3 * x}[  # noqa: ARG005
            next(key for key in ("a[::-1] +", "a[::-1, ::-1]", "a.at") if key in fun)
        ],
        "x",
        shapes=(((3, 1),), ((2, 1),)),
        parameters={
            "fun": (
                "lambda a: 2 * a[::-1] + a",
                "lambda a: a[::-1, ::-1] * a",
                "lambda a: a.at[::-1].add(2 * a[::-1])",
            )
        },
        orders=1,
    ),
    by_text(
        "mx.compile[of a chain]",
        # What is fused may round elsewhere, but by no more.
        "mx.compile(lambda a: a * mx.sigmoid(1.5 * a) + mx.tanh(a))(x)",
        lambda m, x: x * m.sigmoid(1.5 * x) + m.tanh(x),
        "x",
        formats=("float16", "bfloat16", "float32"),
        orders=1,
    ),
    by_text(
        "mx.compile[of a choice]",
        "mx.compile(lambda a: a.max(axis=0) * a)(x)",
        lambda m, x: m.max(x, 0) * x,
        "x",
        shapes=(((3, 2),),),
        orders=1,
    ),
    by_text(
        "mx.compile[of a mapped function]",
        "mx.compile(mx.vmap(lambda a, b: a * b.sum() * b, in_axes=(0, None)))(x, y)",
        lambda m, x, y: x * m.sum(y) * y,
        *_XY,
        shapes=(((2, 3), (3,)),),
        orders=1,
    ),
    by_text(
        "mx.compile[of a result that is returned twice]",
        "(lambda a, b: a - 2 * b)(*mx.compile(lambda a: [{returned}] * 2)(x))",
        lambda m, x, returned: -x * x if "*" in returned else -x,  # noqa: ARG005
        "x",
        parameters={"returned": ("a * a", "a")},
    ),
    refusing(
        "mx.compile[of what is not among its inputs]",
        "mx.grad(lambda b: mx.compile(lambda a: a * b)(x).sum())(y)",
        lambda x, y: x,  # noqa: ARG005
        lambda m, x, y: x,  # noqa: ARG005
        *_XY,
    ),
)
