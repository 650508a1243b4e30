"""The verdict: got and right to one word, for every pair of numbers.

The table is total: exactly one verdict applies to every (right, got). Three stages decide:

1. Could it be compared at all? (`not_run` ... `undefined`; those before `inconclusive` are set by who asked.)
2. Got is a format number nearest to a point of the enclosure: `match`.
3. Otherwise the error in ulps at the right value, within the tolerance (`match`), within tolerance plus allowance
   (`allowed`), or named by the first that holds of `nan`, `overflowed`, `vanished`, `sign`, `wrong`, `inaccurate`;
   where the right value is zero, of `nan`, `overflowed`, `nonzero`.

A right value that the format cannot hold is `outside` if got is what its rounding may give, and is named like any other
error if it is not: where 1e-60 was due in float32, zero is `outside` but NaN is `nan`. Of a sum whose terms leave the
format, anything that is not finite is `outside`; where the sum itself lies in the format, only if they leave it by far.
An infinity counts as 2**(emax + 1), so that a rule that errs by an ulp where overflow begins is not accused.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from audit.case import Tolerance
from audit.formats import Floats, Format
from audit.reference.enclosure import Right, Rounded


class Verdict(StrEnum):
    """What became of one comparison."""

    NOT_RUN = "not_run"
    HANG = "hang"
    CRASH = "crash"
    RAISES = "raises"
    UNIMPLEMENTED = "unimplemented"
    SHAPE = "shape"
    DTYPE = "dtype"
    INCONCLUSIVE = "inconclusive"
    UNDEFINED = "undefined"
    OUTSIDE = "outside"
    MATCH = "match"
    ALLOWED = "allowed"
    NAN = "nan"
    OVERFLOWED = "overflowed"
    NONZERO = "nonzero"
    VANISHED = "vanished"
    SIGN = "sign"
    WRONG = "wrong"
    INACCURATE = "inaccurate"


# Terms this many times the largest number excuse an infinity where a number of the format is due.
SPILLING = 16

VERDICTS = tuple(Verdict)
CODE = {verdict: np.uint8(code) for code, verdict in enumerate(VERDICTS)}

MISMATCHES = frozenset(
    {
        Verdict.HANG,
        Verdict.CRASH,
        Verdict.RAISES,
        Verdict.UNIMPLEMENTED,
        Verdict.SHAPE,
        Verdict.DTYPE,
        Verdict.NAN,
        Verdict.OVERFLOWED,
        Verdict.NONZERO,
        Verdict.VANISHED,
        Verdict.SIGN,
        Verdict.WRONG,
        Verdict.INACCURATE,
    }
)


@dataclass(frozen=True)
class Judgement:
    """Verdicts of n comparisons.

    Args:
        verdict: uint8 [n], indices into `VERDICTS`.
        error: float64 [n], distance of got from the right value, in ulps of the format at the right value (where that
            is zero, absolute); NaN where there is none to give.
        tolerance, allowance: float64 [n], in the same unit.
    """

    verdict: NDArray[np.uint8]
    error: Floats
    tolerance: Floats
    allowance: Floats


def judge(got: Floats, right: Right, fmt: Format, tolerance: Tolerance, size: Floats | None = None) -> Judgement:
    """Judge n numbers against their right values.

    Args:
        got: float64 [n], numbers of the format.
        right: the right values, rounded to the same format.
        fmt: the format (of one component, if complex).
        tolerance: how far got may be off.
        size: for one component of complex numbers their absolute values, of which the tolerance is an allowance too:
            a product of complex numbers may cancel in one component.
    """
    zero = right.where == Rounded.ZERO
    over = right.where == Rounded.OVERFLOWS
    under = right.where == Rounded.UNDERFLOWS
    # The unit in which errors are counted; an overflowing right value is taken at the place where overflow begins.
    unit = fmt.ulp_exponent(np.where(over, fmt.largest, right.value))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        edge = np.ldexp(1.0, np.minimum(fmt.emax + 1 - unit, 1023))
        due = np.where(over, np.copysign(edge, right.value), np.ldexp(right.value, -unit) + right.residual)
        units = np.where(np.isinf(got), np.copysign(edge, got), np.ldexp(got, -unit))
        distance = np.abs(
            np.where(over, 0.0, units - np.ldexp(np.where(over, 0.0, right.value), -unit)) - right.residual
        )
        short = np.maximum(np.where(due > 0, due - units, units - due), 0.0)
        error = np.where(over, short, distance)
        error = np.where(zero, np.abs(got), error)
        tolerated = _tolerated(right, fmt, tolerance, unit)
        terms = np.nan_to_num(right.terms, nan=0.0)
        allowance = tolerance.terms * fmt.unit_roundoff * terms
        if size is not None and tolerance.relative is None:
            allowance = allowance + tolerance.ulps * fmt.ulp(size)
        allowance = np.where(zero, allowance, np.ldexp(allowance, -unit))
        proven = error - np.where(zero, 0.0, right.radius)
    nan = np.isnan(got)
    infinite = np.isinf(got)
    tie = np.abs(right.residual) + right.radius >= 0.5
    nearest = (got == right.value) | (proven < 0.5) | (tie & (proven <= 0.5))
    within = ~nan & np.where(zero, (got == 0) | (~infinite & (error <= tolerated)), nearest | (proven <= tolerated))
    allowed = ~nan & ~infinite & (proven <= tolerated + allowance)
    wrong_sign = np.where(due > 0, got < 0, got > 0)
    far = error >= np.abs(due) / 2
    # In which order such terms are added decides whether infinities meet; no order is the right one. Where the sum
    # itself lies in the format, its terms must leave it by far: a mean of squares is no sum that cannot be had.
    beyond = min(SPILLING * fmt.largest, np.finfo(np.float64).max)
    spilt = ~np.isfinite(got) & (tolerance.terms > 0) & (terms >= np.where(over, fmt.largest, beyond))
    names = [
        # A set of right values is judged by its nearest point (see `audit.hull`); where there is none it is left open.
        ((right.where == Rounded.UNDEFINED) | (right.where == Rounded.SET), Verdict.UNDEFINED),
        (right.where == Rounded.INCONCLUSIVE, Verdict.INCONCLUSIVE),
        ((within & (over | under)) | spilt, Verdict.OUTSIDE),
        (within, Verdict.MATCH),
        (allowed, Verdict.ALLOWED),
        (nan, Verdict.NAN),
        (infinite & ~(over & wrong_sign), Verdict.OVERFLOWED),
        (zero | under, Verdict.NONZERO),
        (got == 0, Verdict.VANISHED),
        (wrong_sign, Verdict.SIGN),
        (far, Verdict.WRONG),
    ]
    verdict = np.select(
        [condition for condition, _ in names], [CODE[name] for _, name in names], CODE[Verdict.INACCURATE]
    ).astype(np.uint8)
    known = right.where <= Rounded.UNDERFLOWS
    return Judgement(
        verdict,
        np.where(known & ~nan, error, np.nan),
        np.where(known, tolerated, np.nan),
        np.where(known, allowance, np.nan),
    )


def _tolerated(right: Right, fmt: Format, tolerance: Tolerance, unit: NDArray[np.int64]) -> Floats:
    """The tolerance in ulps at the right value; where that is zero, absolute, from the largest term that cancels."""
    zero = right.where == Rounded.ZERO
    terms = np.nan_to_num(right.terms, nan=0.0)
    spacing = np.where(terms > 0, fmt.ulp(terms), 0.0)
    if tolerance.relative is None:
        return np.where(zero, tolerance.ulps * spacing, tolerance.ulps)
    relative = tolerance.relative[fmt.name]
    at_value = np.ldexp(relative * np.abs(np.where(np.isfinite(right.value), right.value, fmt.largest)), -unit)
    return np.where(zero, np.maximum(relative * terms, spacing), np.maximum(at_value, 1.0))
