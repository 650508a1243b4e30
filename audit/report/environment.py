"""Where a run took place: versions, platform, compiler and commit."""

from __future__ import annotations

import platform
import shutil
import subprocess
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from audit.errors import Unavailable
from audit.patches.compiler import find_compiler, find_mlx

ROOT = Path(__file__).resolve().parents[2]


def environment(device: str) -> dict[str, str]:
    """Versions, platform, compiler and commit, as the reports state them; what is not there is ``"none"``.

    Args:
        device: ``"cpu"`` or ``"gpu"``.
    """
    return {
        "mlx": _version("mlx"),
        "wheel": ", ".join(filter(None, (_wheel(name) for name in ("mlx", "mlx-cpu", "mlx-metal")))) or "none",
        "device": device,
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "compiler": _compiler(),
        "commit": _commit(),
    }


def mlx_library() -> Path | None:
    """MLX's compiled library, or None where there is none."""
    try:
        return find_mlx().library
    except Unavailable:
        return None


def _version(name: str) -> str:
    found = _distribution(name)
    return found.version if found else "none"


def _wheel(name: str) -> str:
    found = _distribution(name)
    if found is None:
        return ""
    tags = [line[5:] for line in (found.read_text("WHEEL") or "").splitlines() if line.startswith("Tag: ")]
    return f"{name}-{found.version}-{tags[0]}" if tags else f"{name}-{found.version}"


def _distribution(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _compiler() -> str:
    try:
        return find_compiler().version
    except Unavailable:
        return "none"


def _commit() -> str:
    if not (ROOT / ".git").exists():
        return "none"
    commit = _first_line(["git", "-C", str(ROOT), "rev-parse", "HEAD"])
    changed = _first_line(["git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no"])
    return commit if changed == "none" else f"{commit} with changes"


def _first_line(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        return "none"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0] if done.returncode == 0 and done.stdout else "none"
