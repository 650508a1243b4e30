"""What the README tells a newcomer to type works in a fresh clone, with an environment made from nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def commands() -> list[str]:
    """The commands of the first block of the README, without their comments."""
    block = re.search(r"(?:^ {4}\S.*\n)+", README, re.MULTILINE)
    assert block
    return [line.split("#")[0].strip() for line in block[0].splitlines()]


def test_the_readme_begins_with_the_two_commands() -> None:
    assert commands() == ["make audit", "make test"]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("not a git checkout")
    target = tmp_path_factory.mktemp("fresh") / "gradaudit"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(target)], check=True)
    return target


def make(clone: Path, *words: str) -> list[str]:
    # As in a shell of its own, even if make runs this test.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(["make", *words], cwd=clone, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout.strip().splitlines()


@pytest.mark.clone
def test_both_commands_work_in_a_fresh_clone(clone: Path) -> None:
    audit, test = (command.split()[1] for command in commands())
    said = make(clone, audit, "ARGS=--quick --format float16")
    assert any(line.startswith("As expected: mlx is wrong at exactly") for line in said)
    assert re.fullmatch(r"\d+ known defects found, 0 new, .*", said[-1])
    assert " passed" in make(clone, test, "ARGS=tests/test_store.py -q")[-1]
    left = subprocess.run(["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True, check=True)
    assert left.stdout == "", "a run must leave nothing that git would see"


def test_the_example_of_the_readme_does_what_its_comments_say() -> None:
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert code
    *good, bad = [line for line in code[1].splitlines() if line.strip()]
    scope: dict[str, object] = {}
    exec("\n".join(good), scope)  # noqa: S102  the README is ours
    told = bad.split("AssertionError: ")[1].removesuffix(" ...")
    with pytest.raises(AssertionError) as raised:
        exec(bad, scope)  # noqa: S102
    assert str(raised.value).startswith(told)
