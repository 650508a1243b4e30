"""Division: seconds for the whole 1328 series, comparisons a second in bulk, and memory for a million points."""

from __future__ import annotations

import resource
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator

import numpy as np
from pytest_benchmark.fixture import BenchmarkFixture

from audit.case import Batch, Mode, Tolerance
from audit.comparison import Question, compare
from audit.formats import FLOAT32, Format
from audit.identity import Origin
from audit.patches.implementations import IMPLEMENTATIONS
from audit.reference import References
from audit.run import Selection, collect, plan
from cases.divide_functions import QUOTIENT, RECIPROCAL

POINTS = 100_000
ORIGIN = Origin("bench", "1", "divide")


def test_the_whole_series_on_stock_and_patched_mlx(benchmark: BenchmarkFixture) -> None:
    """Asked: under 1 s of processor time, patches already compiled, import excluded."""
    chosen = plan(Selection(implementations=("mlx", "mlx+divide"), series_only=True))
    collect(chosen, References())
    seconds: list[float] = []

    def run() -> None:
        begun = time.process_time()
        collect(chosen, References())
        seconds.append(time.process_time() - begun)

    benchmark.pedantic(run, rounds=5)
    benchmark.extra_info["processor seconds"] = f"{min(seconds):.2f}"


def points(fmt: Format, seed: int, count: int = POINTS) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)

    def numbers() -> np.ndarray:
        mantissa = 1.0 + rng.integers(0, 2**12, count) / 2**12
        return fmt.round(np.ldexp(mantissa, rng.integers(-40, 41, count)))

    return numbers(), numbers(), numbers()


def batches(seed: int, count: int = POINTS) -> Iterator[tuple[Batch, Batch]]:
    """The vjp of both arguments and each jvp of a/b, and the first derivative and jvp of C/(C*t)."""
    a, b, g = points(FLOAT32, seed, count)
    tolerance = Tolerance(ulps=8)
    for i in (0, 1):
        yield (
            Batch("bulk", QUOTIENT, FLOAT32, Mode("vjp", (i,)), (a, b), (g,), tolerance),
            Batch("bulk", QUOTIENT, FLOAT32, Mode("jvp", (i,)), (a, b), (g,), tolerance),
        )
    scale = np.ldexp(1.0, np.frexp(a)[1])
    yield (
        Batch("bulk", RECIPROCAL, FLOAT32, Mode("vjp", (1,)), (scale, b), (g,), tolerance),
        Batch("bulk", RECIPROCAL, FLOAT32, Mode("jvp", (1,)), (scale, b), (g,), tolerance),
    )


def test_references_and_comparisons_in_bulk(benchmark: BenchmarkFixture) -> None:
    """Asked: 150,000 distinct references a second with an empty store, and 300,000 comparisons with them."""
    implementation = IMPLEMENTATIONS["mlx+divide"]
    figures: list[tuple[float, float]] = []

    def run(seed: int) -> None:
        references = References()
        referring = judging = 0.0
        rows = 0
        for pair in batches(seed):
            for batch in pair:
                begun = time.process_time()
                answers = references.enclose(batch)
                referred = time.process_time()
                rows += len(compare(Question(batch, ORIGIN, answers), implementation, references))
                referring += referred - begun
                judging += time.process_time() - referred
        figures.append((references.computed / referring, rows / (referring + judging)))

    seeds = iter(range(100))
    benchmark.pedantic(lambda: run(next(seeds)), rounds=3)
    best = np.max(figures, axis=0)
    benchmark.extra_info["references a second"] = f"{best[0]:,.0f}"
    benchmark.extra_info["comparisons a second"] = f"{best[1]:,.0f}"


def test_memory_for_a_million_points(benchmark: BenchmarkFixture) -> None:
    """Asked: a peak under 500 MB. Measured in a process of its own."""
    code = textwrap.dedent("""
        import sys
        sys.path.insert(0, "benchmarks")
        from bench_divide import peak_megabytes
        print(peak_megabytes(10**6))
    """)

    def run() -> float:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return float(done.stdout.split()[-1])

    benchmark.extra_info["peak MB"] = f"{benchmark.pedantic(run, rounds=1):.0f}"


def peak_megabytes(count: int) -> float:
    """Peak resident memory of this process after one vjp of a/b was compared at so many points in one batch."""
    references = References()
    batch = next(batches(0, count))[0]
    compare(Question(batch, ORIGIN, references.enclose(batch)), IMPLEMENTATIONS["mlx+divide"], references)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)
