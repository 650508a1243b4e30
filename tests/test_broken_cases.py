"""A case file that cannot be used is named with its line, and the others run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

FILES = {
    "broken_syntax.py": "x = 1\n\ndef f(:\n",
    "broken_raise.py": "x = 1\n\nraise RuntimeError('boom')\n",
    "broken_import.py": "import nothing_like_this\n",
    "not_a_case.py": "CASE = 5\n",
    "bad_points.py": """from audit.case import Case
from audit.formats import FLOAT16


def series(fmt):
    raise ValueError("no points today")
    yield


CASE = Case("bad", "mx.bad", (), (FLOAT16,), series, (), "1", "bad-1")
""",
}
NAMED = {
    "cases.broken_syntax": "broken_syntax.py:3",
    "cases.broken_raise": "broken_raise.py:3",
    "cases.broken_import": "broken_import.py:1",
    "cases.not_a_case": "CASE is of type int: make it an audit.case.Case",
    "cases.bad": "bad_points.py:6",
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with case files that cannot be used."""
    root = tmp_path_factory.mktemp("copy")
    for folder in ("audit", "cases", "reports"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("runs", "__pycache__"))
    for name, text in FILES.items():
        (root / "cases" / name).write_text(text)
    return root


def gradaudit(root: Path, *words: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "audit", *words]
    done = subprocess.run(command, cwd=root, env=None, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_run_goes_on_without_them_and_ends_with_status_2(copy: Path) -> None:
    words = ("run", "--quick", "-k", "(1328 and grid and bfloat16) or bad", "--output", str(copy / "run"))
    status, text = gradaudit(copy, *words)
    assert status == 2
    assert "divide-1328 bfloat16: 189 comparisons" in text
    assert "5 parts of the audit failed, the others are done" in text
    summary = (copy / "run" / "summary.md").read_text()
    for module, place in NAMED.items():
        told = next(line for line in summary.splitlines() if line.startswith(f"- {module} "))
        assert place in told


def test_the_list_names_them_beside_the_others(copy: Path) -> None:
    status, text = gradaudit(copy, "list")
    assert status == 0
    assert "case divide: mx.divide" in text
    for module, place in NAMED.items():
        assert any(line.startswith(module) and place in line for line in text.splitlines())
