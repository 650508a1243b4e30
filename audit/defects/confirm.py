"""The second method: independent numbers for the shrunk input of a defect, before it is believed.

One number is mpmath's, at high precision, on the body of the function alone. The other is MLX's own: the same question
in another format, in which the rule is right, or the central difference of its forward values. What was raised, or
came back in another shape, is confirmed by running the reproducer in a process of its own.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from audit.defects.again import Asker, Place, Row, changed, is_wrong
from audit.defects.opinion import estimate
from audit.formats import FORMATS, Format, lookup
from audit.report import record

# How far another format's number may be from the right one to speak for it, in units of its last place.
WITHIN = 64.0
# A difference whose bound is a larger part of the right value than this says nothing.
SHARP = 0.01
# Messages are the same if they begin with the same so many characters. Numbers in them do not matter: an index that was
# never set is another one each time.
SAME = 60
_NUMBER = re.compile(r"-?\d+")


@dataclass(frozen=True)
class Method:
    """One independent number.

    Args:
        name: how it was found.
        value: as text.
        agrees: with the enclosure; None if it says nothing.
    """

    name: str
    value: str
    agrees: bool | None

    def to_json(self) -> dict[str, Any]:
        """As the JSON report has it."""
        return {"name": self.name, "value": self.value, "agrees": self.agrees}


@dataclass(frozen=True)
class Confirmation:
    """What independent methods say of a right value.

    Args:
        methods: what was tried and gave a number.
    """

    methods: Sequence[Method]

    @property
    def contradicted(self) -> bool:
        """Whether a method speaks against the enclosure."""
        return any(method.agrees is False for method in self.methods)

    @property
    def confirmed(self) -> bool:
        """Whether a method speaks for it, and none against it."""
        return not self.contradicted and any(method.agrees for method in self.methods)


def confirm(place: Place, row: Row, asker: Asker) -> Confirmation:
    """Ask independent methods for the right value at a point.

    Args:
        place: the question.
        row: its row, with right value and, where there is one, central difference.
        asker: asks MLX in other formats.
    """
    if record.right(row) is None:
        return Confirmation(())
    found = [_mpmath(place, row), _difference(row), *_other_formats(place, row, asker)]
    return Confirmation([method for method in found if method is not None])


def _mpmath(place: Place, row: Row) -> Method | None:
    right = record.right(row)
    found = estimate(place)
    if found is None or right is None:
        return None
    return Method(found.name, found.text, found.agrees(right))


def _difference(row: Row) -> Method | None:
    right = record.right(row)
    if row["witness"] is None or right is None or len(right) != 1 or not math.isfinite(right[0].value):
        return None
    bound, value = row["witness_bound"], right[0].value
    if bound > SHARP * abs(value):
        # True, and says nothing.
        return None
    if abs(row["witness"] - value) > bound + float(right[0].format.ulp(value)):
        # Either the forward value is off or the reference is; the run itself finds out which.
        return None
    return Method("central difference of MLX's own values", f"{row['witness']:.17g} ± {bound:.1e}", True)


def _other_formats(place: Place, row: Row, asker: Asker) -> list[Method]:
    right, own = record.right(row), place.batch.format
    assert right is not None
    found = []
    for fmt in _others(own):
        made = changed(lambda fmt=fmt: place.in_format(fmt))
        answer = None if made is None else asker.row(made)
        if answer is None or is_wrong(answer) or answer["verdict"] not in ("match", "allowed"):
            continue
        got = record.got(answer)
        if got is None or not all(_near(x, part, fmt) for x, part in zip(got, right, strict=False)):
            continue
        found.append(Method(f"MLX itself in {fmt.name}", " + i ".join(f"{x:.17g}" for x in got), True))
        break
    return found


def _others(own: Format) -> list[Format]:
    """Formats that know the value better; for float64 the next best."""
    if own.parts == 2:
        return []
    finer = [fmt for fmt in FORMATS.values() if fmt.parts == 1 and fmt.precision > own.precision]
    return sorted(finer, key=lambda fmt: -fmt.precision) or [lookup("float32")]


def _near(x: float, part: record.Enclosure, fmt: Format) -> bool:
    if not math.isfinite(part.value):
        return abs(x) > part.format.largest and math.copysign(1, x) == math.copysign(1, part.value)
    coarse = max(float(fmt.ulp(part.value)), float(part.format.ulp(part.value)))
    return abs(x - part.value) <= WITHIN * coarse


def reproduced(script: str, message: str | None = None, timeout: float = 120.0) -> tuple[bool, str]:
    """Run a reproducer in a process of its own: whether it shows what is wrong, and what it said.

    Args:
        script: as `audit.report.reproduce.script` writes it.
        message: what must be raised, where that is what is wrong; otherwise numbers must be printed that differ.
        timeout: in seconds; no answer by then is a hang.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return message is not None and "no answer" in message, f"no answer in {timeout:g} s"
    if done.returncode < 0:
        return message is not None, f"ended by signal {-done.returncode}"
    said = (done.stderr.strip().splitlines() or [""])[-1]
    if done.returncode:
        return message is not None and _unnumbered(message)[:SAME] in _unnumbered(done.stderr), said
    lines = dict(line.split(None, 1) for line in done.stdout.splitlines() if " " in line)
    got, right = lines.get("got", ""), lines.get("right", "")
    return message is None and got != right, f"got {got}, right {right}"


def _unnumbered(text: str) -> str:
    return _NUMBER.sub("#", text)
