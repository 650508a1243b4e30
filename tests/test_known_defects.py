"""A known defect is recognised at the input of its baseline, and the processes that look for defects share the work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from audit.defects import find
from audit.defects.apart import apart
from audit.defects.find import joined
from audit.defects.subjects import registered
from audit.reference import References
from audit.run.examine import Inquiry, examined
from audit.run.execute import execute
from audit.run.plan import Selection, plan
from audit.store import Store
from tests.defect_examples import EXAMPLES, found_in

SELECTION = Selection("mx.reciprocal or mx.tan or mx.log2", ("float32",), size="quick")


def by_id(content: dict[str, Any]) -> dict[str, Any]:
    return {entry["id"]: entry for entry in content["defects"]}


@pytest.mark.parametrize("name", EXAMPLES)
def test_known_defects_are_told_as_they_were_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = list(EXAMPLES[name].batches())
    first = json.loads(json.dumps(found_in(batches).to_json()))
    monkeypatch.setattr(find, "shrink", None)
    again = json.loads(json.dumps(found_in(batches, known=by_id(first)).to_json()))
    assert again == first


def test_what_is_right_at_the_known_input_is_shrunk_anew() -> None:
    batches = list(EXAMPLES["range"].batches())
    first = json.loads(json.dumps(found_in(batches).to_json()))
    (name, entry), *_ = by_id(first).items()
    innocent = {x: ["0x1p+0"] for x in entry["shrunk"]["primals"]}
    known = {name: entry | {"shrunk": entry["shrunk"] | {"primals": innocent}, "safe_band": None}}
    assert found_in(batches, known=known).to_json()["defects"] == found_in(batches).to_json()["defects"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sealed run of a few operations."""
    store, made = Store(tmp_path_factory.mktemp("run")), plan(SELECTION)
    execute(made, store, References())
    store.seal([shard.key for shard in made.shards])
    return store.folder


def test_what_is_found_does_not_depend_on_the_number_of_processes(run: Path) -> None:
    inquiry = Inquiry(run, "mlx", (), "cpu", None)
    alone, doubts = examined(inquiry, 1)
    assert doubts == []
    assert {"mx.reciprocal", "mx.tan", "mx.log2"} <= set(alone["operations"])
    assert any(name.startswith("mx.reciprocal-") for name in by_id(alone))
    assert examined(inquiry, 3) == (alone, doubts)
    known, _ = examined(Inquiry(run, "mlx", (), "cpu", None, by_id(alone)), 2)
    assert known == alone


def test_parts_are_apart_by_case(run: Path) -> None:
    parts = apart(run / "rows.parquet", registered())
    assert len(parts) > 1
    assert sorted(index for part in parts for index in part) == list(range(sum(map(len, parts))))


def test_what_is_found_apart_is_joined_in_order() -> None:
    whole = found_in([batch for name in ("range", "poison") for batch in EXAMPLES[name].batches()]).to_json()
    halves = [
        {
            name: entries[k::2] if isinstance(entries, list) else dict(list(entries.items())[k::2])
            for name, entries in whole.items()
        }
        for k in (1, 0)
    ]
    assert joined(halves) == whole
