"""Zeros, infinities, NaN and the two ends of a format: where the patched rule differs from stock, and why."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from patch_support import RULES, arrays, numbers, rule, worst_error

from audit.formats import REAL_FORMATS, Floats, Format

LISTED = Path(__file__).parent / "divide_special_values.txt"
ORDINARY = ("0", "-0", "1", "-2", "inf", "-inf", "nan")


def value(name: str, fmt: Format) -> float:
    return {"tiny": fmt.smallest_subnormal, "huge": fmt.largest}.get(name) or float(name)


def named(x: float, fmt: Format) -> str:
    """How a result is listed: a number that every format has by name, any other as a number of its sign."""
    if np.isnan(x):
        return "nan"
    if x == 0 or np.isinf(x) or abs(x) in (1.0, 2.0):
        return f"{x:g}"
    return "number" if x > 0 else "-number"


def operands(names: tuple[str, ...], count: int, fmt: Format) -> list[Floats]:
    points = list(itertools.product(names, repeat=count))
    return [np.array([value(point[i], fmt) for point in points]) for i in range(count)]


def same(x: Floats, y: Floats) -> np.ndarray:
    return (np.isnan(x) & np.isnan(y)) | ((x == y) & (np.signbit(x) == np.signbit(y)))


@pytest.mark.parametrize("fmt", REAL_FORMATS, ids=lambda f: f.name)
@pytest.mark.parametrize("name", [*RULES, "mlx+divide-report"])
def test_nothing_differs_between_zeros_infinities_nan_and_small_integers(name: str, fmt: Format) -> None:
    columns = operands(ORDINARY, 4, fmt)
    found = []
    for each in ("mlx", name):
        with rule(each) as m:
            a, b, g, h = arrays(columns, fmt)
            by_a, by_b = mx.vjp(m.divide, [a, b], [g])[1]
            along_b = mx.jvp(lambda b, m=m, a=a: m.divide(a, b), [b], [g])[1][0]
            along_both = mx.jvp(m.divide, [a, b], [g, h])[1][0]
            found.append([numbers(x, fmt) for x in (by_a, by_b, along_b, along_both)])
    for stock, patched in zip(*found, strict=True):
        assert same(stock, patched).all()


def differences(name: str, fmt: Format) -> list[str]:
    """Lines "a b g: stock -> patched" for the vjp of b, over the ordinary values and both ends of the format."""
    names = (*ORDINARY, "tiny", "huge")
    columns = operands(names, 3, fmt)
    found = []
    for each in ("mlx", name):
        with rule(each) as m:
            a, b, g = arrays(columns, fmt)
            found.append(numbers(mx.vjp(m.divide, [a, b], [g])[1][1], fmt))
    stock, patched = found
    points = list(itertools.product(names, repeat=3))
    return [
        f"{' '.join(points[i])}: {named(stock[i], fmt)} -> {named(patched[i], fmt)}"
        for i in np.flatnonzero(~same(stock, patched))
    ]


def listed() -> list[str]:
    lines = LISTED.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("fmt", REAL_FORMATS, ids=lambda f: f.name)
@pytest.mark.parametrize("name", RULES)
def test_differences_at_the_ends_of_a_format_are_those_listed(name: str, fmt: Format) -> None:
    found = differences(name, fmt)
    print("\n".join(found))
    assert sorted(found) == sorted(listed())


@pytest.mark.parametrize("fmt", REAL_FORMATS, ids=lambda f: f.name)
def test_where_a_derivative_exists_a_listed_difference_is_a_repair(fmt: Format) -> None:
    points = [line.partition(":")[0].split() for line in listed()]
    finite = [p for p in points if not {"inf", "-inf", "nan"} & set(p) and p[1] not in ("0", "-0")]
    assert len(finite) > 20
    columns = [np.array([value(p[i], fmt) for p in finite]) for i in range(3)]
    errors = {}
    for name in ("mlx", *RULES):
        with rule(name) as m:
            a, b, g = arrays(columns, fmt)
            got = numbers(mx.vjp(m.divide, [a, b], [g])[1][1], fmt)
        errors[name] = [
            worst_error(got[i : i + 1], _right, [column[i : i + 1] for column in columns], fmt)
            for i in range(len(finite))
        ]
    for name in RULES:
        assert max(errors[name]) <= 2.0
    assert min(errors["mlx"]) > 2.0


def _right(a: Fraction, b: Fraction, g: Fraction) -> Fraction:
    return -g * a / b**2
