"""Several optimisers, of which each updates the parameters that a filter gives it, the last one what is left."""

from typing import Any

from audit.operation import REAL_FORMATS
from cases.by_text import by_text
from cases.updates import SCALED, UPDATE

# Filters -> the learning rates of p and q.
_FILTERS: dict[str, tuple[float, float]] = {
    "[lambda path, array: path.startswith('p'), lambda path, array: True]": (0.125, 0.5),
    "[lambda path, array: 'q' in path, lambda path, array: False]": (2.0, 0.125),
    "[lambda path, array: False, lambda path, array: array.shape == (2,)]": (2.0, 0.5),
}


def _updated(m: Any, p: Any, q: Any, g: Any, h: Any, filters: str) -> Any:
    first, second = _FILTERS[filters]
    return p - first * g + 5 * m.sum(q - second * h)


OPERATIONS = (
    by_text(
        "optim.MultiOptimizer",
        "(lambda new: new['p'] + 5 * new['r']['q'][0].sum())(optim.MultiOptimizer([optim.SGD(0.125), optim.SGD(0.5), "
        "optim.SGD(2.0)], {filters}).apply_gradients({{'p': g, 'r': {{'q': [h]}}}}, {{'p': p, 'r': {{'q': [q]}}}}))",
        _updated,
        *("p", "q", "g", "h"),
        shapes=(((3,), (2,), (3,), (2,)),),
        parameters={"filters": tuple(_FILTERS)},
        values={"p": SCALED, "q": SCALED, "g": SCALED, "h": SCALED},
        tolerance=UPDATE,
        formats=REAL_FORMATS,
        mapped=False,
    ),
)
