"""The classes of defects: what kind of cause stands behind wrong numbers."""

from __future__ import annotations

from enum import StrEnum


class Class(StrEnum):
    """What kind of cause a defect has."""

    RANGE = "range"
    CANCELLATION = "cancellation"
    POISON = "poison"
    SHAPE = "shape"
    DROPPED = "dropped parameter"
    CONJUGATE = "conjugate"
    PRECISION = "precision"
    CONSISTENCY = "consistency"
    VMAP = "vmap"
    MISSING = "missing"
    VALUE = "value"
    CRASH = "crash"


SENTENCES = {
    Class.RANGE: "right near 1, and wrong beyond some exponents: a step on the way leaves the format's range, although "
    "the result lies within it",
    Class.CANCELLATION: "wrong where terms nearly cancel, by more the nearer they are",
    Class.POISON: "NaN or an infinity from a term that should not count: at a singular point whose weight is zero, in "
    "a branch that was not taken, or where 0/0 or inf - inf stands on the way to an ordinary number",
    Class.SHAPE: "of the wrong shape or dtype, or an error about shapes",
    Class.DROPPED: "as if a parameter, or the dependence on an argument, were not there",
    Class.CONJUGATE: "right for real numbers, and wrong for complex ones by a conjugate or a lost imaginary part",
    Class.PRECISION: "less accurate than the format everywhere, as if computed or accumulated in a shorter one",
    Class.CONSISTENCY: "right when asked plainly, and wrong when asked in another way that must give the same",
    Class.VMAP: "right in a loop, and wrong under vmap",
    Class.MISSING: "not implemented",
    Class.VALUE: "wrong at ordinary points",
    Class.CRASH: "no number at all: an error, the end of the process, or no answer in time",
}


def sentence(kind: str) -> str:
    """What a class says of a result, to stand behind "is" ("The vjp of ... is ...")."""
    return SENTENCES[Class(kind)]
