"""Functions with a rule of one's own for being mapped: it is used exactly.

The rules do not give the functions' own values, so that it shows which of the two was used.
"""

from audit.operation import REAL_FORMATS
from cases.by_text import by_text

_ROWS = (((2, 3),), ((1, 2),))
_TWO = (((2, 3), (2, 3)),)

OPERATIONS = (
    by_text(
        "mx.custom_function.vmap",
        "mx.vmap(mx.custom_function(lambda x: x * x).vmap({f}))(x)",
        lambda m, x, f: 5 * x if "5" in f else x * x * x,  # noqa: ARG005
        "x",
        shapes=_ROWS,
        parameters={"f": ("lambda x, axis: (5 * x, axis)", "lambda x, axis: (x.T * x.T * x.T, 1)")},
        formats=(*REAL_FORMATS, "complex64"),
        orders=2,
    ),
    by_text(
        "mx.custom_function.vmap[over another axis]",
        # A row is multiplied by its number of elements: what the axis says must be right.
        "mx.vmap(mx.custom_function(lambda x: x * x).vmap(lambda x, axis: (x * x.shape[1 - axis], axis)), "
        "in_axes={in_axes}, out_axes={out_axes})(x)",
        lambda m, x, in_axes, out_axes: x.shape[0] * (x.T if out_axes == 0 else x),  # noqa: ARG005
        "x",
        shapes=(((2, 3),),),
        parameters={"in_axes": (1, -1), "out_axes": (0, 1, -1)},
        orders=1,
    ),
    by_text(
        "mx.custom_function.vmap[of two arguments]",
        "mx.vmap(mx.custom_function(lambda x, y: x * y).vmap(lambda p, axes: (5 * p[0] * mx.moveaxis(p[1], axes[1], "
        "axes[0]), axes[0])), in_axes=(0, 1))(x, y)",
        lambda m, x, y: 5 * x * y.T,  # noqa: ARG005
        "x",
        "y",
        shapes=(((2, 3), (3, 2)),),
    ),
    by_text(
        "mx.custom_function.vmap[of one of two arguments]",
        "mx.vmap(mx.custom_function(lambda x, y: x * y).vmap(lambda p, axes: (p[0] * p[1] * sum(k for k, a in zip("
        "(5, 7), axes) if a is None), 0)), in_axes={in_axes}){arrays}",
        lambda m, x, y, in_axes, arrays: x * y * (7 if in_axes == "(0, None)" else 5),  # noqa: ARG005
        "x",
        "y",
        shapes=(((2, 3), (3,)),),
        parameters={"in_axes": ("(0, None)", "(None, 0)"), "arrays": ("(x, y)", "(y, x)")},
        valid=lambda shapes, parameters: (  # noqa: ARG005
            (parameters["in_axes"] == "(0, None)") == (parameters["arrays"] == "(x, y)")
        ),
    ),
    by_text(
        "mx.custom_function.vmap[of a tree]",
        "mx.vmap(mx.custom_function(lambda t: t['p'] * t['q']).vmap(lambda t, axes: (5 * t['p'] * t['q'] * (axes['p'] "
        "+ 1), axes['p'])))({{'p': x, 'q': y}})",
        lambda m, x, y: 5 * x * y,  # noqa: ARG005
        "x",
        "y",
        shapes=_TWO,
    ),
    by_text(
        "mx.custom_function.vmap[of a tree of which a part is not mapped]",
        "mx.vmap(mx.custom_function(lambda t: t['p'] * t['q']).vmap(lambda t, axes: (5 * t['p'] * t['q'], axes['p'])), "
        "in_axes={{'p': 0, 'q': None}})({{'p': x, 'q': y}})",
        lambda m, x, y: 5 * x * y,  # noqa: ARG005
        "x",
        "y",
        shapes=(((2, 3), (3,)),),
    ),
    by_text(
        "mx.custom_function.vmap[of several results]",
        "(lambda a, b: a - 2 * b)(*mx.vmap(mx.custom_function(lambda x: [x * x, x]).vmap(lambda x, axis: "
        "([5 * x, 7 * x.T], [axis, 1])))(x))",
        lambda m, x: 5 * x - 14 * x,  # noqa: ARG005
        "x",
        shapes=_ROWS,
    ),
    by_text(
        "mx.custom_function.vmap[of a result that no row changes]",
        # As without a rule: every row has the result.
        "mx.vmap(mx.custom_function(lambda x: y * y).vmap(lambda x, axis: (y * y, None)))(x)",
        lambda m, x, y: y * y + 0 * x,  # noqa: ARG005
        "x",
        "y",
        shapes=(((2, 3), (3,)),),
    ),
    by_text(
        "mx.custom_function.vmap[mapped twice]",
        "mx.vmap(mx.vmap(mx.custom_function(lambda x: x * x).vmap(lambda x, axis: (5 * x, axis)), in_axes=1))(x)",
        lambda m, x: 5 * x.transpose(0, 2, 1),  # noqa: ARG005
        "x",
        shapes=(((2, 3, 2),),),
    ),
    by_text(
        "mx.custom_function.vmap[of which a value is asked]",
        "mx.custom_function(lambda x: x * x).vmap(lambda x, axis: (5 * x, axis))(x)",
        lambda m, x: x * x,  # noqa: ARG005
        "x",
        shapes=_ROWS,
        mapped=False,
    ),
    by_text(
        "mx.custom_function.vmap[in a gradient]",
        "mx.grad(lambda a: (a * mx.vmap(mx.custom_function(lambda x: x * x).vmap(lambda x, axis: (x * x, axis)))(a))"
        ".sum())(x)",
        lambda m, x: 3 * x * x,  # noqa: ARG005
        "x",
        shapes=_ROWS,
    ),
    by_text(
        "mx.custom_function.vmap[in a compiled function]",
        "mx.compile(mx.vmap(mx.custom_function(lambda x: x * x).vmap(lambda x, axis: (5 * x, axis)), in_axes=1))(x)",
        lambda m, x: 5 * x.T,  # noqa: ARG005
        "x",
        shapes=_ROWS,
    ),
)
