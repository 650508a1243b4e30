"""Row ids: a 64-bit hash of what is compared, the implementation left out, so that rows of two runs join.

The text (series version, case, group, function, format, mode, arguments, layout) goes through BLAKE2b once a batch; the
point's encodings and the element are mixed in by the SplitMix64 finaliser (Steele, Lea, Flood 2014).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from audit.case import Batch
from audit.formats import Bits, Format


@dataclass(frozen=True)
class Origin:
    """Where rows come from.

    Args:
        series: name of the named series, or ``"families"``.
        version: version of the series.
        case: name of the case.
    """

    series: str
    version: str
    case: str

    @property
    def text(self) -> str:
        """What enters the ids of the rows."""
        return f"{self.series} {self.version} {self.case}"


def encodings(batch: Batch) -> tuple[Bits, Bits]:
    """Encodings of the primals and of the weights, uint64 ``[points, numbers]`` each, re and im in turn if complex."""

    def flat(arrays: tuple[np.ndarray, ...], formats: tuple[Format, ...]) -> Bits:
        columns = []
        for array, fmt in zip(arrays, formats, strict=True):
            numbers = np.ascontiguousarray(array).reshape(batch.points, -1)
            if fmt.parts == 2:
                numbers = numbers.astype(np.complex128).view(np.float64)
            columns.append(fmt.to_bits(numbers))
        return np.concatenate(columns, axis=1) if columns else np.empty((batch.points, 0), np.uint64)

    return flat(batch.primals, batch.argument_formats), flat(batch.weights, batch.weight_formats)


def identify(batch: Batch, origin: Origin, argument: str, elements: int) -> Bits:
    """Ids of the rows of one argument of a batch, uint64 ``[points * elements]``, point-major.

    Args:
        origin: where the batch comes from.
        argument: whose derivative it is.
        elements: number of elements a point.
    """
    mode = batch.mode
    traced = ",".join(str(i) for i in mode.traced)
    parts = (origin.text, batch.group, batch.function.name, batch.format.name, mode.kind, traced, argument)
    mixed = " ".join(fmt.name for fmt in (*batch.formats, *([batch.result] if batch.result else ())))
    shapes = " ".join(str(array.shape[1:]) for array in (*batch.primals, *batch.weights) if array.ndim > 1)
    text = "\x1f".join((*parts, batch.layout, batch.wrap, mixed, shapes))
    seed = np.uint64(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big"))
    table = np.concatenate(encodings(batch), axis=1)
    # Each number is mixed with its place before they are added, so that no two may be exchanged.
    places = _mix(np.arange(1, table.shape[1] + 1, dtype=np.uint64))
    state = _mix(_mix(table ^ places).sum(axis=1, dtype=np.uint64) ^ seed)
    rows = np.repeat(state, elements)
    return _mix(rows ^ np.tile(np.arange(elements, dtype=np.uint64), batch.points))


def _mix(z: Bits) -> Bits:
    with np.errstate(over="ignore"):
        z = z + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
