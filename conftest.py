"""What every test run shares: one thread, the Hypothesis profiles, and a header that says what is under test."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.errors import InvalidArgument

# No deadline in any profile: whether a test passes must not depend on how busy the machine is.
settings.register_profile("fast", max_examples=10, deadline=None)
settings.register_profile("ci", max_examples=25, deadline=None, derandomize=True, print_blob=True)
settings.register_profile(
    "nightly", max_examples=500, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "fast")


def pytest_configure(config: pytest.Config) -> None:
    """Load the profile from HYPOTHESIS_PROFILE, unless --hypothesis-profile names another."""
    if config.getoption("--hypothesis-profile", default=None) is None:
        try:
            settings.load_profile(PROFILE)
        except InvalidArgument:
            message = f"HYPOTHESIS_PROFILE={PROFILE} is no profile. Write fast, ci or nightly."
            raise pytest.UsageError(message) from None


def pytest_report_header() -> str:
    """Versions of what is under test and of what it is tested with."""
    names = ("mlx", "numpy", "python-flint", "mpmath", "pyarrow")
    return "audits: " + ", ".join(f"{name} {_version(name)}" for name in names)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
