"""Points with their weights: what is asked of a function, before it is said in which mode."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from audit.formats import Floats


@dataclass(frozen=True)
class Points:
    """Primals with a cotangent and tangents at each.

    Args:
        group: name of the group of the rows.
        primals: one array ``[points, *shape]`` an argument.
        cotangent: ``[points, *result shape]``.
        tangents: one array ``[points, *shape]`` an argument.
    """

    group: str
    primals: tuple[Floats, ...]
    cotangent: Floats
    tangents: tuple[Floats, ...]

    def __len__(self) -> int:
        return len(self.primals[0])

    def take(self, index: NDArray[np.integer] | NDArray[np.bool_] | slice) -> Points:
        """The points at an index."""
        return replace(
            self,
            primals=tuple(p[index] for p in self.primals),
            cotangent=self.cotangent[index],
            tangents=tuple(t[index] for t in self.tangents),
        )

    def mild(self) -> Points:
        """The same points with weights of a third of the exponents: the chain rule multiplies two or three of them."""
        return replace(self, cotangent=_mild(self.cotangent), tangents=tuple(map(_mild, self.tangents)))


def _mild(weight: Floats) -> Floats:
    exponent = np.frexp(np.maximum(np.abs(weight.real), np.abs(weight.imag)))[1]
    return weight * np.ldexp(1.0, exponent // 3 - exponent)
