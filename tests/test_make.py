from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAKE = shutil.which("make") or ""
TARGETS = ("audit", "test", "bench", "lint", "compare", "nightly")
pytestmark = pytest.mark.skipif(not MAKE, reason="there is no make")


def make(*arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = [MAKE, "--no-print-directory", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=kept | ({"PATH": path} if path else {}), capture_output=True, text=True, check=False
    )


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with a shell and little else, to be the whole PATH."""
    for name in ("sh", "uname", "rm", "touch", "echo", "test"):
        found = shutil.which(name)
        if found:
            (tmp_path / name).symlink_to(found)
    return tmp_path


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("target", TARGETS)
def test_targets_exist(target: str) -> None:
    done = make("-n", target)
    assert done.returncode == 0, done.stderr
    assert ".venv/bin/" in done.stdout


def test_help_is_the_default_and_lists_every_target() -> None:
    text = make().stdout
    for target in TARGETS:
        assert re.search(rf"^  {target} +\w", text, re.MULTILINE)


def test_another_mlx_has_an_environment_of_its_own() -> None:
    text = make("-n", "audit", "MLX=0.0.1").stdout
    assert ".venv-0.0.1/bin/gradaudit audit" in text
    assert re.search(r"'mlx(\[cpu\])?==0\.0\.1'", text)
    assert ".venv/" not in text


def test_the_pinned_mlx_is_the_default() -> None:
    text = (ROOT / "Makefile").read_text()
    pinned, default = re.findall(r"^(?:PINNED_)?MLX (?::|\?)= (.+)$", text, re.MULTILINE)
    assert pinned == default


def test_a_missing_python_is_one_line(tools: Path) -> None:
    done = make("audit", "MLX=0.0.1", path=str(tools))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "'python3' is not Python 3.11 or newer: install that" in line


def test_a_missing_venv_module_is_one_line(tools: Path) -> None:
    script(tools / "python3", 'case "$2" in *ensurepip*) exit 1;; esac')
    done = make("audit", "MLX=0.0.1", path=str(tools))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "'python3' has no venv module: install it (Debian and Ubuntu: apt install python3-venv)" in line


def test_a_missing_compiler_is_only_a_warning(tools: Path) -> None:
    done = make("compiler", path=str(tools))
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert "g++ is missing" in line
    assert "install it" in line


def test_every_version_is_pinned_and_mlx_is_not() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line) for line in lines)
    names = [line.partition("==")[0] for line in lines]
    assert names == sorted(set(names))
    assert not any(line.startswith("mlx") for line in lines)


def test_no_file_names_a_network_address() -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt", ".ci/run"):
        assert "://" not in (ROOT / name).read_text(), name
