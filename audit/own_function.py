"""`audit.check`: the audit of a function of one's own, over its scale families."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mlx.core as mx
import numpy as np
import pyarrow as pa

from audit.case import Batch, Function, Implementation, Mode, Tolerance
from audit.comparison import MISMATCH_CODES, Question, compare
from audit.difference import Differences
from audit.errors import AuditError
from audit.families import power
from audit.formats import Floats, Format, lookup
from audit.identity import Origin
from audit.reference import References
from audit.report.show import show
from audit.verdict import VERDICTS

_ORIGIN = Origin("check", "1", "check")

TOLERANCE = Tolerance(terms=8, reason="a composition rounds its terms, and what is left where they cancel shows that")

# Exponents tried for an array-valued argument, which MLX sees one point at a time.
ARRAY_EXPONENTS = 17


def check(
    f: Callable[..., Any],
    primals: Sequence[Any],
    *,
    reference: Callable[..., Any] | None = None,
    formats: Sequence[str] = ("float32",),
    tolerance: Tolerance | None = None,
    orders: int = 1,
    raises: bool = True,
) -> pa.Table:
    """Audit the derivatives of a function of MLX arrays over its scale families.

    Every primal is multiplied by powers of two over the whole exponent range of each format: all of them together, each
    alone, and the first against the others; cotangents and tangents are scaled likewise. At every point the forward
    value, the vjp and the jvp (and, for ``orders=2``, the second derivative) are compared with certified values.

    Args:
        f: takes as many arrays as there are primals and returns one array.
        primals: example inputs, numbers or arrays. Numbers mean that f is elementwise: it is then called with arrays of
            thousands of points.
        reference: the same function in generic arithmetic, called as ``reference(m, *primals)``, e.g.
            ``lambda m, x: m.exp(x) / x``. Not needed where f uses nothing but operators.
        formats: names of the formats.
        tolerance: how far a derivative may be off; by default 16 ulp, and where terms cancel 8 roundings of their sum.
        orders: 1, or 2 for second derivatives of elementwise functions as well.
        raises: False returns the rows instead of raising.

    Returns:
        One row a comparison, with the columns of `audit.rows.SCHEMA`.

    Raises:
        AssertionError: a derivative is wrong; the text is that of ``gradaudit show`` for the simplest such row.
        AuditError: the reference cannot be evaluated, or a primal is not a number of the format.
    """
    if not isinstance(primals, (list, tuple)):
        raise AuditError(f"check: primals is {primals!r}: write a list with one example for each argument of f.")
    arrays = [_numbers(primal, place) for place, primal in enumerate(primals)]
    if not arrays:
        raise AuditError("check: no primals were given: pass one example number or array for each argument of f.")
    if orders not in (1, 2):
        raise AuditError(f"check: orders is {orders!r}: write 1 or 2.")
    if isinstance(formats, str) or not formats:
        raise AuditError(f"check: formats is {formats!r}: write a list of one name or more, e.g. ['float32'].")
    function = _function(f, reference, arrays)
    implementation = Implementation("f", "the function under check", lambda: _MLX)
    references = References()
    differences = Differences(references, _MLX)
    tables = []
    for name in formats:
        for batch in _batches(function, lookup(name), arrays, tolerance or TOLERANCE, orders, references):
            question = Question(batch, _ORIGIN, references.enclose(batch), differences.of(batch))
            tables.append(compare(question, implementation, references))
    rows = pa.concat_tables(tables).unify_dictionaries()
    if references.disagreements or differences.contradictions:
        raise AuditError("check: " + "; ".join([*references.disagreements, *differences.contradictions][:3]))
    wrong = np.flatnonzero(_mismatching(rows))
    if raises and len(wrong):
        raise AssertionError(_told(rows, wrong, function))
    return rows


_MLX = object()


def _function(f: Callable[..., Any], reference: Callable[..., Any] | None, arrays: Sequence[Floats]) -> Function:
    names = _argument_names(f, len(arrays))

    def body(m: Any, *arguments: Any) -> Any:
        if m is _MLX:
            return f(*arguments)
        if reference is not None:
            return reference(m, *arguments)
        try:
            return f(*arguments)
        except (TypeError, ValueError, AttributeError) as error:
            raise AuditError(
                f"check: f cannot be evaluated in exact arithmetic ({error}), so its right value is not known: pass "
                f"reference=lambda m, {', '.join(names)}: ... with the same function written with m.exp, m.sum ..."
            ) from error

    elementwise = all(array.shape == () for array in arrays)
    return Function("f", names, body, _text(f, names), elementwise=elementwise)


def _numbers(primal: Any, place: int) -> Floats:
    if isinstance(primal, mx.array):
        primal = primal.astype(mx.float32) if primal.dtype in (mx.float16, mx.bfloat16) else primal
        primal = np.array(primal)
    array = np.asarray(primal)
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise AuditError(f"check: primal {place} is {primal!r}: pass finite real numbers.")
    return array.astype(np.float64)


def _argument_names(f: Callable[..., Any], count: int) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(f).parameters.values()
        names = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))[:count]
    except (TypeError, ValueError):
        names = ()
    return names if len(names) == count else tuple(f"x{i}" for i in range(count))


def _text(f: Callable[..., Any], names: Sequence[str]) -> str:
    """The body of a lambda or of a function of one return statement, else a call of f by name."""
    name = getattr(f, "__name__", "function")
    call = f"{'function' if name == '<lambda>' else name}({', '.join(names)})"
    try:
        source = textwrap.dedent(inspect.getsource(f)).strip()
    except (OSError, TypeError):
        return call
    # The lines that hold a lambda may start before it and end after it.
    starts = [found.start() for found in re.finditer("lambda", source)] if name == "<lambda>" else [0]
    bodies = {body for start in starts for body in _bodies(source[start:], names)}
    return bodies.pop() if len(bodies) == 1 else call


def _bodies(source: str, names: Sequence[str]) -> Iterator[str]:
    """What functions of these arguments return in the longest beginning of a source that is Python."""
    for end in range(len(source), 0, -1):
        try:
            tree = ast.parse(source[:end].strip())
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Lambda, ast.FunctionDef)) and [a.arg for a in node.args.args] == list(names):
                if isinstance(node, ast.Lambda):
                    yield ast.unparse(node.body)
                elif len(node.body) == 1 and isinstance(node.body[0], ast.Return) and node.body[0].value:
                    yield ast.unparse(node.body[0].value)
        return


def _batches(
    function: Function,
    fmt: Format,
    arrays: Sequence[Floats],
    tolerance: Tolerance,
    orders: int,
    references: References,
) -> Iterator[Batch]:
    everything = tuple(range(len(arrays)))
    asked = [Mode("forward", ()), Mode("vjp", everything), Mode("jvp", everything)]
    asked += [Mode("jvp", (i,)) for i in everything if len(arrays) > 1]
    if orders > 1 and function.elementwise:
        asked += [Mode("hessian-rr", everything), Mode("hessian-fr", everything)]
    for group, primals, weight in _points(function, fmt, arrays):
        for mode in asked:
            weights = _weights(function, fmt, mode, primals, weight, references)
            # Values do not depend on the scale of the weights: they are asked for once.
            yield Batch(group, function, fmt, mode, primals, weights, tolerance).distinct()


def _points(
    function: Function, fmt: Format, arrays: Sequence[Floats]
) -> Iterator[tuple[str, tuple[Floats, ...], Floats]]:
    """Scale families: the group's name, the primals and the scale of the weights, point by point."""
    exponents = np.arange(fmt.esub, fmt.emax + 1)
    if not function.elementwise:
        exponents = np.unique(np.rint(np.linspace(fmt.esub, fmt.emax, ARRAY_EXPONENTS)).astype(int))
    exponents = exponents[np.argsort(np.abs(exponents), kind="stable")]
    count = len(arrays)
    directions = {"common scale": (1,) * count}
    if count > 1:
        directions |= {
            f"scale of {function.arguments[i]}": tuple(int(i == j) for j in range(count)) for i in range(count)
        }
        directions["opposite scale"] = (1, *(-1,) * (count - 1))
    for group, signs in directions.items():
        shifts = np.array(signs)[:, None] * exponents
        yield from _kept(group, fmt, arrays, shifts, np.zeros_like(exponents))
    yield from _kept("scale of the weights", fmt, arrays, np.zeros((count, len(exponents)), int), exponents)


