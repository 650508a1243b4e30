"""Formats against NumPy, against bit arithmetic and against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import UnknownName
from audit.formats import (
    BFLOAT16,
    COMPLEX64,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    FORMATS,
    REAL_FORMATS,
    Floats,
    Format,
    lookup,
)

NUMPY = {"float16": np.float16, "float32": np.float32, "float64": np.float64}
IN_NUMPY = [fmt for fmt in REAL_FORMATS if fmt.name in NUMPY]
ALL_BITS_16 = np.arange(2**16, dtype=np.uint64)

by_name = pytest.mark.parametrize("fmt", REAL_FORMATS, ids=lambda fmt: fmt.name)
in_numpy = pytest.mark.parametrize("fmt", IN_NUMPY, ids=lambda fmt: fmt.name)


def numbers(fmt: Format, count: int = 4000) -> Floats:
    """Numbers of a format over its whole range, with both signs, the ends and what lies next to powers of two."""
    if fmt.bits == 16:
        return fmt.from_bits(ALL_BITS_16)
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2**fmt.bits, count, dtype=np.uint64)
    powers = np.ldexp(1.0, np.arange(fmt.esub, fmt.emax + 1))
    ends = np.array([0.0, -0.0, fmt.largest, -fmt.largest, math.inf, -math.inf, math.nan])
    beside = fmt.to_bits(powers) + np.array([[-1], [0], [1]], np.int64).astype(np.uint64)
    return np.concatenate([fmt.from_bits(bits), fmt.from_bits(beside).reshape(-1), -powers, ends])


def same(x: Floats, y: Floats) -> bool:
    """Equal numbers, signs of zero included; every NaN is the same."""
    return bool(np.array_equal(x, y, equal_nan=True) and (np.signbit(x) == np.signbit(y))[~np.isnan(x)].all())


def due(x: Fraction, fmt: Format) -> float:
    """The nearest number, ties to even, by exact arithmetic on integers."""
    if x == 0:
        return 0.0
    exponent = abs(x.numerator).bit_length() - abs(x.denominator).bit_length()
    exponent -= abs(x) < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - fmt.precision + 1, fmt.esub)
    # Fraction rounds to the nearest integer, ties to even.
    nearest = round(x / unit) * unit
    limit = (2 - Fraction(2) ** (1 - fmt.precision)) * Fraction(2) ** fmt.emax
    return math.copysign(math.inf, x) if abs(nearest) > limit else float(nearest)


def doubles(fmt: Format) -> st.SearchStrategy[float]:
    """Doubles near the numbers of a format: numbers, middles, and what is a little off either."""
    units = st.integers(0, 2 ** (fmt.precision + 1))
    exponent = st.integers(fmt.esub - 3, fmt.emax + 1)
    off = st.sampled_from([0.0, 2.0**-30, -(2.0**-30)])
    return st.builds(
        lambda n, e, d, s: s * math.ldexp(n / 2.0**fmt.precision + d, e), units, exponent, off, st.sampled_from([1, -1])
    )


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=lambda fmt: fmt.name)
def test_parameters_of_ieee_754(fmt: Format) -> None:
    listed = {
        "float16": (11, 15, -14, -24),
        "bfloat16": (8, 127, -126, -133),
        "float32": (24, 127, -126, -149),
        "float64": (53, 1023, -1022, -1074),
        "complex64": (24, 127, -126, -149),
    }
    assert (fmt.precision, fmt.emax, fmt.emin, fmt.esub) == listed[fmt.name]
    assert fmt.parts == (2 if fmt == COMPLEX64 else 1)


@in_numpy
def test_ends_of_the_range(fmt: Format) -> None:
    info = np.finfo(NUMPY[fmt.name])
    assert fmt.largest == float(info.max)
    assert fmt.smallest_normal == float(info.smallest_normal)
    assert fmt.smallest_subnormal == float(info.smallest_subnormal)
    assert fmt.unit_roundoff == float(info.eps) / 2


def test_ends_of_the_range_of_bfloat16() -> None:
    ends = [BFLOAT16.largest, BFLOAT16.smallest_normal, BFLOAT16.smallest_subnormal]
    assert ends == BFLOAT16.from_bits(np.array([0x7F7F, 0x0080, 0x0001])).tolist()


def test_a_format_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="5 exponent bits give emax 15"):
        Format("half", 16, 11, 16)


@in_numpy
def test_neighbours_are_those_of_numpy(fmt: Format) -> None:
    x, kind = numbers(fmt), NUMPY[fmt.name]
    with np.errstate(all="ignore"):
        up = np.nextafter(x.astype(kind), kind(math.inf)).astype(np.float64)
        down = np.nextafter(x.astype(kind), kind(-math.inf)).astype(np.float64)
    # nextUp of the smallest negative number is -0, which nextafter gives too.
    assert same(fmt.next_up(x), up)
    assert same(fmt.next_down(x), down)


def test_neighbours_in_bfloat16_are_those_of_the_bits() -> None:
    """Encodings of one sign ascend with the magnitude, so that neighbours are encodings that differ by 1."""
    positive = np.arange(0x0000, 0x7F80)
    x = BFLOAT16.from_bits(positive)
    assert same(BFLOAT16.next_up(x), BFLOAT16.from_bits(positive + 1))
    assert same(BFLOAT16.next_down(-x), -BFLOAT16.from_bits(positive + 1))
    assert same(BFLOAT16.next_down(x[1:]), BFLOAT16.from_bits(positive[:-1]))
    assert same(BFLOAT16.next_up(-x[1:]), -BFLOAT16.from_bits(positive[:-1]))
    assert BFLOAT16.next_up(np.array([-math.inf, math.inf])).tolist() == [-BFLOAT16.largest, math.inf]
    assert BFLOAT16.next_down(np.array([-math.inf, math.inf])).tolist() == [-math.inf, BFLOAT16.largest]
    assert np.isnan(BFLOAT16.next_up(math.nan))


@in_numpy
def test_the_spacing_is_that_of_numpy(fmt: Format) -> None:
    # Of magnitudes: at negative powers of two, NumPy gives the narrower gap in float16 and the wider one in others.
    x = np.abs(numbers(fmt))
    x = x[x < fmt.largest]
    assert fmt.ulp(x).tolist() == np.abs(np.spacing(x.astype(NUMPY[fmt.name]))).astype(np.float64).tolist()


@by_name
def test_the_spacing_is_the_gap_to_the_number_further_from_zero(fmt: Format) -> None:
    x = np.abs(numbers(fmt))
    x = x[x < fmt.largest]
    assert fmt.ulp(x).tolist() == (fmt.next_up(x) - x).tolist()
    assert fmt.ulp(-x).tolist() == fmt.ulp(x).tolist()


@by_name
def test_the_spacing_ends_at_the_largest_number(fmt: Format) -> None:
    due_there = fmt.largest - float(fmt.next_down(fmt.largest))
    assert fmt.ulp(np.array([fmt.largest, math.inf, -math.inf, math.nan])).tolist() == [due_there] * 4
    assert fmt.ulp(fmt.smallest_subnormal / 8 or 0.0) == fmt.smallest_subnormal


@in_numpy
def test_rounding_is_the_cast_of_numpy(fmt: Format) -> None:
    rng = np.random.default_rng(5)
    x = rng.choice([-1.0, 1.0], 20_000) * np.exp2(
        rng.uniform(max(fmt.esub - 3, -1074), min(fmt.emax + 2, 1023), 20_000)
    )
    near = numbers(fmt)
    near = near[np.isfinite(near)]
    with np.errstate(all="ignore"):
        middles = near / 2 + fmt.next_up(near) / 2
        x = np.concatenate([x, near, middles, np.nextafter(middles, math.inf), np.nextafter(middles, -math.inf)])
        assert same(fmt.round(x), x.astype(NUMPY[fmt.name]).astype(np.float64))


@by_name
@given(data=st.data())
def test_rounding_by_exact_fractions(fmt: Format, data: st.DataObject) -> None:
    x = data.draw(doubles(fmt))
    if not math.isfinite(x):
        return
    assert float(fmt.round(x)) == due(Fraction(x), fmt)


@by_name
def test_rounding_keeps_signs_of_zero_and_what_is_no_number(fmt: Format) -> None:
    x = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, -fmt.smallest_subnormal])
    assert same(fmt.round(x), x)
    if fmt != FLOAT64:
        half = fmt.smallest_subnormal / 2
        assert same(fmt.round(np.array([half, -half, np.nextafter(half, 1)])), np.array([0.0, -0.0, 2 * half]))


@by_name
def test_what_a_format_contains(fmt: Format) -> None:
    x = numbers(fmt)
    assert fmt.contains(x).all()
    if fmt != FLOAT64:
        finite = x[np.isfinite(x) & (np.abs(x) < fmt.largest) & (x != 0)]
        assert not fmt.contains(finite + fmt.ulp(finite) / 4).any()
        assert not fmt.contains(2.0 ** (fmt.emax + 1))


@pytest.mark.parametrize("fmt", [FLOAT16, BFLOAT16], ids=lambda fmt: fmt.name)
def test_every_encoding_of_16_bits_comes_back(fmt: Format) -> None:
    x = fmt.from_bits(ALL_BITS_16)
    nan = np.isnan(x)
    assert np.array_equal(fmt.to_bits(x)[~nan], ALL_BITS_16[~nan])
    assert nan.sum() == 2 * (2 ** (fmt.precision - 1) - 1)
    assert np.isnan(fmt.from_bits(fmt.to_bits(x[nan]))).all()


@by_name
def test_encodings_of_any_shape_come_back(fmt: Format) -> None:
    x = numbers(fmt)
    x = np.resize(x[~np.isnan(x)], (3, 5, 7))
    bits = fmt.to_bits(x)
    assert bits.shape == x.shape
    assert bits.dtype == np.uint64
    assert same(fmt.from_bits(bits), x)
    assert fmt.to_bits(1.0).shape == ()


@in_numpy
def test_encodings_are_those_of_numpy(fmt: Format) -> None:
    x = numbers(fmt)
    x = x[~np.isnan(x)]
    kind = NUMPY[fmt.name]
    assert np.array_equal(fmt.to_bits(x), x.astype(kind).view(f"u{fmt.bits // 8}").astype(np.uint64))


@by_name
def test_hexadecimal_comes_back_exactly(fmt: Format) -> None:
    x = numbers(fmt)[::7]
    for number in x[~np.isnan(x)].tolist():
        text = fmt.hex(number)
        back = float.fromhex(text)
        assert back == number
        assert math.copysign(1, back) == math.copysign(1, number)
        assert not text.split("p")[0].endswith((".", "0")) or text.split("p")[0].endswith("0x0")


def test_hexadecimal_has_no_superfluous_digits() -> None:
    x = [1.5 * 2.0**-80, -0.0, math.nan, -math.inf, 1.0, 2.0**-24]
    assert [FLOAT32.hex(v) for v in x] == ["0x1.8p-80", "-0x0p+0", "nan", "-inf", "0x1p+0", "0x1p-24"]


def test_formats_are_found_by_name() -> None:
    assert [lookup(name) for name in FORMATS] == list(FORMATS.values())


def test_an_unknown_format_is_told_from_those_that_exist() -> None:
    with pytest.raises(UnknownName) as caught:
        lookup("flaot32")
    assert str(caught.value) == (
        "There is no format 'flaot32'. Did you mean 'float32'? "
        "These exist: bfloat16, complex64, float16, float32, float64."
    )
    with pytest.raises(UnknownName, match=r"^There is no format 'int8'. These exist: bfloat16,"):
        lookup("int8")
