"""One row with its numbers decoded: inputs, got, and the right value with its enclosure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from audit.formats import Format, lookup
from audit.rows import Shape, read_formats, read_shapes

Number = tuple[float, ...]

_ASKED = ("group", "function", "format", "mode", "traced", "argument", "element", "layout", "wrap", "shapes")

_DIGITS = Context(prec=25, Emax=10**6, Emin=-(10**6))
_BOUND = Context(prec=2, rounding=ROUND_UP, Emax=10**6, Emin=-(10**6))


@dataclass(frozen=True)
class Input:
    """One argument or weight at one point.

    Args:
        name: the argument's name; empty for a weight.
        shape: its shape.
        numbers: its elements in C order, each a tuple of one component (real formats) or two.
        format: the format of the numbers.
    """

    name: str
    shape: Shape
    numbers: Sequence[Number]
    format: Format


@dataclass(frozen=True)
class Enclosure:
    """A right value, or one component of it: ``value + (residual +- radius) * ulp(value)`` in a format."""

    value: float
    residual: float
    radius: float
    format: Format

    @property
    def exact(self) -> bool:
        """Whether the right value is the format's number itself."""
        return self.residual == 0 and self.radius == 0

    def decimal(self) -> str:
        """The right value to 25 digits, and the radius, rounded up, unless it is zero."""
        if math.isinf(self.value):
            return f"beyond {self.format.largest:.6g} in magnitude, {'negative' if self.value < 0 else 'positive'}"
        ulp = Fraction(float(self.format.ulp(self.value)))
        text = _decimal(Fraction(self.value) + Fraction(self.residual) * ulp, _DIGITS)
        if self.radius == 0:
            return text
        return f"{text} ± {_decimal(Fraction(self.radius) * ulp, _BOUND)}"

    def to_json(self) -> dict[str, Any]:
        """As the JSON report has it."""
        return {
            "value": self.format.hex(self.value),
            "residual": self.residual,
            "radius": self.radius,
            "decimal": self.decimal(),
        }


def inputs(row: Mapping[str, Any]) -> tuple[list[Input], list[Input]]:
    """Arguments and weights of a row, decoded.

    Args:
        row: a row as a mapping from column to value.

    Raises:
        AuditError: its shapes cannot be read.
    """
    arguments, weights = read_shapes(row["shapes"])
    formats = [lookup(name) for name in read_formats(row["shapes"], row["format"])]
    named = _split(list(arguments.items()), row["primals"], formats[: len(arguments)])
    return named, _split([("", shape) for shape in weights], row["weights"], formats[len(arguments) :])


def from_json(content: Mapping[str, Any]) -> dict[str, Any]:
    """What a row asks, from what a JSON report says of it: enough to ask it again.

    Args:
        content: a row as `audit.report.json_report.row_to_json` has it.

    Raises:
        AuditError: its shapes cannot be read.
    """
    formats = [lookup(name) for name in read_formats(content["shapes"], content["format"])]
    count = len(content["primals"])
    asked = {name: content[name] for name in _ASKED} | {"got_format": content.get("got_format") or content["format"]}
    return asked | {
        "primals": _bits(list(content["primals"].values()), formats[:count]),
        "weights": _bits(content["weights"], formats[count:]),
        "tolerance": content["tolerance_ulps"],
        "right": content["right"],
    }


def _bits(arrays: Sequence[Sequence[str]], formats: Sequence[Format]) -> list[int]:
    return [
        int(bits)
        for array, fmt in zip(arrays, formats, strict=True)
        for bits in fmt.to_bits(np.array([float.fromhex(text) for text in array]))
    ]


def got_format(row: Mapping[str, Any]) -> Format:
    """The format of what is compared; reports of the first schema say it only where it is not that of the batch."""
    return lookup(row.get("got_format") or row["format"])


def got(row: Mapping[str, Any]) -> Number | None:
    """The number got, by component; None if there was none."""
    fmt = got_format(row)
    bits = [row["got"], row["got_imag"]][: fmt.parts]
    if any(b is None for b in bits):
        return None
    return tuple(float(fmt.from_bits(np.uint64(b))) for b in bits)


def right(row: Mapping[str, Any]) -> tuple[Enclosure, ...] | None:
    """The right value, by component; None if none is known."""
    fmt = got_format(row)
    parts = []
    for suffix in ("", "_imag")[: fmt.parts]:
        if row["right" + suffix] is None:
            return None
        parts.append(Enclosure(row["right" + suffix], row["residual" + suffix], row["radius" + suffix], fmt))
    return tuple(parts)


def hexadecimal(number: Number, fmt: Format) -> str:
    """A number in exact hexadecimal, its components joined by ``" + i "``."""
    return " + i ".join(fmt.hex(part) for part in number)


def _split(named: Sequence[tuple[str, Shape]], bits: Sequence[int], formats: Sequence[Format]) -> list[Input]:
    taken, result = 0, []
    for (name, shape), fmt in zip(named, formats, strict=True):
        size = math.prod(shape) * fmt.parts
        # The type is named: numpy makes floats of a list in which only some numbers need the 64th bit.
        chunk = [float(x) for x in fmt.from_bits(np.array(bits[taken : taken + size], np.uint64))]
        taken += size
        elements = [tuple(chunk[i : i + fmt.parts]) for i in range(0, size, fmt.parts)]
        result.append(Input(name, shape, elements, fmt))
    return result


def _decimal(x: Fraction, context: Context) -> str:
    quotient = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    if quotient == 0:
        return "0"
    digits = quotient.normalize(context)
    plain = -6 <= digits.adjusted() < 21
    return f"{digits:f}" if plain else f"{digits:e}"
