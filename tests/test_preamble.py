"""The compiled header makes kernels cheaper and no other."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from audit.run import preamble
from audit.run.kernels import provide

KERNEL = "import mlx.core as mx; mx.eval(mx.compile(lambda x: mx.exp(x) * mx.sin(x) + x)(mx.ones(3)))"

pytestmark = pytest.mark.skipif(
    shutil.which("g++") is None or preamble._include() is None, reason="MLX includes no header here, or there is no g++"
)


def _kernel(temporary: Path) -> Path:
    """The source of the kernel that MLX compiles in a temporary folder."""
    subprocess.run([sys.executable, "-c", KERNEL], env={"TMPDIR": str(temporary), "PATH": "/usr/bin:/bin"}, check=True)
    (source,) = temporary.rglob("*.cpp")
    assert list(temporary.rglob("*.so"))
    return source


def _assembly(source: Path) -> tuple[str, str]:
    """The instructions of a kernel, and which headers the compiler says that it has read."""
    command = ["g++", *preamble.FLAGS, "-S", "-H", "-I", str(preamble._include()), str(source), "-o", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """The folder that processes share, with nothing in it."""
    return tmp_path / "whole"


def _version_folder(whole: Path) -> Path:
    from audit.run.kernels import _of_this_version

    found = _of_this_version(whole)
    assert found is not None
    return found


def test_kernels_are_the_same_with_a_compiled_header(tmp_path: Path, whole: Path) -> None:
    plain, quick = tmp_path / "plain", tmp_path / "quick"
    plain.mkdir()
    quick.mkdir()
    assert preamble.compile_header(_version_folder(whole))
    provide(quick, whole)
    instructions, read = _assembly(_kernel(plain))
    assert ".gch" not in read
    again, read = _assembly(_kernel(quick))
    assert read.startswith("! ")
    assert f"{preamble.HEADER}.gch" in read.splitlines()[0]
    assert again == instructions


def test_it_is_compiled_once(whole: Path) -> None:
    assert preamble.compile_header(whole)
    assert not preamble.compile_header(whole)


def test_two_do_not_compile_it_at_once(whole: Path) -> None:
    claim = (whole / f"{preamble.HEADER}.gch").with_suffix(".claim")
    claim.parent.mkdir(parents=True)
    claim.touch()
    assert not preamble.compile_header(whole)


def test_a_folder_that_cannot_be_written_to_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not preamble.compile_header(tmp_path / "file")
