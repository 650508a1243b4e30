"""Compiles a patch against the MLX that is installed, once, and keeps the library in the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from audit.errors import Unavailable

NATIVE = Path(__file__).parent / "native"

_FLAGS = ("-std=c++20", "-O1", "-fPIC", "-shared", "-fvisibility=hidden")


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler.

    Args:
        command: the program and the arguments that $CXX may carry.
        version: the first line that it prints about itself.
    """

    command: tuple[str, ...]
    version: str


@dataclass(frozen=True)
class Mlx:
    """The MLX that is installed, as far as compiling against it goes.

    Args:
        version: e.g. ``"0.32.4"``.
        include: folder of its headers.
        library: the shared library.
    """

    version: str
    include: Path
    library: Path


def find_compiler() -> Compiler:
    """The compiler that $CXX names, else g++, else clang++.

    Raises:
        Unavailable: there is none; the message says what to install.
    """
    named = shlex.split(os.environ.get("CXX", ""))
    for command in [named] if named else [["g++"], ["clang++"]]:
        program = shutil.which(command[0])
        if program:
            return Compiler((program, *command[1:]), _version(program))
    if named:
        raise Unavailable(f"CXX names {named[0]!r}, which is not on the PATH: name g++ or clang++ there, or unset it.")
    raise Unavailable(
        "No C++ compiler: install g++ (Debian and Ubuntu: apt install g++; macOS: xcode-select --install), "
        "or name one in CXX."
    )


def find_mlx() -> Mlx:
    """The headers and the library beside `mlx.core`.

    Raises:
        Unavailable: MLX is not installed, or its package has no headers.
    """
    spec = find_spec("mlx.core")
    if spec is None or spec.origin is None:
        raise Unavailable("MLX is not installed: pip install 'mlx[cpu]' on Linux, pip install mlx on macOS.")
    folder = Path(spec.origin).parent
    libraries = [folder / "lib" / name for name in ("libmlx.so", "libmlx.dylib")]
    library = next((path for path in libraries if path.is_file()), None)
    if library is None or not (folder / "include" / "mlx" / "mlx.h").is_file():
        raise Unavailable(f"MLX in {folder} has no include/mlx/mlx.h or no lib/libmlx: install the wheel of PyPI.")
    return Mlx(version("mlx"), folder / "include", library)


def cache_folder() -> Path:
    """Where compiled patches are kept: $GRADAUDIT_CACHE, else gradaudit/patches in the user's cache folder."""
    given = os.environ.get("GRADAUDIT_CACHE")
    if given:
        return Path(given)
    user = os.environ.get("XDG_CACHE_HOME")
    return (Path(user) if user else Path.home() / ".cache") / "gradaudit" / "patches"


def headers() -> tuple[Path, ...]:
    """Headers that every patch may include."""
    return tuple(sorted(NATIVE.glob("*.h")))


def build(source: Path) -> Path:
    """The shared library of a patch, compiled unless the cache has it.

    Its name carries a hash of MLX's version and library, the compiler, the flags and every source.

    Args:
        source: the patch's .cpp file; it may include `headers`.

    Raises:
        Unavailable: no compiler, no MLX, a compilation error, or a cache folder that cannot be written.
    """
    compiler, mlx = find_compiler(), find_mlx()
    parts = [mlx.version, _digest(mlx.library), str(mlx.library), *compiler.command, compiler.version, *_FLAGS]
    parts += [f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in (source, *headers())]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]
    library = cache_folder() / f"{source.stem}-{mlx.version}-{key}.so"
    if library.is_file():
        return library
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        # Compiled beside its final name and renamed: another process sees a whole library or none.
        with tempfile.TemporaryDirectory(dir=library.parent) as folder:
            made = Path(folder) / library.name
            _compile(compiler, mlx, source, made)
            made.replace(library)
    except OSError as error:
        raise Unavailable(
            f"Compiled patches cannot be kept in {library.parent} ({error.strerror}): name another folder in "
            "GRADAUDIT_CACHE."
        ) from error
    return library


def _compile(compiler: Compiler, mlx: Mlx, source: Path, output: Path) -> None:
    search = ["-isystem", str(mlx.include), "-I", str(NATIVE)]
    link = [f"-L{mlx.library.parent}", "-lmlx", f"-Wl,-rpath,{mlx.library.parent}"]
    command = [*compiler.command, *_FLAGS, *search, str(source), "-o", str(output), *link]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, check=False)
    if result.returncode != 0:
        lines = result.stderr.splitlines()
        told = next((line for line in lines if "error: " in line), lines[0] if lines else "no message")
        name = Path(compiler.command[0]).name
        raise Unavailable(f"{name} could not compile {source.name} against MLX {mlx.version}: {told.strip()}")


@lru_cache
def _version(program: str) -> str:
    result = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return result.stdout.partition("\n")[0].strip()


@lru_cache
def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
