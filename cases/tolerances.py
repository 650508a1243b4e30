"""Tolerances that several cases share, with their reasons."""

from audit.case import Tolerance

SHIFTED_EXPONENTIALS = Tolerance(
    ulps=64.0,
    terms=4,
    reason="the difference x - max(x) rounds by up to half an ulp, of which the exponential makes half as many ulps as "
    "the difference is large: 44 at 88, where single precision underflows; the exponential itself errs by up to 16",
)
"""Of softmax and what is made of it, where exponentials are taken of differences from the largest element."""
