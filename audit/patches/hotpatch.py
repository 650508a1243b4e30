"""Hot patches: a compiled rule put in place of MLX's own in the running library, and taken off again.

A rule acts when a derivative is recorded, not when it is evaluated. So a function compiled by `mx.compile` keeps the
rule under which it was first called: one traced before the patch does not see it, and one traced under the patch keeps
it afterwards. An evaluation under a patch needs fresh functions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from audit.errors import AuditError, Unavailable
from audit.patches import compiler

_DONE, _REFUSED = 0, 1
_LOCK = RLock()


class HotPatch:
    """A rule for one primitive.

    Not for use while another thread records operations with the same primitive: the two functions of a rule are
    replaced one after the other.

    Args:
        name: name of the implementation that it makes, e.g. ``"mlx+divide"``.
        operation: the operation as a user writes it, e.g. ``"mx.divide"``.
        source: its C++ file.
    """

    def __init__(self, name: str, operation: str, source: Path) -> None:
        self.name = name
        self.operation = operation
        self.source = source
        self._depth = 0
        self._functions: ctypes.CDLL | None = None

    @property
    def sources(self) -> tuple[Path, ...]:
        """Every file that the library is made from."""
        return (self.source, *compiler.headers())

    @property
    def library(self) -> Path:
        """The compiled library; compiles it if that has not been done for this MLX and compiler.

        Raises:
            Unavailable: it cannot be compiled here.
        """
        return compiler.build(self.source)

    @property
    def installed(self) -> bool:
        """Whether MLX's table holds this rule now."""
        return bool(self._loaded().gradaudit_installed())

    def check(self) -> str:
        """Why the patch cannot be put in here, or an empty string. Compiles if need be; touches nothing of MLX."""
        try:
            loaded = self._loaded()
        except Unavailable as reason:
            return str(reason)
        return "" if loaded.gradaudit_check() == _DONE else self._message(loaded)

    @contextmanager
    def on(self) -> Iterator[None]:
        """Context in which MLX uses this rule. It nests: the outermost one takes the rule off.

        Raises:
            Unavailable: the patch cannot be put in here; MLX is untouched.
            AuditError: another patch is in place of the same rule.
        """
        with _LOCK:
            if self._depth == 0:
                self._call("install")
            self._depth += 1
        try:
            yield
        finally:
            with _LOCK:
                self._depth -= 1
                if self._depth == 0:
                    self._call("remove")

    def describe(self) -> list[str]:
        """Lines for a reader: what it is, what it was compiled from and with, and whether it can be put in here."""
        lines = [f"{self.name}: a rule for {self.operation}", f"source    {self.source}"]
        try:
            mlx, found = compiler.find_mlx(), compiler.find_compiler()
            lines += [
                f"MLX       {mlx.version}, {mlx.library}",
                f"compiler  {found.version}",
                f"library   {self.library}",
            ]
        except Unavailable:
            # The last line gives the reason.
            pass
        reason = self.check()
        return [*lines, f"cannot be put in here: {reason}" if reason else "can be put in here"]

    def _loaded(self) -> ctypes.CDLL:
        # Kept: what was installed must be removed by the same library, whatever becomes of its sources.
        if self._functions is None:
            self._functions = _load(self.library)
        return self._functions

    def _call(self, step: str) -> None:
        loaded = self._loaded()
        status = getattr(loaded, f"gradaudit_{step}")()
        if status != _DONE:
            kind = Unavailable if status == _REFUSED else AuditError
            raise kind(self._message(loaded))

    def _message(self, loaded: ctypes.CDLL) -> str:
        return f"{self.name}: {loaded.gradaudit_message().decode()}."


def _load(library: Path) -> ctypes.CDLL:
    # The wheel's own library must be the one that is loaded already.
    import mlx.core  # noqa: F401

    try:
        loaded = ctypes.CDLL(str(library))
    except OSError as error:
        raise Unavailable(f"{library} cannot be loaded ({error}): delete it, so that it is compiled again.") from error
    loaded.gradaudit_message.restype = ctypes.c_char_p
    return loaded
