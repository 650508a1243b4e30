"""Functions that are wrong on purpose, one for each class of defect, with the rows that a run would have of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mlx.core as mx
import numpy as np
import pyarrow as pa

from audit.case import Batch, Function, Implementation, Mode, Tolerance
from audit.comparison import Question, compare
from audit.defects.find import Findings, find_defects
from audit.defects.subjects import of_batches
from audit.difference import Differences
from audit.formats import BFLOAT16, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, Floats, Format
from audit.identity import Origin
from audit.reference import References

STOCK = Implementation("mlx", "as installed", lambda: mx)
REFERENCES = References(opinions=0)
ORIGIN = Origin("families", "1", "planted")

SOME = np.array([1.0, 0.5, 2.0, 3.0, -1.5, 0.75, 1.25, -4.0])
ROWS = np.array([[1.0, 2.0, 3.0], [0.5, 0.25, 4.0], [1.5, -1.0, 2.0]])


def function(
    name: str,
    call: Callable[..., Any],
    body: Callable[..., Any],
    arguments: tuple[str, ...] = ("x",),
    *,
    elementwise: bool = True,
    text: str = "",
) -> Function:
    """A function that MLX computes by `call` and that ought to be `body`."""
    text = text or f"{name.partition('(')[0]}({', '.join(arguments)})"
    return Function(name, arguments, body, text, elementwise=elementwise, call=call)


def asked(
    f: Function,
    formats: Sequence[Format],
    primals: Sequence[Any],
    *,
    rules: Sequence[str] = ("forward", "vjp", "jvp"),
    weight: Any = None,
    tolerance: Tolerance | None = None,
    **options: Any,
) -> Iterator[Batch]:
    """Value, vjp and jvp at some points; each argument alone and all together."""
    everything = tuple(range(len(primals)))
    for fmt in formats:
        numbers: list[Any] = [
            p.astype(np.complex128) if fmt.parts == 2 else fmt.round(p) for p in map(np.asarray, primals)
        ]
        w = np.ones_like(numbers[0]) if weight is None else np.asarray(weight, numbers[0].dtype)
        batch = Batch("planted", f, fmt, Mode("forward", ()), tuple(numbers), (), tolerance or Tolerance(), **options)
        alone = [(i,) for i in everything] if len(everything) > 1 else []
        for rule in rules:
            if rule == "forward":
                yield batch
                continue
            for traced in (everything, *alone):
                weights = (w,) if rule == "vjp" else tuple(np.ones_like(numbers[i]) for i in traced)
                yield replace(batch, mode=Mode(rule, traced), weights=weights)  # type: ignore[arg-type]


def powers(fmt: Format, *mantissas: float) -> Floats:
    """Numbers over the whole exponent range of a format."""
    exponents = np.arange(fmt.emin, fmt.emax)
    return np.concatenate([np.ldexp(m, exponents) for m in mantissas or (1.0, 1.25, -1.5)])


def over_the_range(f: Function, formats: Sequence[Format] = (FLOAT32, FLOAT16)) -> list[Batch]:
    """A function of one number, asked at every exponent."""
    return [batch for fmt in formats for batch in asked(f, [fmt], [powers(fmt)])]


def rows_of(batches: Sequence[Batch], *implementations: Implementation) -> pa.Table:
    """The rows of a run."""
    differences = Differences(REFERENCES)
    tables = []
    for batch in batches:
        question = Question(batch, ORIGIN, REFERENCES.enclose(batch), differences.of(batch))
        tables += [compare(question, made, REFERENCES) for made in implementations or (STOCK,)]
    assert REFERENCES.disagreements == []
    return pa.concat_tables(tables).unify_dictionaries()


def found_in(
    batches: Sequence[Batch], *others: Implementation, implementation: Implementation = STOCK, **options: Any
) -> Findings:
    """The defects that a run of these batches has."""
    table = rows_of(batches, implementation, *others)
    subjects = of_batches(ORIGIN.case, batches)
    return find_defects(lambda _: iter([table]), implementation, subjects, REFERENCES, **options)


def ruled(forward: Callable[..., Any], vjp: Callable[..., Any]) -> Callable[..., Any]:
    """A function with a derivative of its own, fresh for every call."""

    def call(*arguments: mx.array) -> Any:
        made = mx.custom_function(forward)
        made.vjp(vjp)
        return made(*arguments)

    return call


def _poisoned(primals: Any, cotangent: mx.array, _: Any) -> mx.array:
    x = primals[0] if isinstance(primals, (list, tuple)) else primals
    return 2 * cotangent * (x / x)


def _product(m: Any, x: Any, y: Any) -> Any:
    return m.multiply(x, y)


def _ramp(m: Any, x: Any) -> Any:
    return m.maximum(x, 0)


@dataclass(frozen=True)
class Example:
    """A planted fault.

    Args:
        batches: what is asked.
        ids: of the defects that it must come to, and no others.
        missing: ids of the missing rules.
    """

    batches: Callable[[], Sequence[Batch]]
    ids: tuple[str, ...]
    missing: tuple[str, ...] = ()


def _conjugate() -> list[Batch]:
    f = function("mx.cubed", lambda x: mx.conj(x) * x * x, lambda m, x: m.multiply(m.multiply(x, x), x))
    z = SOME + 1j * SOME[::-1]
    return [*asked(f, [FLOAT32], [SOME]), *asked(f, [COMPLEX64], [z], rules=("forward", "vjp"))]


def _parameter() -> list[Batch]:
    plain = function("mx.scaled", lambda x: x * 1.0, lambda m, x: m.multiply(x, 1))
    scaled = function("mx.scaled(scale=2)", lambda x: x * 1.0, lambda m, x: m.multiply(x, 2))
    return [batch for f in (plain, scaled) for batch in asked(f, [FLOAT32], [SOME])]


def _accumulated(*formats: Format) -> list[Batch]:
    # 3000 ones, added one after another in the format: 2048 in float16, 256 in bfloat16.
    f = function("mx.added", lambda x: mx.cumsum(x)[-1], lambda m, x: m.sum(x), elementwise=False)
    numbers = np.ones((1, 3000))
    return list(asked(f, formats, [numbers], rules=("forward",), tolerance=Tolerance(terms=4)))


def _single_for_double() -> list[Batch]:
    third = 1.0 / 3.0
    f = function(
        "mx.third",
        lambda x: (x.astype(mx.float32) * third).astype(x.dtype) if x.dtype == mx.float64 else x * third,
        lambda m, x: m.divide(x, 3),
    )
    return list(asked(f, [FLOAT32, FLOAT64], [SOME], rules=("forward",)))


def _single_sums_for_double() -> list[Batch]:
    # Terms cancel: the errors of float32 are of any size, up to a wrong sign.
    f = function(
        "mx.difference",
        lambda x, y: (x.astype(mx.float32) - y.astype(mx.float32)).astype(x.dtype),
        lambda m, x, y: m.subtract(x, y),
        ("x", "y"),
    )
    numbers = SOME[:, None] * np.array([1.0, 1.0 + 2.0**-12, 3.0])
    x, y = numbers.reshape(-1), np.repeat(SOME, 3)
    return list(asked(f, [FLOAT32, FLOAT64], [x * (1 + 2.0**-30), y], rules=("forward",)))


def _lost() -> list[Batch]:
    f = function("mx.lost", ruled(lambda x: 2 * x, lambda _, g, __: g + mx.nan), lambda m, x: m.multiply(x, 2))
    return list(asked(f, [FLOAT32, FLOAT16], [SOME], rules=("forward", "vjp")))


EXAMPLES = {
    "range": Example(
        lambda: over_the_range(function("mx.reciprocal", mx.reciprocal, lambda m, x: m.reciprocal(x))),
        ("mx.reciprocal-vjp-jvp-x-range",),
    ),
    "cancellation": Example(
        lambda: [
            batch
            for fmt, low in ((FLOAT32, -24), (FLOAT16, -11))
            for batch in asked(
                function("mx.less_one", lambda x: mx.exp(x) - 1, lambda m, x: m.expm1(x)),
                [fmt],
                [np.concatenate([m * 2.0 ** np.arange(low, 2) for m in (1.0, 1.25, -1.5)])],
            )
        ],
        ("mx.less_one-forward-cancellation",),
    ),
    "poison": Example(
        lambda: list(
            asked(
                function("mx.twice", ruled(lambda x: 2 * x, _poisoned), lambda m, x: m.multiply(x, 2)),
                [FLOAT32, FLOAT16],
                [np.append(SOME, 0.0)],
                rules=("forward", "vjp"),
            )
        ),
        ("mx.twice-vjp-x-poison",),
    ),
    "shape": Example(
        lambda: list(
            asked(
                function("mx.total", lambda x: mx.sum(x, keepdims=True), lambda m, x: m.sum(x), elementwise=False),
                [FLOAT32],
                [ROWS],
                weight=np.ones(3),
            )
        ),
        ("mx.total-forward-vjp-jvp-shape",),
    ),
    "dropped argument": Example(
        lambda: list(
            asked(
                function(
                    "mx.times", lambda x, y: mx.stop_gradient(x) * y, lambda m, x, y: m.multiply(x, y), ("x", "y")
                ),
                [FLOAT32, FLOAT16],
                [SOME, SOME[::-1]],
            )
        ),
        ("mx.times-vjp-jvp-x-dropped-parameter",),
    ),
    "dropped where it is not zero": Example(
        # The slope is zero at half of the points, where zeros are right.
        lambda: list(
            asked(
                function("mx.ramp", ruled(lambda x: mx.maximum(x, 0), lambda x, *_: mx.zeros_like(x)), _ramp),
                [FLOAT32],
                [SOME * np.tile([1.0, -1.0], 4)],
                rules=("forward", "vjp"),
            )
        ),
        ("mx.ramp-vjp-x-dropped-parameter",),
    ),
    "dropped parameter": Example(_parameter, ("mx.scaled-forward-vjp-jvp-dropped-parameter",)),
    "conjugate": Example(_conjugate, ("mx.cubed-forward-vjp-conjugate",)),
    "precision of half": Example(lambda: _accumulated(FLOAT16, BFLOAT16, FLOAT32), ("mx.added-forward-precision",)),
    "precision of half alone": Example(lambda: _accumulated(FLOAT16, BFLOAT16), ("mx.added-forward-precision",)),
    "precision of double": Example(_single_for_double, ("mx.third-forward-precision",)),
    "precision of double where terms cancel": Example(_single_sums_for_double, ("mx.difference-forward-precision",)),
    "NaN at ordinary points": Example(_lost, ("mx.lost-vjp-x-poison",)),
    "value": Example(
        lambda: list(
            asked(
                function("mx.squared", ruled(lambda x: x * x, lambda x, g, _: 3 * g * x), lambda m, x: m.square(x)),
                [FLOAT32, FLOAT16],
                [SOME],
                rules=("forward", "vjp"),
            )
        ),
        ("mx.squared-vjp-x-value",),
    ),
    "raises": Example(
        lambda: list(
            asked(
                function("mx.folded", lambda x: mx.reshape(x, (7,)), lambda _, x: x, elementwise=False),
                [FLOAT32],
                [ROWS],
            )
        ),
        ("mx.folded-forward-vjp-jvp-shape",),
    ),
    "missing": Example(
        lambda: list(
            asked(
                function("mx.cumprod", mx.cumprod, lambda m, x: m.cumprod(x), elementwise=False),
                [FLOAT32, FLOAT16],
                [ROWS],
                tolerance=Tolerance(terms=4),
            )
        ),
        (),
        ("mx.cumprod-jvp-missing",),
    ),
    "nothing": Example(
        lambda: [
            *over_the_range(function("mx.negative", mx.negative, lambda m, x: m.negative(x))),
            *asked(
                function("mx.multiply", mx.multiply, lambda m, x, y: m.multiply(x, y), ("x", "y")),
                [FLOAT32],
                [SOME, SOME],
            ),
        ],
        (),
    ),
}
