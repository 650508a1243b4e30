"""Functions with a tangent rule of one's own: it is used exactly, and only for tangents.

The rules are not the derivatives of the functions, so that it shows which of the two was used. ``u`` and ``v`` are
tangents.
"""

from audit.operation import REAL_FORMATS
from cases.by_text import by_text

_XU = ("x", "u")
_XYU = ("x", "y", "u")

# Text of a rule for x and its tangent u -> what it gives.
_RULES = {
    "lambda x, u: 5 * u * x": lambda x, u: 5 * u * x,
    "lambda x, u: u - x": lambda x, u: u - x,
    "lambda x, u: mx.jvp(lambda a: a * a * a, [x], [u])[1][0]": lambda x, u: 3 * x * x * u,
}

OPERATIONS = (
    by_text(
        "mx.custom_function.jvp",
        "mx.jvp(mx.custom_function(lambda x: x * x).jvp({f}), [x], [u])[1][0]",
        lambda m, x, u, f: _RULES[f](x, u),  # noqa: ARG005
        *_XU,
        parameters={"f": tuple(_RULES)},
        formats=(*REAL_FORMATS, "complex64"),
        orders=2,
    ),
    by_text(
        "mx.custom_function.jvp[the value]",
        "mx.jvp(mx.custom_function(lambda x: x * x).jvp(lambda x, u: 5 * u), [x], [u])[0][0]",
        lambda m, x, u: x * x + 0 * u,  # noqa: ARG005
        *_XU,
    ),
    by_text(
        "mx.custom_function.jvp[of two arguments]",
        "mx.jvp(mx.custom_function(lambda x, y: x * y).jvp(lambda primals, tangents: 5 * tangents[0] * primals[1] + "
        "7 * tangents[1]), [x, y], [u, v])[1][0]",
        lambda m, x, y, u, v: 5 * u * y + 7 * v + 0 * x,  # noqa: ARG005
        *_XYU,
        "v",
    ),
    by_text(
        "mx.custom_function.jvp[of one of two arguments]",
        # What has no tangent is None.
        "mx.jvp(lambda a: mx.custom_function(lambda x, y: x * y).jvp(lambda primals, tangents: sum(k * t * p for k, t, "
        "p in zip((5, 7), tangents, primals) if t is not None)){order}, [x], [u])[1][0]",
        lambda m, x, y, u, order: (5 if order == "(a, y)" else 7) * u * x + 0 * y,  # noqa: ARG005
        *_XYU,
        parameters={"order": ("(a, y)", "(y, a)")},
    ),
    by_text(
        "mx.custom_function.jvp[of the same array twice]",
        "mx.jvp(lambda a: mx.custom_function(lambda x, y: x * y).jvp(lambda primals, tangents: 5 * tangents[0] + "
        "7 * tangents[1] * primals[0])(a, a), [x], [u])[1][0]",
        lambda m, x, u: 5 * u + 7 * u * x,  # noqa: ARG005
        *_XU,
    ),
    by_text(
        "mx.custom_function.jvp[of a tree]",
        "mx.jvp(lambda a, b: mx.custom_function(lambda t: t['p'] * t['q'][0]).jvp(lambda t, d: 5 * d['p'] + "
        "7 * d['q'][0] * t['p'])({{'p': a, 'q': [b]}}), [x, y], [u, v])[1][0]",
        lambda m, x, y, u, v: 5 * u + 7 * v * x + 0 * y,  # noqa: ARG005
        *_XYU,
        "v",
    ),
    by_text(
        "mx.custom_function.jvp[of several results]",
        "(lambda a, b: a - 2 * b)(*mx.jvp(mx.custom_function(lambda x: [x * x, x]).jvp(lambda x, u: {returned}), [x], "
        "[u])[1])",
        lambda m, x, u, returned: 5 * u - 14 * u * x,  # noqa: ARG005
        *_XU,
        parameters={"returned": ("[5 * u, 7 * u * x]", "(5 * u, 7 * u * x)")},
    ),
    by_text(
        "mx.custom_function.jvp[of results with keys]",
        "(lambda a, b: a - 2 * b)(*mx.jvp(lambda a: (lambda r: [r['p'], r['q']])(mx.custom_function(lambda x: "
        "{{'p': x * x, 'q': x}}).jvp(lambda x, u: {returned})(a)), [x], [u])[1])",
        lambda m, x, u, returned: 5 * u - 14 * u * x,  # noqa: ARG005
        *_XU,
        # A dictionary is known by its keys, in whatever order they come.
        parameters={"returned": ("{'p': 5 * u, 'q': 7 * u * x}", "{'q': 7 * u * x, 'p': 5 * u}")},
    ),
    by_text(
        "mx.custom_function.jvp[of a result that is an argument]",
        "mx.jvp(lambda a: mx.custom_function(lambda x: x).jvp(lambda x, u: 5 * u * x)(a) + a, [x], [u])[1][0]",
        lambda m, x, u: 5 * u * x + u,  # noqa: ARG005
        *_XU,
    ),
    by_text(
        "mx.custom_function.jvp[by an array that is captured]",
        "mx.jvp(lambda b: mx.custom_function(lambda x: x * b).jvp(lambda x, u: 5 * u)(x), [y], [u])[1][0]",
        lambda m, x, y, u: 0 * x * y * u,  # noqa: ARG005
        *_XYU,
        note="MLX's documentation says that captured arrays are constants where a rule is given.",
    ),
    by_text(
        "mx.custom_function.jvp[beside a rule for cotangents]",
        "(lambda f: mx.jvp(f, [x], [u])[1][0] - 2 * mx.vjp(f, [x], [u])[1][0])(mx.custom_function(lambda x: x * x).jvp("
        "lambda x, u: 5 * u * x).vjp(lambda x, w, y: 7 * w))",
        lambda m, x, u: 5 * u * x - 14 * u,  # noqa: ARG005
        *_XU,
    ),
    by_text(
        "mx.custom_function.jvp[in a gradient]",
        "mx.grad(lambda a: mx.jvp(mx.custom_function(lambda x: x * x).jvp(lambda x, u: 5 * u * x * x), [a], [u])[1][0]"
        ".sum())(x)",
        lambda m, x, u: 10 * u * x,  # noqa: ARG005
        *_XU,
    ),
    by_text(
        "mx.custom_function.jvp[in a compiled function]",
        "mx.compile(lambda a, b: mx.jvp(mx.custom_function(lambda x: x * x).jvp(lambda x, u: 5 * u * x), [a], [b])[1]"
        "[0])(x, u)",
        lambda m, x, u: 5 * u * x,  # noqa: ARG005
        *_XU,
    ),
    by_text(
        "mx.custom_function.jvp[in a mapped function]",
        "mx.jvp(mx.vmap(mx.custom_function(lambda x: x * x).jvp(lambda x, u: 5 * u * x)), [x], [u])[1][0]",
        lambda m, x, u: 5 * u * x,  # noqa: ARG005
        *_XU,
        shapes=(((2, 3), (2, 3)), ((3,), (3,))),
    ),
    by_text(
        "mx.custom_function.jvp[mapped]",
        "mx.vmap(lambda a, b: mx.jvp(mx.custom_function(lambda x: x * x).jvp(lambda x, u: 5 * u * x.sum()), [a], [b])"
        "[1][0], in_axes=(1, 0))(x, u)",
        lambda m, x, u: 5 * u * m.sum(x, 0)[:, None],
        *_XU,
        shapes=(((2, 3), (3, 2)),),
    ),
    by_text(
        "mx.custom_function.jvp[of which a cotangent is asked]",
        "mx.vjp(mx.custom_function(lambda x: x * x).jvp(lambda x, u: 5 * u), [x], [u])[1][0]",
        lambda m, x, u: 2 * u * x,  # noqa: ARG005
        *_XU,
        note="MLX's documentation says that what has no rule is differentiated as usual.",
    ),
)
