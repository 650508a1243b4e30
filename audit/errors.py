"""Errors that end in one clear message: what was wrong, where, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class AuditError(Exception):
    """The audit cannot do its work. The command line prints the message and exits with status 2."""


class UnknownName(AuditError):
    """A case, format or implementation was asked for that does not exist.

    Args:
        kind: what was looked up, e.g. ``"format"``.
        name: the name that was given.
        known: every name that exists.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = get_close_matches(name, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        listed = ", ".join(names) if names else "none"
        super().__init__(f"There is no {kind} {name!r}.{hint} These exist: {listed}.")


class Unavailable(AuditError):
    """An implementation cannot run here (absent device, compiler or operation). Its rows become ``not_run``."""
