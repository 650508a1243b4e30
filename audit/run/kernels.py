"""What MLX compiles on a CPU: kernels that it writes as C++ into the temporary folder and hands to a compiler.

Two processes that need the same kernel at once, or one that is killed while it compiles, leave each other half of a
library, which MLX then fails to load. So every worker has a temporary folder of its own; what it has compiled whole
goes into a folder that all share, and what that has is there from the start.
"""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from audit.run import preamble


def shared() -> Path | None:
    """The folder of whole kernels below the temporary folder, kept between runs; None if there can be none."""
    folder = Path(tempfile.gettempdir()) / f"gradaudit-kernels-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        # Libraries that another user could have put there are not loaded.
        return folder if folder.stat().st_uid == os.getuid() else None
    except OSError:
        return None


def provide(temporary: Path, whole: Path | None) -> None:
    """Put all whole kernels where a process that has this temporary folder finds them."""
    target = _place(temporary)
    source = _of_this_version(whole)
    if target is None or source is None:
        return
    target.mkdir(parents=True, exist_ok=True)
    for path in source.glob("*.so"):
        _link(path, target / path.name)
    preamble.link(target, source)


class Kernels:
    """The kernels that this process has compiled.

    Args:
        whole: the folder that all processes share; None if nothing is shared.

    Attributes:
        count: how many there are since this was made, as far as `publish` has seen.
    """

    def __init__(self, whole: Path | None = None) -> None:
        self.count = 0
        self._place = _place(Path(tempfile.gettempdir()))
        self._whole = _of_this_version(whole)
        self._known = self._present()

    def publish(self) -> None:
        """Share, and count, what was compiled since the last call; no compiler must be at work."""
        present = self._present()
        new, self._known = present - self._known, present
        if new and self._whole is not None and self._place is not None:
            with suppress(OSError):
                self._whole.mkdir(exist_ok=True)
            for name in new:
                _link(self._place / name, self._whole / name)
        self.count += len(new)
        if new and self._whole is not None and self.count >= preamble.WORTHWHILE:
            preamble.compile_header(self._whole)

    def _present(self) -> frozenset[str]:
        if self._place is None or not self._place.is_dir():
            return frozenset()
        return frozenset(path.name for path in self._place.glob("*.so"))


def compiler_seconds() -> float:
    """Processor time of all child processes that have ended so far: a process under audit starts only compilers."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compiling(pid: int) -> bool:
    """Whether a process has a child process now, which can only be a compiler; unknown, and so no, outside Linux."""
    try:
        return any(path.read_text().strip() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    except OSError:
        return False


def _place(temporary: Path) -> Path | None:
    """Where MLX keeps kernels."""
    found = _version()
    return temporary / "mlx" / found / "cpu" if found else None


def _of_this_version(whole: Path | None) -> Path | None:
    found = _version()
    return whole / found if whole and found else None


def _version() -> str:
    try:
        return version("mlx")
    except PackageNotFoundError:
        return ""


def _link(source: Path, target: Path) -> None:
    """The same file under another name, or a copy; nothing where neither can be made or the name is taken."""
    with suppress(OSError):
        try:
            os.link(source, target)
        except FileExistsError:
            return
        except OSError:
            part = target.with_name(f".{target.name}.{os.getpid()}")
            shutil.copyfile(source, part)
            part.replace(target)
