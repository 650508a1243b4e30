"""The verdict is total, and is the one that the table in the documentation gives, number by number."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from audit.case import Tolerance
from audit.formats import FLOAT16, FORMATS, Format
from audit.reference.enclosure import Enclosures, State
from audit.verdict import MISMATCHES, VERDICTS, Verdict, judge

ALL_FLOAT16 = FLOAT16.from_bits(np.arange(2**16, dtype=np.uint64))


def magnitude(value: Fraction) -> int:
    """Exponent of the largest power of two that is not above abs(value)."""
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= abs(value) else exponent - 1


def enclose(value: Fraction, count: int, terms: float = math.nan, state: State = State.KNOWN) -> Enclosures:
    """The same dyadic right value `count` times; it must be exact in two float64 numbers."""
    exponent = 0 if value == 0 else magnitude(value)
    scaled = value / Fraction(2) ** exponent
    head = float(scaled)
    tail = float(scaled - Fraction(head))
    assert Fraction(head) + Fraction(tail) == scaled
    full = np.full(count, 1.0)
    return Enclosures(
        head * full, tail * full, 0 * full, np.full(count, exponent), np.full(count, state, np.uint8),
        terms * full, np.zeros(count, np.int64),
    )  # fmt: skip


def documented(got: float, right: Fraction, fmt: Format, ulps: float, terms: float) -> Verdict:
    """The table in words, one number at a time, in exact arithmetic."""
    largest, least = Fraction(fmt.largest), Fraction(fmt.smallest_subnormal)
    beyond = Fraction(2) ** (fmt.emax + 1)
    if right == 0:
        if math.isnan(got):
            return Verdict.NAN
        if math.isinf(got):
            return Verdict.OVERFLOWED
        spacing = Fraction(float(fmt.ulp(terms))) if terms > 0 else Fraction(0)
        return Verdict.MATCH if abs(Fraction(got)) <= Fraction(ulps) * spacing else Verdict.NONZERO
    over, under = abs(right) >= (largest + beyond) / 2, abs(right) <= least / 2
    exponent = max(magnitude(right), fmt.emin)
    ulp = Fraction(2) ** (min(exponent, fmt.emax) - fmt.precision + 1)
    if math.isnan(got):
        return Verdict.NAN
    number = (beyond if got > 0 else -beyond) if math.isinf(got) else Fraction(got)
    due = (beyond if right > 0 else -beyond) if over else right
    past = over and abs(number) >= beyond and number * due > 0
    if past or abs(number - due) <= Fraction(ulps) * ulp:
        return Verdict.OUTSIDE if over or under else Verdict.MATCH
    if math.isinf(got) and not (over and number * due < 0):
        return Verdict.OVERFLOWED
    if under:
        return Verdict.NONZERO
    if number == 0:
        return Verdict.VANISHED
    if number * due < 0:
        return Verdict.SIGN
    return Verdict.WRONG if abs(number - due) >= abs(due) / 2 else Verdict.INACCURATE


RIGHTS = [
    Fraction(0),
    Fraction(1),
    Fraction(-3),
    Fraction(1) + Fraction(1, 2**12),
    Fraction(1, 2**14),
    Fraction(-1, 2**14) * Fraction(1023, 1024),
    Fraction(3, 2**24),
    Fraction(-5, 2**25),
    Fraction(1, 2**26),
    Fraction(-1, 2**80),
    Fraction(65504),
    Fraction(-65519),
    Fraction(65520),
    Fraction(2**40),
    Fraction(-(2**18)),
]


@pytest.mark.parametrize("right", RIGHTS, ids=str)
def test_every_float16_number_has_exactly_one_verdict(right: Fraction) -> None:
    judged = judge(ALL_FLOAT16, enclose(right, 2**16, 1.0).to_format(FLOAT16), FLOAT16, Tolerance())
    assert judged.verdict.shape == (2**16,)
    assert set(judged.verdict.tolist()) <= set(range(len(VERDICTS)))


@pytest.mark.parametrize("right", RIGHTS, ids=str)
@pytest.mark.parametrize("ulps", [1.25, 16.25])
@pytest.mark.parametrize("terms", [0.0, 1.0, 2.0**-20])
def test_the_verdict_is_the_documented_one(right: Fraction, ulps: float, terms: float) -> None:
    # Every number near the right value and near the edges, and every 61st of the others.
    place = min(max(float(right), -FLOAT16.largest), FLOAT16.largest)
    near = np.abs(np.nan_to_num(ALL_FLOAT16) - place) <= 40 * FLOAT16.ulp(place)
    edges = (np.abs(ALL_FLOAT16) > 65000) | (np.abs(ALL_FLOAT16) < 1e-6)
    got = ALL_FLOAT16[near | edges | (np.arange(2**16) % 61 == 0)]
    judged = judge(got, enclose(right, len(got), terms).to_format(FLOAT16), FLOAT16, Tolerance(ulps=ulps))
    due = [documented(number, right, FLOAT16, ulps, terms) for number in got.tolist()]
    assert [VERDICTS[code] for code in judged.verdict] == due


def test_a_nan_is_excused_by_terms_that_leave_the_format_and_by_nothing_else() -> None:
    for right in RIGHTS:
        for terms, allowed, due in [
            (FLOAT16.largest / 2, 1e9, Verdict.NAN),
            (1e300, 0.0, Verdict.NAN),
            (1e300, 1e9, Verdict.OUTSIDE),
        ]:
            enclosures = enclose(right, 1, terms=terms)
            tolerance = Tolerance(ulps=1e9, terms=allowed)
            judged = judge(np.array([np.nan]), enclosures.to_format(FLOAT16), FLOAT16, tolerance)
            assert VERDICTS[judged.verdict[0]] is due


@pytest.mark.parametrize("state", [State.UNDEFINED, State.INCONCLUSIVE])
def test_without_a_right_value_nothing_is_a_mismatch(state: State) -> None:
    enclosures = enclose(Fraction(1), len(ALL_FLOAT16), state=state)
    judged = judge(ALL_FLOAT16, enclosures.to_format(FLOAT16), FLOAT16, Tolerance())
    assert {VERDICTS[code] for code in judged.verdict} == {Verdict(state.name.lower())}


def test_the_allowance_excuses_values_but_not_infinities() -> None:
    got = np.array([1.5, 100.0, np.inf])
    enclosures = enclose(Fraction(1), 3, terms=1000.0)
    judged = judge(got, enclosures.to_format(FLOAT16), FLOAT16, Tolerance(ulps=1, terms=2.0))
    assert [VERDICTS[code] for code in judged.verdict] == [Verdict.ALLOWED, Verdict.WRONG, Verdict.OVERFLOWED]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_the_edges_of_every_format(name: str) -> None:
    fmt = FORMATS[name]
    largest, least = Fraction(fmt.largest), Fraction(fmt.smallest_subnormal)
    cases = [
        (least, least, Verdict.MATCH),
        (least, -least * 40, Verdict.SIGN),
        (least / 4, Fraction(0), Verdict.OUTSIDE),
        (largest, largest, Verdict.MATCH),
        (largest * 4, largest, Verdict.OUTSIDE),
        (largest * 4, -largest, Verdict.SIGN),
        (-largest, largest, Verdict.SIGN),
    ]
    for right, got, verdict in cases:
        enclosures = enclose(right, 1)
        judged = judge(np.array([float(got)]), enclosures.to_format(fmt), fmt, Tolerance())
        assert VERDICTS[judged.verdict[0]] is verdict, (float(right), float(got))
    for right, infinity, verdict in [(largest, np.inf, Verdict.MATCH), (largest / 4, np.inf, Verdict.OVERFLOWED)]:
        judged = judge(np.array([infinity]), enclose(right, 1).to_format(fmt), fmt, Tolerance())
        assert VERDICTS[judged.verdict[0]] is verdict


def test_mismatches_are_those_the_documentation_lists() -> None:
    others = {"not_run", "inconclusive", "undefined", "outside", "match", "allowed"}
    assert {str(v) for v in VERDICTS if v not in MISMATCHES} == others
