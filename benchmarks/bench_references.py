"""Distinct certified references a second on one core with an empty store, and the memory that a million points take.

Everything is included: conversion, the Taylor check at every point, mpmath's opinions. Run by ``make bench``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest

from audit.case import Batch, Tolerance
from audit.formats import FLOAT32, FLOAT64, Floats, Format
from audit.reference import References
from audit.verdict import judge
from tests.reference_examples import QUOTIENT, SCALED, batch, function, unary

# Processor time: others may be at work on the same machine.
pytestmark = pytest.mark.benchmark(timer=process_time)

POINTS = 100_000
ROOT = Path(__file__).parents[1]

MILLION = """
import resource
import numpy as np
from audit.formats import FLOAT32
from audit.reference import References
from tests.reference_examples import QUOTIENT, batch
rng = np.random.default_rng(7)
a, b, w = (FLOAT32.round(np.ldexp(rng.uniform(1, 2, 10**6), rng.integers(-126, 128, 10**6))) for _ in range(3))
References().enclose(batch(QUOTIENT, "vjp", (0, 1), [a, b], [w], FLOAT32))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def numbers(fmt: Format, low: int, high: int) -> Floats:
    rng = np.random.default_rng(high - low)
    signs = rng.choice([-1.0, 1.0], POINTS)
    return fmt.round(signs * np.ldexp(rng.uniform(1, 2, POINTS), rng.integers(low, high, POINTS)))


def quotient(fmt: Format) -> list[Batch]:
    a, b, w = (numbers(fmt, fmt.emin + k, fmt.emax - k) for k in range(3))
    return [batch(QUOTIENT, "vjp", (0, 1), [a, b], [w], fmt)]


def scaled(fmt: Format) -> list[Batch]:
    c, t, w = numbers(fmt, fmt.emin, fmt.emax), numbers(fmt, -8, 8), np.ones(POINTS)
    return [batch(SCALED, f"grad{order}", (1,), [c, t], [w], fmt) for order in (1, 2, 3)]


@pytest.mark.parametrize("fmt", [FLOAT32, FLOAT64], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("family", [quotient, scaled], ids=["a/b, vjp of both", "C/(C*t), orders 1 to 3"])
def test_references_a_second(benchmark: Any, family: Callable[[Format], list[Batch]], fmt: Format) -> None:
    asked = family(fmt)
    found: list[References] = []

    def compute() -> None:
        references = References()
        for one in asked:
            references.enclose(one)
        found.append(references)

    benchmark.pedantic(compute, rounds=3, warmup_rounds=1)
    assert found[-1].disagreements == []
    benchmark.extra_info["references a second"] = round(found[-1].computed / benchmark.stats.stats.min)


UNARY = {"sin": 4, "exp": 6, "log": 120, "sqrt": 120, "tanh": 4, "sigmoid": 6, "erf": 2, "arctan": 60, "abs": 120}


@pytest.mark.parametrize("name", UNARY)
def test_unary_references_a_second(benchmark: Any, name: str) -> None:
    x, w = np.abs(numbers(FLOAT32, -min(UNARY[name], 20), UNARY[name])), numbers(FLOAT32, -8, 8)
    found: list[References] = []

    def compute() -> None:
        found.append(References())
        found[-1].enclose(batch(unary(name), "vjp", (0,), [x], [w], FLOAT32))

    benchmark.pedantic(compute, rounds=3, warmup_rounds=1)
    assert found[-1].disagreements == []
    benchmark.extra_info["references a second"] = round(found[-1].computed / benchmark.stats.stats.min)


def _kept(folder: Path, asked: Batch) -> None:
    """Compute and keep the right values of a batch."""
    references = References(folder)
    references.enclose(asked)
    references.keep()


def test_references_kept_are_read_and_judged(benchmark: Any, tmp_path: Path) -> None:
    x, w = numbers(FLOAT32, -20, 4), numbers(FLOAT32, -8, 8)
    asked = batch(unary("sin"), "vjp", (0,), [x], [w], FLOAT32)
    _kept(tmp_path, asked)

    def judged() -> int:
        (answer,) = References(tmp_path).enclose(asked)
        right = answer.real.to_format(FLOAT32)
        return len(judge(right.value, right, FLOAT32, Tolerance()).verdict)

    count = benchmark.pedantic(judged, rounds=5)
    benchmark.extra_info["references a second"] = round(count / benchmark.stats.stats.min)


def test_a_layer_norm_of_4096_elements(benchmark: Any) -> None:
    def body(m: Any, x: Any, weight: Any) -> Any:
        deviation = x - m.mean(x)
        return deviation * m.rsqrt(m.mean(m.square(deviation)) + 1) * weight

    f = function("layer_norm(x) * weight", "x weight", body, elementwise=False)
    rng = np.random.default_rng(5)

    def ask() -> Batch:
        x, weight, w = (np.round(rng.uniform(-2, 2, (1, 4096)) * 64) / 64 for _ in range(3))
        return batch(f, "vjp", (0, 1), [x, weight], [w], FLOAT32)

    # Recorded once a shape; what is measured is a point.
    References().enclose(ask())
    benchmark.pedantic(lambda asked: References().enclose(asked), setup=lambda: ((ask(),), {}), rounds=3)


def test_references_kept_are_read(benchmark: Any, tmp_path: Path) -> None:
    (asked,) = quotient(FLOAT32)
    _kept(tmp_path, asked)
    found = benchmark.pedantic(lambda: References(tmp_path).enclose(asked), rounds=5)
    benchmark.extra_info["references a second"] = round(sum(len(a.real) for a in found) / benchmark.stats.stats.min)


def test_memory_for_a_million_points(benchmark: Any) -> None:
    command = [sys.executable, "-c", MILLION]

    def measure() -> str:
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout

    kilobytes = int(benchmark.pedantic(measure, rounds=1))
    benchmark.extra_info["peak MB"] = round(kilobytes / 1000)
