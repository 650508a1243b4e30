"""A case that kills the process that asks it, where and how GRADAUDIT_TEST_DEATH says, e.g. ``abort:5,12``.

Only in the format GRADAUDIT_TEST_FORMAT, if that is set. It is found through GRADAUDIT_CASES. Without the variables it
is an ordinary case: x * x + x, three modes in four formats.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from audit.case import Batch, Case, Function, Mode
from audit.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Format

POINTS = 16


def _abort() -> None:
    sys.stderr.write("something else\nlibc++abi: terminating due to uncaught exception\n")
    sys.stderr.flush()
    os.abort()


def _segfault() -> None:
    ctypes.string_at(0)


def _hang() -> None:
    while True:
        time.sleep(0.01)


def _raise() -> None:
    message = "planted"
    raise RuntimeError(message)


def _leave() -> None:
    sys.exit("no more")


def _end() -> None:
    os._exit(3)


def _killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _killed_once() -> None:
    """As from outside: a second process survives."""
    try:
        Path(os.environ["GRADAUDIT_TEST_MARK"]).touch(exist_ok=False)
    except FileExistsError:
        return
    _killed()


def _segfault_once() -> None:
    try:
        Path(os.environ["GRADAUDIT_TEST_MARK"]).touch(exist_ok=False)
    except FileExistsError:
        return
    _segfault()


_asked = []


def _third() -> None:
    """Die at the third batch that this process asks."""
    _asked.append(True)
    if len(_asked) == 3:
        _abort()


def _wait() -> None:
    """Until the test says so; the mark tells who waits."""
    Path(os.environ["GRADAUDIT_TEST_MARK"]).write_text(str(os.getpid()))
    while not Path(os.environ["GRADAUDIT_TEST_MARK"] + ".go").exists():
        time.sleep(0.01)


WAYS: dict[str, Callable[[], None]] = {
    "abort": _abort,
    "segfault": _segfault,
    "segfault once": _segfault_once,
    "third": _third,
    "hang": _hang,
    "raise": _raise,
    "leave": _leave,
    "end": _end,
    "killed": _killed,
    "killed once": _killed_once,
    "wait": _wait,
}


def _square(m: Any, x: Any) -> Any:
    death, wanted = os.environ.get("GRADAUDIT_TEST_DEATH"), os.environ.get("GRADAUDIT_TEST_FORMAT", "")
    if death and m is sys.modules.get("mlx.core") and str(x.dtype).endswith(wanted):
        _die_at(np.array(x.astype(m.float32)).reshape(-1))
    return m.square(x) + x


def _die_at(values: np.ndarray) -> None:
    """Die if the values have one that is named, or more than one if they kill only ``together:``."""
    how, _, where = os.environ.get("GRADAUDIT_TEST_DEATH", "").partition(":")
    named = [float(number) for number in where.split(",") if number]
    found = np.isin(values, named).sum()
    if how == "together" and found > 1:
        _abort()
    elif how in WAYS and found:
        WAYS[how]()


SQUARE = Function("square", ("x",), _square, "mx.square(x) + x")


def series(fmt: Format) -> Iterator[Batch]:
    """Points 1 to 16 in three modes."""
    points: Any = np.arange(1.0, POINTS + 1)
    asked = ((Mode("forward", ()), ()), (Mode("vjp", (0,)), (points / 4,)), (Mode("jvp", (0,)), (-points,)))
    for mode, weights in asked:
        yield Batch(f"plain {mode.kind}", SQUARE, fmt, mode, (points,), weights)


CASE = Case("deadly", "mx.square", (SQUARE,), (FLOAT16, FLOAT32, BFLOAT16, FLOAT64), series, (), "1", "deadly-1")
