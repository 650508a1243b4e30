"""Functions with rules of one's own: what has no rule is differentiated as usual, and a cotangent rule is used exactly.

The rules are not the derivatives of the functions, so that it shows which of the two was used. ``w`` is a cotangent.
"""

from collections.abc import Mapping
from typing import Any

from audit.operation import REAL_FORMATS, Shapes
from cases.by_text import by_text

_XW = ("x", "w")
_XYW = ("x", "y", "w")

# Text of a rule for x, the cotangent w and the result y -> what it gives.
_RULES = {
    "lambda x, w, y: 5 * w * x": lambda m, x, w: 5 * w * x,  # noqa: ARG005
    "lambda x, w, y: w - x": lambda m, x, w: w - x,  # noqa: ARG005
    "lambda x, w, y: mx.vjp(lambda a: a * a * a, [x], [w])[1][0]": lambda m, x, w: m.conj(3 * x * x) * w,
}


def _same_keys(shapes: Shapes, parameters: Mapping[str, Any]) -> bool:  # noqa: ARG001
    """Whether results are read in the way in which they are returned."""
    return len({"p'" in parameters["results"], "p'" in parameters["first"], "q'" in parameters["second"]}) == 1


OPERATIONS = (
    by_text(
        "mx.custom_function",
        "mx.custom_function({f})(x, y)",
        lambda m, x, y, f: y * m.sum(x * y) - x if "sum" in f else x * x * y,
        "x",
        "y",
        parameters={"f": ("lambda x, y: x * x * y", "lambda x, y: (x * y).sum() * y - x")},
        also=("mx.custom_function.__call__",),
        formats=(*REAL_FORMATS, "complex64"),
        orders=2,
    ),
    by_text(
        "mx.custom_function[of trees]",
        "(lambda d: d['p'] - 2 * d['q'][0] + 3 * d['q'][1])(mx.custom_function(lambda t, k, *, c: {{'p': "
        "t['a'] * t['b'][0] * k, 'q': (t['b'][0] * c, c * c)}})({{'a': x, 'b': [y]}}, 5, c=x * y))",
        lambda m, x, y: 5 * x * y - 2 * y * x * y + 3 * x * y * x * y,  # noqa: ARG005
        "x",
        "y",
        orders=1,
    ),
    by_text(
        "mx.custom_function.vjp",
        "mx.vjp(mx.custom_function(lambda x: x * x).vjp({f}), [x], [w])[1][0]",
        lambda m, x, w, f: _RULES[f](m, x, w),
        *_XW,
        parameters={"f": tuple(_RULES)},
        formats=(*REAL_FORMATS, "complex64"),
        orders=2,
    ),
    by_text(
        "mx.custom_function.vjp[that reads the result]",
        # By x no further: the result is what has the rule.
        "mx.vjp(mx.custom_function(lambda x: x * x).vjp(lambda x, w, y: w * y - x), [x], [w])[1][0]",
        lambda m, x, w: w * x * x - x,  # noqa: ARG005
        *_XW,
        traceable=("w",),
    ),
    by_text(
        "mx.custom_function.vjp[the value]",
        "mx.vjp(mx.custom_function(lambda x: x * x).vjp(lambda x, w, y: 5 * w), [x], [w])[0][0]",
        lambda m, x, w: x * x + 0 * w,  # noqa: ARG005
        *_XW,
    ),
    by_text(
        "mx.custom_function.vjp[of two arguments]",
        "(lambda a, b: a - 2 * b)(*mx.vjp(mx.custom_function(lambda x, y: x * y).vjp("
        "lambda primals, w, z: {returned}), [x, y], [w])[1])",
        lambda m, x, y, w, returned: 5 * w * y - 14 * w * x,  # noqa: ARG005
        *_XYW,
        parameters={
            "returned": ("(5 * w * primals[1], 7 * w * primals[0])", "[5 * w * primals[1], 7 * w * primals[0]]")
        },
    ),
    by_text(
        "mx.custom_function.vjp[of one of two arguments]",
        "mx.vjp(lambda a: mx.custom_function(lambda x, y: x * y).vjp(lambda primals, w, z: "
        "(5 * w * primals[1], 7 * w * primals[0])){order}, [x], [w])[1][0]",
        lambda m, x, y, w, order: (5 if order == "(a, y)" else 7) * w * y + 0 * x,  # noqa: ARG005
        *_XYW,
        parameters={"order": ("(a, y)", "(y, a)")},
    ),
    by_text(
        "mx.custom_function.vjp[of the same array twice]",
        "mx.vjp(lambda a: mx.custom_function(lambda x, y: x * y).vjp(lambda primals, w, z: (5 * w, 7 * w * primals[0]))"
        "(a, a), [x], [w])[1][0]",
        lambda m, x, w: 5 * w + 7 * w * x,  # noqa: ARG005
        *_XW,
    ),
    by_text(
        "mx.custom_function.vjp[of a tree]",
        "(lambda a, b: a - 2 * b)(*mx.vjp(lambda a, b: mx.custom_function(lambda t: t['p'] * t['q'][0]).vjp("
        "lambda t, w, z: {returned})({{'p': a, 'q': [b]}}), [x, y], [w])[1])",
        lambda m, x, y, w, returned: 5 * w - 14 * w * x + 0 * y,  # noqa: ARG005
        *_XYW,
        # A dictionary is known by its keys, in whatever order they come.
        parameters={"returned": ("{'p': 5 * w, 'q': [7 * w * t['p']]}", "{'q': [7 * w * t['p']], 'p': 5 * w}")},
    ),
    by_text(
        "mx.custom_function.vjp[of several results]",
        "mx.vjp(lambda a: (lambda r: [r{first}, r{second}])(mx.custom_function(lambda x: {results}).vjp("
        "lambda x, w, z: 5 * w{first} + 7 * w{second} * x)(a)), [x], [w, w * y])[1][0]",
        lambda m, x, y, w, results, first, second: 5 * w + 7 * w * y * x,  # noqa: ARG005
        *_XYW,
        parameters={
            "results": ("[x * x, x]", "(x * x, x)", "{'p': x * x, 'q': x}"),
            "first": ("[0]", "['p']"),
            "second": ("[1]", "['q']"),
        },
        valid=_same_keys,
    ),
    by_text(
        "mx.custom_function.vjp[of a result that is not used]",
        "mx.vjp(lambda a: mx.custom_function(lambda x: [x * x, x]).vjp(lambda x, w, z: 5 * w[0] + 7 * w[1] * x)(a)"
        "[{used}], [x], [w])[1][0]",
        lambda m, x, w, used: 7 * w * x if used else 5 * w + 0 * x,  # noqa: ARG005
        *_XW,
        parameters={"used": (0, 1)},
    ),
    by_text(
        "mx.custom_function.vjp[of a result that is an argument]",
        "mx.vjp(lambda a: mx.custom_function(lambda x: x).vjp(lambda x, w, z: 5 * w * x)(a) + a, [x], [w])[1][0]",
        lambda m, x, w: 5 * w * x + w,  # noqa: ARG005
        *_XW,
    ),
    by_text(
        "mx.custom_function.vjp[of a result that is returned twice]",
        "mx.vjp(lambda a: (lambda r: [r[0] + 0, r[1] + 0])(mx.custom_function(lambda x: [x * x] * 2).vjp("
        "lambda x, w, z: 5 * w[0] + 7 * w[1] * x)(a)), [x], [w, w * y])[1][0]",
        lambda m, x, y, w: 5 * w + 7 * w * y * x,  # noqa: ARG005
        *_XYW,
    ),
    by_text(
        "mx.custom_function.vjp[of a constant result]",
        "mx.vjp(mx.custom_function(lambda x: mx.ones_like(x)).vjp(lambda x, w, z: 5 * w * x), [x], [w])[1][0]",
        lambda m, x, w: 5 * w * x,  # noqa: ARG005
        *_XW,
    ),
    by_text(
        "mx.custom_function.vjp[beside integers]",
        "mx.vjp(lambda a: mx.custom_function(lambda x, i, k: x * i * k).vjp(lambda primals, w, z: (5 * w * "
        "primals[1] * primals[2], {beside}, None))(a, mx.array([1, 2, 0]), 3), [x], [w])[1][0]",
        lambda m, x, w, beside: 15 * w * (1, 2, 0) + 0 * x,  # noqa: ARG005
        *_XW,
        shapes=(((3,), (3,)),),
        parameters={"beside": ("mx.zeros_like(primals[1])", "None")},
    ),
    by_text(
        "mx.custom_function.vjp[with a keyword]",
        "mx.vjp(lambda a: mx.custom_function(lambda x, k: x * k).vjp(lambda x, w, z, k: 5 * w * k)(a, k={k}), [x], [w])"
        "[1][0]",
        lambda m, x, w, k: 5 * w * (3 if k == "3.0" else 2 * w) + 0 * x,  # noqa: ARG005
        *_XW,
        parameters={"k": ("3.0", "2 * w")},
    ),
    by_text(
        "mx.custom_function.vjp[by an array that is captured]",
        "mx.vjp(lambda b: mx.custom_function(lambda x: x * b).vjp(lambda x, w, z: 5 * w)(x), [y], [w])[1][0]",
        lambda m, x, y, w: 0 * x * y * w,  # noqa: ARG005
        *_XYW,
        note="MLX's documentation says that captured arrays are constants where a rule is given.",
    ),
    by_text(
        "mx.custom_function.vjp[one after another]",
        "mx.vjp(lambda a: (lambda f: f(f(a)))(mx.custom_function(lambda x: x * x).vjp(lambda x, w, y: 5 * w * y)), "
        "[x], [w])[1][0]",
        lambda m, x, w: 25 * w * x**6,  # noqa: ARG005  5 x^4 for the outer one, 5 x^2 for the inner one
        *_XW,
    ),
    by_text(
        "mx.custom_function.vjp[one in another]",
        "mx.vjp(mx.custom_function(lambda x: mx.custom_function(lambda y: y * y).vjp(lambda y, w, z: 5 * w)(x) * x)"
        "{rule}, [x], [w])[1][0]",
        lambda m, x, w, rule: 7 * w * x if rule else x * x * w + 5 * w * x,  # noqa: ARG005
        *_XW,
        parameters={"rule": ("", ".vjp(lambda x, w, z: 7 * w * x)")},
    ),
    by_text(
        "mx.custom_function.vjp[in a gradient of a gradient]",
        "mx.grad(lambda a: mx.grad(lambda b: mx.custom_function(lambda x: x * x).vjp(lambda x, w, y: 5 * w * x * x)(b)"
        ".sum())(a).sum())(x)",
        lambda m, x: 10 * x,  # noqa: ARG005
        "x",
    ),
    by_text(
        "mx.custom_function.vjp[in a compiled function]",
        "mx.compile(lambda a, w: mx.vjp({inside}mx.custom_function(lambda x: x * x).vjp(lambda x, w, y: 5 * w * x)"
        "{closed}, [a], [w])[1][0])(x, w)",
        lambda m, x, w, inside, closed: 5 * w * x,  # noqa: ARG005
        *_XW,
        parameters={"inside": ("(", "mx.compile(", "mx.checkpoint("), "closed": (")",)},
    ),
    by_text(
        "mx.custom_function.vjp[in a mapped function]",
        "mx.vjp(mx.vmap(mx.custom_function(lambda x: x * x).vjp(lambda x, w, y: 5 * w * x)), [x], [w])[1][0]",
        lambda m, x, w: 5 * w * x,  # noqa: ARG005
        *_XW,
        shapes=(((2, 3), (2, 3)), ((3,), (3,))),
    ),
    by_text(
        "mx.custom_function.vjp[mapped]",
        "mx.vmap(lambda a, b: mx.vjp(mx.custom_function(lambda x: x * x).vjp(lambda x, w, y: 5 * w * x.sum()), [a], "
        "[b])[1][0], in_axes=(1, 0))(x, w)",
        lambda m, x, w: 5 * w * m.sum(x, 0)[:, None],
        *_XW,
        shapes=(((2, 3), (3, 2)),),
    ),
    by_text(
        "mx.custom_function.vjp[of which a tangent is asked]",
        "mx.jvp(mx.custom_function(lambda x: x * x).vjp(lambda x, w, y: 5 * w), [x], [w])[1][0]",
        lambda m, x, w: 2 * w * x,  # noqa: ARG005
        *_XW,
        note="MLX's documentation says that what has no rule is differentiated as usual.",
    ),
)
