"""The versions of MLX that the cases were written for, and what an older one lacks."""

from __future__ import annotations

import importlib.metadata
import re

SUPPORTED = ("0.32.2", "0.32.4")
"""The versions of MLX that the list of exemptions is held against, oldest first."""

# What Python says of a name that is not there, and nanobind of arguments that a function does not take.
_ABSENT = re.compile(r"module 'mlx[\w.]*' has no attribute '|'mlx\.core\.array' object has no attribute '")
_UNTAKEN = "incompatible function arguments"


def version() -> str:
    """The version of the installed MLX."""
    return importlib.metadata.version("mlx")


def older(version: str, than: str) -> bool:
    """Whether a version of MLX comes before another; a suffix such as ``.dev3`` counts for nothing."""
    first, second = (tuple(int(part) for part in text.split(".")[:3]) for text in (version, than))
    return first < second


def lacking(error: BaseException, installed: str) -> str:
    """What an older MLX lacks, if that is why it raised; empty if not, or if it is no older.

    An operation, a method or an argument that came later is nothing that is wrong with a version before.

    Args:
        error: what was raised.
        installed: the version that raised it.
    """
    if not older(installed, SUPPORTED[-1]):
        return ""
    text = str(error).splitlines()[0] if str(error) else ""
    absent = isinstance(error, AttributeError) and _ABSENT.search(text)
    untaken = isinstance(error, TypeError) and _UNTAKEN in text
    return f"MLX {installed} lacks this: {text[:240]}" if absent or untaken else ""
