"""Where planted rules are compared: the series and families of division, and a small family for each other function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from audit.case import Batch, Function, Mode
from audit.comparison import Question, compare
from audit.families import Choice, Columns, Exponents, Family, Mantissas
from audit.formats import Format, lookup
from audit.identity import Origin
from audit.reference import References
from cases.divide import series
from cases.divide_families import FAMILIES
from cases.divide_functions import ARRAY_QUOTIENT, QUOTIENT, RECIPROCAL
from planted.subject import Subject

ORIGIN = Origin("families", "1", "planted")
REFERENCES = References(opinions=0)

# Arguments of a / b by the arguments of the function they are reached through.
_DIVISION = {QUOTIENT.name: {}, ARRAY_QUOTIENT.name: {}, RECIPROCAL.name: {"t": "b"}}
SERIES = "series"
FIRST_ORDER = (SERIES, "common scale", "opposite scale", "zero numerator", "exponents", "result exponents")
FIRST_ORDER += ("invariance range", "broadcast range", "matrix", "strided views")
SECOND_ORDER = (SERIES, "second order", "matrix")

Part = tuple[str, str]
"""A part of a rule and a verdict."""


def audited(subject: Subject) -> dict[str, Counter[Part]]:
    """Comparisons by part and verdict, in each format."""
    found = {}
    for name in subject.formats:
        asked = questions(subject.operation, name, subject.families or FIRST_ORDER)
        found[name] = counted(pa.concat_tables([compare(q, subject.implementation, REFERENCES) for q in asked]))
    assert REFERENCES.disagreements == []
    return found


def counted(rows: pa.Table) -> Counter[Part]:
    """Rows by the part of the rule that they show and their verdict."""
    columns = ["function", "mode", "traced", "argument", "verdict"]
    plain = pa.table({name: rows.column(name).cast(pa.string()) for name in columns})
    groups = plain.group_by(columns).aggregate([([], "count_all")]).to_pylist()
    counts: Counter[Part] = Counter()
    for group in groups:
        counts[part(group), group["verdict"]] += group["count_all"]
    return counts


def part(row: dict[str, Any]) -> str:
    """The part of a rule that a row shows: mode and argument, or "second" above the first order."""
    names = _DIVISION.get(row["function"], {})
    if row["mode"].startswith("hessian") or row["mode"] in ("grad2", "grad3"):
        return "second"
    if row["mode"] == "forward":
        return "forward"
    shown = row["traced"] if row["mode"] == "jvp" else row["argument"]
    mode = "jvp" if row["mode"] == "jvp" else "vjp"
    return f"{mode} {names.get(shown, shown)}"


@cache
def questions(operation: str, format_name: str, families: tuple[str, ...]) -> list[Question]:
    """Batches of an operation with their right values, computed once for all rules."""
    fmt = lookup(format_name)
    return [Question(batch, ORIGIN, REFERENCES.enclose(batch)) for batch in _batches(operation, fmt, families)]


def _batches(operation: str, fmt: Format, families: tuple[str, ...]) -> Iterator[Batch]:
    if operation != "divide":
        for family in unary_families(operation):
            yield from family.grid(fmt)
        return
    chosen = [family for family in FAMILIES if family.name in families]
    assert len(chosen) == len(set(families) - {SERIES}), families
    named = series(fmt) if SERIES in families else iter(())
    grids = () if fmt.parts == 2 else (family.grid(fmt, 0.25) for family in chosen)
    for batch in chain(named, *grids):
        if batch.function.name in _DIVISION:
            yield batch


# Where each function is defined, and whether its slope is of interest over the whole range or near 1 only.
_SIGNED_WHOLE = ("square", "reciprocal", "abs")
_POSITIVE_WHOLE = ("sqrt", "rsqrt", "log")
_WEIGHTS = Exponents(lambda f: f.esub, lambda f: f.emax)


def unary_families(operation: str) -> tuple[Family, ...]:
    """Families of ``mx.operation``: arguments of both signs where it has them, cotangents over the whole range."""
    signs = Choice((1.0,)) if operation in (*_POSITIVE_WHOLE, "log1p") else Choice((1.0, -1.0))
    whole = Exponents(lambda f: f.esub, lambda f: f.emax)
    near_one = Exponents(lambda f: max(-12, f.esub), lambda f: 7)  # noqa: ARG005  the same in every format
    exponents = whole if operation in (*_SIGNED_WHOLE, *_POSITIVE_WHOLE) else near_one
    function = Function(operation, ("x",), lambda m, x: getattr(m, operation)(x), f"mx.{operation}(x)")

    def build(fmt: Format, c: Columns) -> Iterator[Batch]:
        with np.errstate(over="ignore"):
            x = fmt.round(c["sign"] * np.ldexp(c["m"], c["k"].astype(np.int64)))
            w = fmt.round(c["sw"] * np.ldexp(1.25, c["kw"].astype(np.int64)))
        held = np.isfinite(x) & np.isfinite(w)
        for mode in (Mode("vjp", (0,)), Mode("jvp", (0,)), Mode("grad2", (0,))):
            if mode.kind != "grad2" or operation == "square":
                yield Batch(operation, function, fmt, mode, (x[held],), (w[held],))

    axes = {"k": exponents, "m": Mantissas(), "sign": signs, "kw": _WEIGHTS, "sw": Choice((1.0, -1.0))}
    return (Family(operation, axes, build, density=24),)
