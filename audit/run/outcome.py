"""What came of a shard, or of a run, beside its rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from audit.verdict import MISMATCHES

# In the order in which they are told.
KINDS = ("points", "references", "mlx", "compiling", "judging", "witnesses", "writing")


@dataclass
class Outcome:
    """What a run did beside its rows.

    Args:
        verdicts: number of rows by (implementation, series, verdict).
        seconds: wall time by kind of work, over all workers; ``"mlx"`` is without ``"compiling"``, which is the time
            of the C++ compilers that MLX and the patches start.
        references: how many right values were computed and how many were found in the store.
        compilations: kernels that MLX compiled.
        contradictions: places where reference and witness, or reference and second opinion, disagree.
        failures: shards that could not be run, and why; the others were.
        notes: what else the reader of the reports should know, a sentence each.
        unkept: why right values are not kept for the next run, or an empty string.
    """

    verdicts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    references: Counter[str] = field(default_factory=Counter)
    compilations: int = 0
    contradictions: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unkept: str = ""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.verdicts.total()

    @property
    def mismatches(self) -> int:
        """Number of rows that are mismatches."""
        return sum(count for (_, _, verdict), count in self.verdicts.items() if verdict in MISMATCHES)

    def count(self, table: pa.Table) -> None:
        """Add the verdicts of some rows."""
        columns = ["implementation", "series", "verdict"]
        plain = pa.table({name: pc.cast(table.column(name), pa.string()) for name in columns})
        for group in plain.group_by(columns).aggregate([([], "count_all")]).to_pylist():
            self.verdicts[group["implementation"], group["series"], group["verdict"]] += group["count_all"]

    def spend(self, seconds: Mapping[str, float]) -> None:
        """Add seconds by kind of work."""
        for kind, spent in seconds.items():
            self.seconds[kind] = self.seconds.get(kind, 0.0) + spent

    def to_text(self) -> str:
        """As one line of JSON."""
        content = vars(self) | {"verdicts": [[*key, count] for key, count in sorted(self.verdicts.items())]}
        return json.dumps(content)

    def remarks(self) -> str:
        """What is kept with the rows of a run: of `to_text`, what depends on nothing but the rows."""
        return Outcome(verdicts=self.verdicts, contradictions=self.contradictions).to_text()

    @staticmethod
    def from_text(text: str) -> Outcome:
        """From what `to_text` wrote."""
        content: dict[str, Any] = json.loads(text)
        verdicts = Counter({(who, series, verdict): count for who, series, verdict, count in content["verdicts"]})
        return Outcome(**content | {"verdicts": verdicts, "references": Counter(content["references"])})

    @staticmethod
    def merged(outcomes: Iterable[Outcome]) -> Outcome:
        """The sum of some outcomes, with what they say in their order."""
        total = Outcome()
        for outcome in outcomes:
            total.verdicts.update(outcome.verdicts)
            total.spend(outcome.seconds)
            total.references.update(outcome.references)
            total.compilations += outcome.compilations
            total.contradictions += outcome.contradictions
            total.failures += outcome.failures
            total.notes += outcome.notes
            total.unkept = total.unkept or outcome.unkept
        return total

    def told(self) -> list[tuple[str, str]]:
        """What the run cost, as pairs of what and how much."""
        found = self.references
        lines = [("references", f"{found['computed']} computed, {found['reused']} found in the store")]
        names = {"mlx": "MLX", "compiling": f"compiling ({self.compilations} kernels)", "points": "making points"}
        spent = [kind for kind in KINDS if kind in self.seconds]
        lines += [(f"seconds, {names.get(kind, kind)}", f"{self.seconds[kind]:.1f}") for kind in spent]
        return lines
