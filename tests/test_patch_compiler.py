"""Patches are compiled once, and where they cannot be, the reason is one line."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from audit.errors import Unavailable
from audit.patches import compiler
from audit.patches.hotpatch import HotPatch
from audit.patches.implementations import PATCHES

SOURCE = "int gradaudit_nothing() { return 0; }\n"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("GRADAUDIT_CACHE", str(folder))
    return folder


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that writes a line for each compilation and then does it; the file with the lines."""
    real = shutil.which("g++") or shutil.which("clang++")
    if real is None:
        pytest.skip("no C++ compiler")
    lines = tmp_path / "compilations"
    wrapper = tmp_path / "counting-g++"
    wrapper.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] || echo compiled >> "{lines}"\nexec "{real}" "$@"\n',
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("CXX", str(wrapper))
    return lines


def source(folder: Path, text: str = SOURCE) -> Path:
    path = folder / "nothing.cpp"
    path.write_text(text)
    return path


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    patch = HotPatch("mlx+divide", "mx.divide", PATCHES["divide"].source)
    reason = patch.check()
    assert "apt install g++" in reason
    assert "xcode-select --install" in reason
    assert "\n" not in reason
    assert patch.describe()[-1].endswith(reason)
    with pytest.raises(Unavailable, match="apt install"), patch.on():
        pass
    assert not cache.exists()


def test_compiler_named_in_cxx_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -m64")
    with pytest.raises(Unavailable, match="CXX names 'no-such-compiler'"):
        compiler.find_compiler()


def test_cache_hit_compiles_nothing(tmp_path: Path, cache: Path, counting: Path) -> None:
    path = source(tmp_path)
    first = compiler.build(path)
    assert first.parent == cache
    assert compiler.build(path) == first
    assert counting.read_text().splitlines() == ["compiled"]


def test_a_changed_source_or_compiler_compiles_anew(
    tmp_path: Path, cache: Path, counting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compiler.build(source(tmp_path))
    second = compiler.build(source(tmp_path, SOURCE + "// changed\n"))
    monkeypatch.setenv("CXX", f"{tmp_path / 'counting-g++'} -g0")
    third = compiler.build(source(tmp_path, SOURCE + "// changed\n"))
    assert len({first, second, third}) == 3
    assert len(counting.read_text().splitlines()) == 3
    assert sorted(path.name for path in cache.iterdir()) == sorted(p.name for p in (first, second, third))


def test_compilation_error_is_one_line_and_leaves_nothing(tmp_path: Path, cache: Path, counting: Path) -> None:
    with pytest.raises(Unavailable, match=r"could not compile nothing\.cpp against MLX .*error: ") as raised:
        compiler.build(source(tmp_path, "int f() { return undeclared; }\n"))
    assert "\n" not in str(raised.value)
    assert list(cache.iterdir()) == []


def test_cache_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counting: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("GRADAUDIT_CACHE", str(blocked / "below"))
    with pytest.raises(Unavailable, match="name another folder in GRADAUDIT_CACHE"):
        compiler.build(source(tmp_path))


def test_a_damaged_library_is_named(tmp_path: Path, cache: Path, counting: Path) -> None:
    patch = HotPatch("nothing", "mx.divide", source(tmp_path))
    patch.library.write_bytes(b"not a library")
    assert "delete it, so that it is compiled again" in patch.check()


def test_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADAUDIT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert compiler.cache_folder() == Path("/elsewhere/gradaudit/patches")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert compiler.cache_folder() == Path.home() / ".cache" / "gradaudit" / "patches"


def test_mlx_is_found_with_headers_and_library() -> None:
    mlx = compiler.find_mlx()
    assert (mlx.include / "mlx" / "mlx.h").is_file()
    assert mlx.library.suffix == (".dylib" if sys.platform == "darwin" else ".so")
