"""Functions of arrays, made of operations on their elements: each is called with the arithmetic first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from audit.reference.arrays.attention import ATTENTION
from audit.reference.arrays.convolution import CONVOLUTIONS
from audit.reference.arrays.elementwise import ELEMENTWISE
from audit.reference.arrays.fourier import FOURIER
from audit.reference.arrays.linear import LINEAR
from audit.reference.arrays.norms import NORMS
from audit.reference.arrays.ordering import ORDERING
from audit.reference.arrays.reductions import REDUCTIONS
from audit.reference.arrays.scans import SCANS
from audit.reference.arrays.solving import SOLVING

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **ELEMENTWISE, **REDUCTIONS, **SCANS, **ORDERING, **LINEAR, **CONVOLUTIONS, **FOURIER, **SOLVING, **NORMS,
    **ATTENTION,
}  # fmt: skip

__all__ = ["FUNCTIONS"]
