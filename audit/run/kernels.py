"""What MLX compiles on a CPU: kernels that it writes as C++ into the temporary folder and hands to a compiler."""

from __future__ import annotations

import resource
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def kernels() -> frozenset[str]:
    """Names of the compiled kernels that MLX keeps at present; none where it keeps them elsewhere."""
    try:
        folder = Path(tempfile.gettempdir()) / "mlx" / version("mlx")
    except PackageNotFoundError:
        return frozenset()
    return frozenset(path.name for path in folder.rglob("*.so"))


def compiler_seconds() -> float:
    """Processor time of all child processes that have ended so far: a process under audit starts only compilers."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
