"""The header of MLX's kernels, compiled once.

Every kernel that MLX writes on a CPU is a few lines behind one ``#include`` of a header that takes the compiler a
second; the lines themselves take a tenth of that. A header in quotes is looked for beside the file that includes it
before anywhere else, and GCC takes ``NAME.gch`` there for a compiled ``NAME`` if it was made by the same compiler with
the same flags, and leaves it alone otherwise (GCC manual, "Using Precompiled Headers"). The kernels are the
same, instruction by instruction.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

HEADER = "mlx/backend/cpu/compiled_preamble.h"
# The flags with which MLX compiles a kernel; with others the compiled header is not taken.
FLAGS = ("-std=c++17", "-O3", "-Wall", "-fPIC")
# To compile it takes as long as it saves with so many kernels.
WORTHWHILE = 4
_SECONDS = 60
_AGAIN = 3600


def link(kernels: Path, whole: Path) -> None:
    """Have the compiler look for the compiled header, whenever it will be there, beside the kernels of a process.

    Args:
        kernels: the folder into which MLX writes kernels.
        whole: the folder that all processes share.
    """
    with suppress(OSError):
        (kernels / "mlx").symlink_to(whole / "mlx", target_is_directory=True)


def compile_header(whole: Path) -> bool:
    """Compile the header into the folder that all processes share, unless it is there or another one is at it.

    Returns:
        Whether it was compiled. Where it cannot be, kernels only take longer.
    """
    include = _include()
    target = whole / f"{HEADER}.gch"
    if include is None or target.exists() or not _claimed(target):
        return False
    part = target.with_suffix(f".{os.getpid()}")
    command = ["g++", *FLAGS, "-I", str(include), "-x", "c++-header", str(include / HEADER), "-o", str(part)]
    with suppress(OSError, subprocess.SubprocessError):
        if subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False).returncode == 0:
            part.replace(target)
            return True
    with suppress(OSError):
        part.unlink()
    return False


def _claimed(target: Path) -> bool:
    """Whether this process is to compile it: what is at work elsewhere, or failed lately, is left alone."""
    claim = target.with_suffix(".claim")
    with suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            if time.time() - claim.stat().st_mtime > _AGAIN:
                claim.unlink()
        claim.touch(exist_ok=False)
        return True
    return False


def _include() -> Path | None:
    """The folder of MLX's headers, if kernels include one from it."""
    found = importlib.util.find_spec("mlx.core")
    folder = Path(found.origin).parent / "include" if found and found.origin else None
    return folder if folder and (folder / HEADER).exists() else None
