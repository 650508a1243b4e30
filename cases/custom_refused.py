"""Rules of one's own that break their contract: they return too few, too many or the wrong kind of derivatives.

Such a rule stands for no derivative. MLX must refuse it; a number that nobody's rule gave is a fault, and it is
compared with the function's own derivative.
"""

import mlx.core as mx
import numpy as np

from cases.by_text import refusing

_F = "mx.custom_function(lambda x: x * x)"
_G = "mx.custom_function(lambda x, y: x * y)"
_TREE = "mx.custom_function(lambda t: t['p'] * t['q'])"
_PAIR = "mx.custom_function(lambda x: [x, x * x])"

OPERATIONS = (
    refusing(
        "mx.custom_function.vjp[that gives too few]",
        f"mx.vjp({_G}.vjp(lambda primals, w, z: (5 * w,)), [x, y], [w])[1][1]",
        lambda x, y, w: w * x,  # noqa: ARG005
        lambda m, x, y, w: w * x + 0 * y,  # noqa: ARG005
        *("x", "y", "w"),
    ),
    refusing(
        "mx.custom_function.vjp[that gives one array for two]",
        f"mx.vjp({_G}.vjp(lambda primals, w, z: 5 * w), [x, y], [w])[1][1]",
        lambda x, y, w: w * x,  # noqa: ARG005
        lambda m, x, y, w: w * x + 0 * y,  # noqa: ARG005
        *("x", "y", "w"),
    ),
    refusing(
        "mx.custom_function.vjp[that gives too many]",
        f"mx.vjp({_F}.vjp(lambda x, w, z: (5 * w, 7 * w)), [x], [w])[1][0]",
        lambda x, w: 2 * w * x,
        lambda m, x, w: 2 * w * x,  # noqa: ARG005
        *("x", "w"),
    ),
    refusing(
        "mx.custom_function.vjp[that leaves out a key]",
        f"mx.vjp(lambda a, b: {_TREE.replace('{', '{{')}.vjp(lambda t, w, z: {{{{'p': 5 * w}}}})"
        "({{'p': a, 'q': b}}), [x, y], [w])[1][1]",
        lambda x, y, w: w * x,  # noqa: ARG005
        lambda m, x, y, w: w * x + 0 * y,  # noqa: ARG005
        *("x", "y", "w"),
    ),
    refusing(
        "mx.custom_function.vjp[that gives None]",
        f"mx.vjp({_F}.vjp(lambda x, w, z: None), [x], [w])[1][0]",
        lambda x, w: 0 * w * x,
        lambda m, x, w: 0 * w * x,  # noqa: ARG005
        *("x", "w"),
    ),
    refusing(
        "mx.custom_function.vjp[that gives a Python number]",
        f"mx.vjp({_F}.vjp(lambda x, w, z: 5.0), [x], [w])[1][0]",
        lambda x, w: 0 * w * x + 5,
        lambda m, x, w: 0 * w * x + 5,  # noqa: ARG005
        *("x", "w"),
    ),
    refusing(
        "mx.custom_function.vjp[that gives another shape]",
        f"mx.vjp({_F}.vjp(lambda x, w, z: (5 * w).sum()), [x], [w])[1][0]",
        lambda x, w: 2 * w * x,
        lambda m, x, w: 2 * w * x,  # noqa: ARG005
        *("x", "w"),
    ),
    refusing(
        "mx.custom_function.vjp[that gives another order]",
        "mx.vjp(mx.custom_function(lambda x, y: x * y.sum()).vjp(lambda primals, w, z: (mx.stack([w, w]), 5 * w)), "
        "[x, mx.stack([w, y])], [w])[1][0]",
        lambda x, y, w: w * (w + y).sum(),  # noqa: ARG005
        lambda m, x, y, w: w * m.sum(w + y) + 0 * x,
        *("x", "y", "w"),
    ),
    refusing(
        "mx.custom_function.vjp[that gives another format]",
        f"mx.vjp({_F}.vjp(lambda x, w, z: (2 * w * x).astype(mx.float16)), [x], [w])[1][0]",
        lambda x, w: 2 * w * x,
        lambda m, x, w: 2 * w * x,  # noqa: ARG005
        *("x", "w"),
    ),
    refusing(
        "mx.custom_function.vjp[by an array given by keyword]",
        "mx.vjp(lambda b: mx.custom_function(lambda x, k: x * k).vjp(lambda x, w, z, k: 5 * w)(x, k=b), [y], [w])"
        "[1][0]",
        lambda x, y, w: 0 * w * x * y,
        lambda m, x, y, w: 0 * w * x * y,  # noqa: ARG005
        *("x", "y", "w"),
    ),
    refusing(
        "mx.custom_function.jvp[that gives too few]",
        f"mx.jvp({_PAIR}.jvp(lambda x, u: [5 * u]), [x], [u])[1][1]",
        lambda x, u: 2 * u * x,
        lambda m, x, u: 2 * u * x,  # noqa: ARG005
        *("x", "u"),
    ),
    refusing(
        "mx.custom_function.jvp[that gives too many]",
        f"mx.jvp({_F}.jvp(lambda x, u: [5 * u, 7 * u]), [x], [u])[1][0]",
        lambda x, u: 2 * u * x,
        lambda m, x, u: 2 * u * x,  # noqa: ARG005
        *("x", "u"),
    ),
    refusing(
        "mx.custom_function.jvp[that gives None]",
        f"mx.jvp({_F}.jvp(lambda x, u: None), [x], [u])[1][0]",
        lambda x, u: 0 * u * x,
        lambda m, x, u: 0 * u * x,  # noqa: ARG005
        *("x", "u"),
    ),
    refusing(
        "mx.custom_function.jvp[that gives a Python number]",
        f"mx.jvp({_F}.jvp(lambda x, u: 5.0), [x], [u])[1][0]",
        lambda x, u: 0 * u * x + 5,
        lambda m, x, u: 0 * u * x + 5,  # noqa: ARG005
        *("x", "u"),
    ),
    refusing(
        "mx.custom_function.jvp[that gives another shape]",
        f"mx.jvp({_F}.jvp(lambda x, u: (5 * u).sum()), [x], [u])[1][0]",
        lambda x, u: 2 * u * x,
        lambda m, x, u: 2 * u * x,  # noqa: ARG005
        *("x", "u"),
    ),
    refusing(
        "mx.custom_function.jvp[that gives another format]",
        f"mx.jvp({_F}.jvp(lambda x, u: (2 * u * x).astype(mx.float16)), [x], [u])[1][0]",
        lambda x, u: 2 * u * x,
        lambda m, x, u: 2 * u * x,  # noqa: ARG005
        *("x", "u"),
    ),
    refusing(
        "mx.custom_function.vmap[that gives no axis]",
        f"mx.vmap({_F}.vmap(lambda x, axis: 5 * x))(mx.stack([x, 3 * x]))[0]",
        lambda x: x * x,
        lambda m, x: x * x,  # noqa: ARG005
        "x",
    ),
    refusing(
        "mx.custom_function.vmap[that gives too few]",
        f"mx.vmap({_PAIR}.vmap(lambda x, axis: ([5 * x], [axis])))(mx.stack([x, 3 * x]))[1][0]",
        lambda x: x * x,
        lambda m, x: x * x,  # noqa: ARG005
        "x",
    ),
    refusing(
        "mx.custom_function.vmap[that leaves out a row]",
        f"mx.vmap({_F}.vmap(lambda x, axis: (x[:1] * x[:1], axis)))(mx.stack([x, 3 * x]))",
        lambda x: mx.stack([x * x, 9 * x * x]),
        lambda m, x: np.stack([x * x, 9 * x * x]),  # noqa: ARG005
        "x",
    ),
)