def _kept(
    group: str, fmt: Format, arrays: Sequence[Floats], shifts: Any, weight: Any
) -> Iterator[tuple[str, tuple[Floats, ...], Floats]]:
    primals = []
    keep = np.ones(len(weight), bool)
    with np.errstate(over="ignore", under="ignore"):
        for array, shift in zip(arrays, shifts, strict=True):
            scaled = np.ldexp(array, shift.reshape(-1, *[1] * array.ndim))
            held = np.isfinite(fmt.round(scaled)) & (fmt.round(scaled) == scaled) & ((scaled != 0) | (array == 0))
            keep &= held.reshape(len(weight), -1).all(axis=1)
            primals.append(scaled)
    if not keep.any() and group == "common scale":
        raise AuditError(f"check: the primals are no numbers of {fmt.name} at any scale: use fewer digits.")
    if keep.any():
        yield group, tuple(primal[keep] for primal in primals), power(weight[keep])


def _weights(
    function: Function, fmt: Format, mode: Mode, primals: tuple[Floats, ...], scale: Floats, references: References
) -> tuple[Floats, ...]:
    """Tangents equal to the scale; a cotangent of scale, halved from element to element so that elements differ."""
    if mode.kind == "forward":
        return ()
    if mode.kind == "jvp":
        return tuple(scale.reshape(-1, *[1] * (primals[i].ndim - 1)) * np.ones_like(primals[i]) for i in mode.traced)
    if function.elementwise:
        return (scale,)
    probe = Batch("shape", function, fmt, Mode("forward", ()), tuple(p[:1] for p in primals), ())
    # Of the reference, since f may raise, or give another shape.
    shape = references.enclose(probe)[0].shape
    pattern = 1.0 + (np.arange(int(np.prod(shape, dtype=int))) % 4) / 4
    weights = scale.reshape(-1, *[1] * len(shape)) * pattern.reshape(shape)
    return (fmt.round(weights),)


def _mismatching(rows: pa.Table) -> np.ndarray:
    column = rows.column("verdict").combine_chunks()
    codes = np.array([MISMATCH_CODES[VERDICTS.index(name)] for name in column.dictionary.to_pylist()])
    return codes[column.indices.to_numpy()]


def _told(rows: pa.Table, wrong: np.ndarray, function: Function) -> str:
    first = rows.slice(int(wrong[0]), 1).to_pylist()[0]
    head = f"{len(wrong)} of {len(rows)} comparisons are wrong. The simplest:"
    return f"{head}\n\n{show(first, function.text)}"
