"""A picture of the exponent range: where the derivatives of C / (C * t) are right, and how they fail elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from audit.files import replacing
from audit.formats import REAL_FORMATS, Format
from audit.report.counts import chosen, coded
from audit.verdict import MISMATCHES

GROUP = "common scale"
PLOTTED = ("group", "implementation", "format", "mode", "verdict", "primals")
ORDERS = {"grad1": "1st", "grad2": "2nd", "grad3": "3rd"}
COLOURS = {
    "right": "#d9e8d4",
    "nan": "#7b3294",
    "overflowed": "#d7301f",
    "vanished": "#2b6cb0",
    "another wrong number": "#e69f00",
}


def plot_range(rows: pa.Table, implementations: Sequence[str], path: Path) -> bool:
    """Draw one panel a format, with one line for each order of each implementation, as SVG.

    Args:
        rows: of a run, with the columns `PLOTTED`.
        implementations: which are drawn, in order.
        path: of the picture.

    Returns:
        Whether there was anything to draw.

    Raises:
        AuditError: the picture cannot be written.
    """
    own = rows.filter(pa.array(chosen(rows, "group", lambda name: name == GROUP)))
    names, present = coded(own, "format")[1], set(coded(own, "format")[0].tolist())
    formats = [fmt for fmt in REAL_FORMATS if fmt.name in {names[code] for code in present}]
    if not formats:
        return False
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    lines = [(name, mode) for name in implementations for mode in ORDERS]
    style: Any = {"font.size": 8, "svg.hashsalt": "gradaudit", "svg.fonttype": "none", "font.family": "sans-serif"}
    with mpl.rc_context(style):
        figure, axes = plt.subplots(len(formats), 1, figsize=(8, 0.5 + 1.35 * len(formats)), layout="constrained")
        for fmt, axis in zip(formats, np.atleast_1d(axes), strict=True):
            exponents, shown = _strips(own, fmt, lines)
            axis.imshow(
                shown,
                aspect="auto",
                interpolation="nearest",
                cmap=ListedColormap([*COLOURS.values(), "white"]),
                vmin=-0.5,
                vmax=len(COLOURS) + 0.5,
                extent=(exponents[0] - 0.5, exponents[-1] + 0.5, len(lines) - 0.5, -0.5),
            )
            axis.set_yticks(range(len(lines)), [f"{name} {ORDERS[mode]}" for name, mode in lines])
            axis.set_title(fmt.name, loc="left", fontsize=9)
            axis.tick_params(length=2)
            for place in range(3, len(lines), 3):
                axis.axhline(place - 0.5, color="white", linewidth=2)
        figure.axes[-1].set_xlabel("exponent of C")
        keys = [Patch(color=colour, label=name) for name, colour in COLOURS.items()]
        figure.legend(handles=keys, loc="outside upper center", ncols=len(keys), frameon=False)
        with replacing(path) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None})
        plt.close(figure)
    return True


def _strips(
    rows: pa.Table, fmt: Format, lines: Sequence[tuple[str, str]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Exponents of C, and for each line the worst finding at each: indices into `COLOURS`, and one more for none."""
    own = rows.filter(pa.array(chosen(rows, "format", lambda name: name == fmt.name)))
    values = own["primals"].combine_chunks().flatten().to_numpy()
    scale = fmt.from_bits(values.reshape(len(own), -1)[:, 0])
    place = np.frexp(scale)[1].astype(np.int64) - 1
    low, high = int(place.min()), int(place.max())
    names = list(COLOURS)
    codes, verdicts = coded(own, "verdict")
    worth = np.array([_finding(verdict, names) for verdict in verdicts])[codes]
    implementation, mode = coded(own, "implementation"), coded(own, "mode")
    shown = np.full((len(lines), high - low + 1), -1)
    for line, (name, kind) in enumerate(lines):
        chosen_rows = np.array([n == name for n in implementation[1]])[implementation[0]]
        chosen_rows &= np.array([m == kind for m in mode[1]])[mode[0]]
        np.maximum.at(shown[line], place[chosen_rows] - low, worth[chosen_rows])
    shown[shown < 0] = len(names)
    return np.arange(low, high + 1), shown


def _finding(verdict: str, names: Sequence[str]) -> int:
    if verdict not in MISMATCHES:
        return 0
    return names.index(verdict) if verdict in names else len(names) - 1
