"""Rounding of enclosures to a format, held against exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audit.formats import FORMATS, REAL_FORMATS, Format
from audit.reference import Enclosures, Right, Rounded, State


def enclosures(head: float, tail: float, exponent: int, radius: float = 0.0) -> Enclosures:
    return Enclosures(
        np.array([head]), np.array([tail]), np.array([radius]), np.array([exponent]),
        np.array([State.KNOWN], np.uint8), np.array([np.nan]), np.array([0]),
    )  # fmt: skip


def exact(right: Right, fmt: Format) -> Fraction:
    """The right value that a rounded enclosure stands for, its radius left out."""
    ulp = Fraction(2) ** int(fmt.ulp_exponent(right.value)[0])
    return Fraction(float(right.value[0])) + Fraction(float(right.residual[0])) * ulp


def nearest(value: Fraction, fmt: Format) -> Fraction:
    """Nearest number of the format without its upper limit, ties to even."""
    magnitude = abs(value.numerator).bit_length() - value.denominator.bit_length()
    magnitude -= abs(value) < Fraction(2) ** magnitude
    unit = Fraction(2) ** max(magnitude - fmt.precision + 1, fmt.esub)
    return round(value / unit) * unit


mantissas = st.integers(1, 2**53 - 1)
signs = st.sampled_from([-1, 1])
tails = st.sampled_from([0.0, 0.5, -0.5, 0.25, -0.25, 2.0**-50, -(2.0**-50)])


@given(st.sampled_from(REAL_FORMATS), mantissas, signs, tails, st.integers(-1200, 1100), st.integers(-40, 40))
@example(REAL_FORMATS[0], 2**53 - 1, 1, 0.5, 0, 0)
@example(REAL_FORMATS[3], 2**53 - 1, 1, 0.5, -53, 0)
@example(REAL_FORMATS[3], 1, -1, 0.0, -1075, 0)
@example(REAL_FORMATS[3], 3, -1, 0.0, -1075, 0)
def test_rounding_agrees_with_exact_arithmetic(
    fmt: Format, mantissa: int, sign: int, part: float, exponent: int, split: int
) -> None:
    head = float(sign * mantissa)
    tail = part * float(np.spacing(abs(head)))
    if mantissa & (mantissa - 1) == 0:
        # Doubles are closer on the side of zero, and the head is the nearest one.
        tail = float(np.copysign(tail, head))
    right = enclosures(np.ldexp(head, split), np.ldexp(tail, split), exponent - split).to_format(fmt)
    value = (Fraction(head) + Fraction(tail)) * Fraction(2) ** exponent
    due = nearest(value, fmt)
    if abs(due) > Fraction(fmt.largest):
        assert right.where[0] == Rounded.OVERFLOWS
        assert right.value[0] == np.copysign(np.inf, sign)
    elif due == 0:
        assert right.where[0] == Rounded.UNDERFLOWS
        assert right.value[0] == 0
    else:
        assert right.where[0] == Rounded.INSIDE
        assert abs(right.residual[0]) <= 0.5
        assert Fraction(float(right.value[0])) == due
        ulp = Fraction(2) ** int(fmt.ulp_exponent(right.value)[0])
        assert abs(exact(right, fmt) - value) <= Fraction(float(right.radius[0])) * ulp
        assert right.radius[0] < 2.0**-52


@pytest.mark.parametrize("fmt", REAL_FORMATS, ids=lambda fmt: fmt.name)
def test_a_value_rounded_up_to_a_power_of_two_counts_the_wider_ulps(fmt: Format) -> None:
    # A quarter of the spacing below 2 is an eighth of the spacing at 2.
    below = 2.0 - float(fmt.next_up(1.0) - 1.0) / 4
    right = enclosures(below if fmt.bits < 64 else 2.0, 0.0 if fmt.bits < 64 else below - 2.0 - 2.0**-54, 0)
    rounded = right.to_format(fmt)
    assert rounded.value[0] == 2.0
    assert rounded.residual[0] == pytest.approx(-0.125, abs=0.01)


@pytest.mark.parametrize("fmt", REAL_FORMATS, ids=lambda fmt: fmt.name)
def test_ties_between_neighbours_have_a_residual_of_one_half(fmt: Format) -> None:
    half = float(fmt.ulp(1.0)) / 2
    rounded = enclosures(1.0, half, 0).to_format(fmt)
    assert rounded.value[0] == 1.0
    assert rounded.residual[0] == 0.5
    above = enclosures(1.0, half * (1 + 2.0**-40), 0).to_format(fmt)
    assert above.value[0] == fmt.next_up(1.0)
    assert above.residual[0] < 0
    overflowing = (Fraction(fmt.largest) + Fraction(2) ** (fmt.emax + 1)) / 2
    head = float(overflowing) if fmt.bits < 64 else fmt.largest
    tail = 0.0 if fmt.bits < 64 else float(overflowing - Fraction(fmt.largest))
    assert enclosures(head, tail, 0).to_format(fmt).where[0] == Rounded.OVERFLOWS
    under = enclosures(head, tail - head * 2.0**-60, 0).to_format(fmt)
    assert under.value[0] == fmt.largest


@pytest.mark.parametrize("fmt", list(FORMATS.values()), ids=lambda fmt: fmt.name)
def test_far_exponents_overflow_and_underflow(fmt: Format) -> None:
    assert enclosures(1.5, 0.0, 10**15).to_format(fmt).where[0] == Rounded.OVERFLOWS
    assert enclosures(-1.5, 0.0, -(10**15)).to_format(fmt).where[0] == Rounded.UNDERFLOWS


def test_zero_needs_an_enclosure_within_half_the_smallest_number() -> None:
    fmt = FORMATS["float32"]
    assert enclosures(0.0, 0.0, 0).to_format(fmt).where[0] == Rounded.ZERO
    assert enclosures(0.0, 0.0, 0, radius=2.0**-151).to_format(fmt).where[0] == Rounded.ZERO
    assert enclosures(0.0, 0.0, 0, radius=2.0**-140).to_format(fmt).where[0] == Rounded.INCONCLUSIVE
    assert enclosures(2.0**-160, 0.0, 0).to_format(fmt).where[0] == Rounded.UNDERFLOWS


@given(st.sampled_from(REAL_FORMATS), mantissas, st.integers(-60, 10), st.integers(-30, 30))
def test_the_radius_in_ulps_is_never_rounded_down(fmt: Format, mantissa: int, exponent: int, size: int) -> None:
    radius = float(np.ldexp(1.0, size - 60))
    right = enclosures(float(mantissa), 0.0, exponent, radius).to_format(fmt)
    if right.where[0] == Rounded.INSIDE:
        ulp = Fraction(2) ** int(fmt.ulp_exponent(right.value)[0])
        assert Fraction(float(right.radius[0])) * ulp >= Fraction(radius) * Fraction(2) ** exponent


def test_undefined_and_inconclusive_stay_so() -> None:
    e = enclosures(1.0, 0.0, 0)
    for state, where in ((State.UNDEFINED, Rounded.UNDEFINED), (State.INCONCLUSIVE, Rounded.INCONCLUSIVE)):
        e.state[0] = state
        rounded = e.to_format(FORMATS["float16"])
        assert rounded.where[0] == where
        assert np.isnan(rounded.value[0])


def test_joining_and_taking_are_inverse() -> None:
    parts = [enclosures(float(k), 0.0, k) for k in range(1, 4)]
    joined = Enclosures.join(parts)
    assert len(joined) == 3
    assert joined.take(np.array([2])).head[0] == parts[2].head[0]
    assert joined.take(joined.head > 1).exponent.tolist() == [2, 3]
