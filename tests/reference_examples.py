"""Functions, batches and exact arithmetic that the tests of the reference share."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import MPContext

from audit.case import Batch, Body, Function, Mode
from audit.formats import FLOAT64, Format
from audit.reference import Enclosures, State


def function(text: str, arguments: str, body: Body, *, elementwise: bool = True) -> Function:
    return Function(text, tuple(arguments.split()), body, text, elementwise)


QUOTIENT = function("a / b", "a b", lambda m, a, b: m.divide(a, b))
SCALED = function("C / (C * t)", "C t", lambda m, c, t: m.divide(c, c * t))
SQUARED = function("square(C / (C * t) - 1)", "C t", lambda m, c, t: m.square(m.divide(c, c * t) - 1))
IDENTITY = function("(C * t) / (C * t)", "C t", lambda m, c, t: m.divide(c * t, c * t))
RATIO = function("(C * a) / (C * b)", "C a b", lambda m, c, a, b: m.divide(c * a, c * b))
WAVE = function("exp(x) * sin(x)", "x", lambda m, x: m.exp(x) * m.sin(x))
MATMUL = function("a @ b", "a b", lambda m, a, b: m.matmul(a, b), elementwise=False)
BROADCAST = function("sum(a / b)", "a b", lambda m, a, b: m.sum(m.divide(a, b)), elementwise=False)


def unary(name: str) -> Function:
    return function(f"{name}(x)", "x", lambda m, x: getattr(m, name)(x))


def batch(f: Function, kind: Any, traced: tuple[int, ...], primals: Any, weights: Any, fmt: Format = FLOAT64) -> Batch:
    """A batch from numbers, lists or arrays, one entry a point."""
    dtype = complex if fmt.parts == 2 else float
    arrays = [tuple(np.atleast_1d(np.asarray(x, dtype)) for x in xs) for xs in (primals, weights)]
    return Batch("test", f, fmt, Mode(kind, traced), arrays[0], arrays[1])


def bounds(e: Enclosures, index: int = 0) -> tuple[Fraction, Fraction]:
    """Both ends of a known enclosure, exactly."""
    assert e.state[index] == State.KNOWN
    scale = Fraction(2) ** int(e.exponent[index])
    middle = Fraction(float(e.head[index])) + Fraction(float(e.tail[index]))
    radius = Fraction(float(e.radius[index]))
    return (middle - radius) * scale, (middle + radius) * scale


def holds(e: Enclosures, value: Fraction, index: int = 0) -> bool:
    """Whether an enclosure holds an exact value, and is narrow: 2**-80 of it, or 2**-20 of the least float64."""
    low, high = bounds(e, index)
    narrow = high - low <= max(abs(value) * Fraction(2) ** -79, Fraction(2) ** -1093)
    return low <= value <= high and narrow


def holds_number(e: Enclosures, value: Any, context: MPContext, index: int = 0) -> bool:
    """Whether an enclosure holds an mpmath number that is right to 2**-150 of itself."""
    sign, mantissa, exponent, _ = context.mpf(value)._mpf_
    exact = (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    low, high = bounds(e, index)
    slack = abs(exact) * Fraction(2) ** -150
    return low - slack <= exact <= high + slack


def terms(e: Enclosures, index: int = 0) -> Fraction:
    assert not math.isnan(float(e.terms[index]))
    return Fraction(float(e.terms[index])) * Fraction(2) ** int(e.terms_exponent[index])
