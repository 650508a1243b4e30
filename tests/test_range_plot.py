"""The picture of the exponent range shows the worst finding at each exponent, and nothing where nothing was asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from audit.formats import FLOAT16
from audit.reference import References
from audit.report.range_plot import COLOURS, _strips, plot_range
from audit.run import Selection, collect, plan


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    chosen = Selection(keyword="common scale".replace(" ", " and "), formats=("float16",), size="quick")
    return collect(plan(chosen), References(opinions=0))[0]


def test_each_exponent_shows_its_worst_finding(rows: pa.Table) -> None:
    exponents, shown = _strips(rows, FLOAT16, [("mlx", "grad1"), ("mlx", "grad3"), ("absent", "grad1")])
    names = [*COLOURS, "nothing"]
    first = dict(zip(exponents.tolist(), (names[i] for i in shown[0]), strict=True))
    assert first[0] == "right"
    assert first[-15] == "overflowed"
    assert first[13] == "vanished"
    assert names[shown[1][0]] == "nothing", "the third derivative is not asked at the lowest exponents"
    assert set(shown[2]) == {names.index("nothing")}
    wrong = {r["primals"][0] for r in rows.to_pylist() if r["mode"] == "grad1" and r["verdict"] in COLOURS}
    scales = np.frexp(FLOAT16.from_bits(np.array(sorted(wrong), np.uint64)))[1] - 1
    assert set(scales.tolist()) <= {k for k, name in first.items() if name != "right"}


def test_the_picture_is_the_same_each_time(rows: pa.Table, tmp_path: Path) -> None:
    assert plot_range(rows, ["mlx"], tmp_path / "a.svg")
    assert plot_range(rows, ["mlx"], tmp_path / "b.svg")
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    assert "float16" in text
    assert "mlx 3rd" in text


def test_without_rows_there_is_no_picture(rows: pa.Table, tmp_path: Path) -> None:
    assert not plot_range(rows.slice(0, 0), ["mlx"], tmp_path / "a.svg")
    assert not (tmp_path / "a.svg").exists()
