"""The picture of a safe band: one strip a format, from the smallest to the largest exponent, right and wrong."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

WIDTH, HEIGHT, LEFT, TOP, GAP = 720, 16, 74, 26, 12

# The same colours as in the picture of the exponent range.
COLOURS = {
    "right": "#d9e8d4",
    "nan": "#7b3294",
    "overflowed": "#d7301f",
    "vanished": "#2b6cb0",
    "another wrong number": "#e69f00",
}


def strip(bands: Mapping[str, Mapping[str, Any]]) -> str:
    """The picture as SVG.

    Args:
        bands: by format, as the JSON report has them.
    """
    low = min(band["reached"][0] for band in bands.values())
    high = max(band["reached"][1] for band in bands.values())
    scale = WIDTH / (high - low + 1)
    height = TOP + len(bands) * (HEIGHT + GAP) + 18
    size = f'width="{LEFT + WIDTH + 14}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        f'<rect {size} fill="white"/>',
        *_legend(),
    ]
    for place, (name, band) in enumerate(bands.items()):
        top = TOP + place * (HEIGHT + GAP)
        parts.append(f'<text x="{LEFT - 6}" y="{top + 12}" text-anchor="end">{escape(name)}</text>')
        runs = band["strip"]
        for index, (first, last, verdict) in enumerate(runs):
            # Between exponents that were asked, a run reaches up to the next one.
            end = runs[index + 1][0] if index + 1 < len(runs) else last + 1
            x, width = LEFT + (first - low) * scale, (end - first) * scale
            colour = COLOURS[_kind(verdict)]
            parts.append(f'<rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="{HEIGHT}" fill="{colour}"/>')
        parts += _marks(band, low, scale, top)
    parts.append(f'<text x="{LEFT + WIDTH / 2}" y="{height - 4}" text-anchor="middle">exponent k</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _legend() -> list[str]:
    parts, x = [], LEFT
    for name, colour in COLOURS.items():
        parts.append(f'<rect x="{x}" y="6" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 14}" y="15">{name}</text>')
        x += 26 + 6.2 * len(name)
    return [part.replace(".0", "") for part in parts]


def _marks(band: Mapping[str, Any], low: int, scale: float, top: int) -> list[str]:
    """The ends of the strip and of the safe band, under it."""
    shown = {band["reached"][0], band["reached"][1], band["low"], band["high"]} - {None}
    parts, taken = [], []
    for k in sorted(shown, key=lambda k: (k not in (band["low"], band["high"]), k)):
        x = LEFT + (k - low + 0.5) * scale
        if all(abs(x - other) > 30 for other in taken):
            taken.append(x)
            parts.append(f'<text x="{x:.1f}" y="{top + HEIGHT + 9}" text-anchor="middle" font-size="9">{k}</text>')
    return parts


def _kind(verdict: str) -> str:
    if verdict in ("match", "allowed", "outside", "undefined", "inconclusive"):
        return "right"
    return verdict if verdict in COLOURS else "another wrong number"
