"""What the rows of a run say, gathered while they stream by: how often and where each question is right and wrong.

Rows are read one row group at a time. Of right rows only their number by reach is kept, of wrong ones the simplest few
of each bucket. The *reach* of a point is the largest magnitude of the exponents of its primals and weights, zeros and
infinities left out; a point is *singular* if one of them is zero, infinite or NaN.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from audit.formats import Bits, Floats, Format, lookup
from audit.report.counts import coded
from audit.rows import read_formats, read_shapes
from audit.verdict import MISMATCHES

REACHES = 1100
# Simplest rows kept of each bucket.
KEPT = 6
# The columns that tell which operations are wrong somewhere.
OVERVIEW = ("case", "function", "implementation", "format", "verdict", "convention")
# Verdicts that say nothing of a rule.
UNTOLD = ("not_run", "inconclusive", "undefined")
# Reaches that are kept apart, so that the simplest row of a far region is there too.
EDGES = np.array([4, 8, 16, 32, 64, 128, 256, 512])

Ints = NDArray[np.int64]


class Cell(NamedTuple):
    """One question, whatever its points: what all rows that are judged alike have in common."""

    case: str
    function: str
    format: str
    mode: str
    traced: str
    argument: str
    layout: str
    wrap: str

    @property
    def plain(self) -> Cell:
        """The same question without a transform, of contiguous arrays."""
        return self._replace(layout="contiguous", wrap="")


class Key(NamedTuple):
    """What the rows of a bucket have in common."""

    cell: Cell
    verdict: str
    message: str
    singular: bool
    region: int
    repaired_by: str


@dataclass
class Tally:
    """How often a cell is right and wrong, by singular and reach: int64 ``[2, REACHES]``.

    Args:
        right: how often it is right.
        zero: how often the right value is zero, of those.
        wrong: by verdict.
    """

    right: Ints = field(default_factory=lambda: np.zeros((2, REACHES), np.int64))
    zero: Ints = field(default_factory=lambda: np.zeros((2, REACHES), np.int64))
    wrong: dict[str, Ints] = field(default_factory=lambda: defaultdict(lambda: np.zeros((2, REACHES), np.int64)))


@dataclass
class Bucket:
    """Wrong rows of one cell that look alike.

    Args:
        key: what they have in common.
        count: how many there are.
        least, most: the relative error lies between; infinite where there is none.
        rows: the simplest of them, with how simple each is, simplest first.
    """

    key: Key
    count: int = 0
    forward_wrong: int = 0
    least: float = np.inf
    most: float = 0.0
    rows: list[tuple[tuple[float, ...], dict[str, Any]]] = field(default_factory=list)

    def wants(self, rank: tuple[float, ...]) -> bool:
        """Whether a row of that rank may be one of the simplest."""
        return len(self.rows) < KEPT or rank <= self.rows[-1][0]

    def offer(self, found: Sequence[tuple[tuple[float, ...], dict[str, Any]]]) -> None:
        """Keep the simplest."""
        merged = sorted([*self.rows, *found], key=lambda pair: (pair[0], pair[1]["id"]))
        self.rows = merged[:KEPT]


@dataclass
class Evidence:
    """What a run says of one implementation.

    Args:
        tallies: by cell, for the operations that are wrong somewhere.
        buckets: wrong rows.
        conventions: rows that are right as one of several right answers, simplest first, a few of each cell.
        comparisons: number of rows, by operation.
        seen: operations that have rows, with their formats.
    """

    tallies: dict[Cell, Tally] = field(default_factory=lambda: defaultdict(Tally))
    buckets: dict[Key, Bucket] = field(default_factory=dict)
    conventions: dict[Cell, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    comparisons: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    seen: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


Parts = Callable[[Sequence[str] | None], Iterator[pa.Table]]
OperationOf = Callable[[str, str], str]


def gather(parts: Parts, implementation: str, operation_of: OperationOf, patched: Sequence[str] = ()) -> Evidence:
    """Read all rows of an implementation, twice: first where it is wrong, then what it does there.

    Args:
        parts: called twice with the names of the columns that are needed, or None for all of `audit.rows.SCHEMA`; gives
            the rows in parts.
        implementation: whose rows.
        operation_of: the operation of a case and a function, by their names.
        patched: implementations whose rows, in the same part, tell what a repair of one primitive makes right.
    """
    evidence = Evidence()
    wrong: set[str] = set()
    for part in parts(OVERVIEW):
        wrong |= _overview(part, implementation, operation_of, evidence)
    for part in parts(None):
        _take_in(part, implementation, operation_of, wrong, patched, evidence)
    return evidence


def _overview(part: pa.Table, implementation: str, operation_of: OperationOf, evidence: Evidence) -> set[str]:
    """Count rows, and name the operations that are wrong somewhere."""
    chosen = _where(part, "implementation", lambda name: name == implementation)
    cases, functions, formats = coded(part, "case"), coded(part, "function"), coded(part, "format")
    verdicts = coded(part, "verdict")
    bad = np.array([name in MISMATCHES for name in verdicts[1]] or [False])[verdicts[0]]
    judged = np.array([name != "not_run" for name in verdicts[1]] or [False])[verdicts[0]]
    bad |= np.asarray(part["convention"])
    combined = (cases[0] * len(functions[1]) + functions[0]) * len(formats[1]) + formats[0]
    values, inverse = np.unique(combined[chosen], return_inverse=True)
    wrong = set()
    for place, value in enumerate(values):
        pair, fmt = divmod(int(value), len(formats[1]))
        case, function = divmod(pair, len(functions[1]))
        operation = operation_of(cases[1][case], functions[1][function])
        own = inverse == place
        evidence.comparisons[operation] += int(own.sum())
        if judged[chosen][own].any():
            evidence.seen[operation].add(formats[1][fmt])
        if bad[chosen][own].any():
            wrong.add(operation)
    return wrong


def _take_in(
    part: pa.Table,
    implementation: str,
    operation_of: OperationOf,
    wrong: set[str],
    patched: Sequence[str],
    evidence: Evidence,
) -> None:
    cases, functions = coded(part, "case"), coded(part, "function")
    pairs = cases[0] * len(functions[1]) + functions[0]
    known = {
        int(pair): operation_of(cases[1][pair // len(functions[1])], functions[1][pair % len(functions[1])])
        for pair in np.unique(pairs)
    }
    interesting = np.isin(pairs, [pair for pair, operation in known.items() if operation in wrong])
    if not interesting.any():
        return
    own = _where(part, "implementation", lambda name: name == implementation)
    repaired = _repaired(part, own, patched)
    chosen = np.flatnonzero(own & interesting)
    if not len(chosen):
        return
    columns = _Columns(part)
    codes = np.zeros(len(chosen), np.int64)
    named = {name: coded(part, name) for name in (*Cell._fields, "shapes", "got_format")}
    for indices, names in named.values():
        codes = codes * max(len(names), 1) + indices[chosen]
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(chosen)], strict=True):
        index = chosen[order[start:stop]]
        names = {name: texts[indices[index[0]]] for name, (indices, texts) in named.items()}
        _cell(columns, index, names, repaired, evidence)
    columns.settle()


class _Columns:
    """The columns of a part as arrays, so that the rows of many cells are picked from them cheaply."""

    def __init__(self, part: pa.Table) -> None:
        self.part = part
        self.verdict, self.verdicts = coded(part, "verdict")
        self.bad = np.array([name in MISMATCHES for name in self.verdicts] or [False])[self.verdict]
        self.element = part["element"].to_numpy()
        self.convention = np.asarray(part["convention"])
        self.forward_wrong = np.asarray(part["forward_wrong"])
        said = pc.fill_null(part["message"].cast(pa.string()), "").combine_chunks().dictionary_encode()
        said = said.chunk(0) if isinstance(said, pa.ChunkedArray) else said
        self.message, self.messages = said.indices.to_numpy().astype(np.int64), said.dictionary.to_pylist()
        numbers = ("error", "right", "right_imag")
        self.floats = {name: part[name].to_numpy().astype(np.float64) for name in numbers}
        # Candidates to be kept, whose rows are read all at once.
        self.offers: list[tuple[Bucket, list[tuple[float, ...]], Ints]] = []
        self._lists = {name: _flat(part[name]) for name in ("primals", "weights")}

    def numbers(self, name: str, index: Ints) -> Bits:
        """The encodings in a list column, ``[rows, numbers]``; all rows have as many."""
        values, offsets = self._lists[name]
        count = int(offsets[index[0] + 1] - offsets[index[0]])
        return values[offsets[index][:, None] + np.arange(count)]

    def rows(self, index: Ints) -> list[dict[str, Any]]:
        """Some rows as mappings."""
        return self.part.take(pa.array(index)).to_pylist()

    def settle(self) -> None:
        """Hand the rows of all candidates to their buckets."""
        if not self.offers:
            return
        wanted = np.unique(np.concatenate([index for _, _, index in self.offers]))
        rows = dict(zip(wanted.tolist(), self.rows(wanted), strict=True))
        for bucket, ranks, index in self.offers:
            bucket.offer(list(zip(ranks, (rows[i] for i in index.tolist()), strict=True)))


def _flat(column: pa.ChunkedArray) -> tuple[Bits, Ints]:
    """The values of all lists, and where each begins."""
    lists = column.combine_chunks()
    lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
    offsets = lists.offsets.to_numpy().astype(np.int64)
    return lists.flatten().to_numpy(zero_copy_only=False), offsets - offsets[0]


def _cell(
    columns: _Columns, index: Ints, names: Mapping[str, str], repaired: Mapping[int, str], evidence: Evidence
) -> None:
    """Take in rows of one cell that have the same shapes."""
    cell = Cell(*(names[name] for name in Cell._fields))
    verdict, element = columns.verdict[index], columns.element[index]
    first = element == 0
    point = np.cumsum(first) - 1
    reach, singular, bits = (x[point] for x in _points(columns, index[first], names))
    special = singular.astype(np.int64)
    tally = evidence.tallies[cell]
    for code in np.unique(verdict):
        name, here = columns.verdicts[code], verdict == code
        if name not in UNTOLD:
            counts = tally.wrong[name] if name in MISMATCHES else tally.right
            np.add.at(counts, (special[here], reach[here]), 1)
            if name not in MISMATCHES:
                nothing = here & (columns.floats["right"][index] == 0)
                np.add.at(tally.zero, (special[nothing], reach[nothing]), 1)
    _conventions(columns, index, cell, evidence)
    bad = np.flatnonzero(columns.bad[index])
    if not len(bad):
        return
    relative = _relative(columns, index, lookup(names["got_format"]))
    size = float(sum(np.prod(shape, dtype=int) for shape in read_shapes(names["shapes"])[0].values()))
    region = np.searchsorted(EDGES, reach, side="right")
    fixes = sorted({name for name in map(repaired.get, index[bad].tolist()) if name}) if repaired else []
    fixed = np.array([fixes.index(repaired[i]) + 1 if i in repaired else 0 for i in index.tolist()] if fixes else 0)
    kinds = np.stack([verdict, columns.message[index], special, region, np.broadcast_to(fixed, len(index))], axis=1)[
        bad
    ]
    combos, inverse = np.unique(kinds, axis=0, return_inverse=True)
    for place, combo in enumerate(combos):
        members = bad[inverse.reshape(-1) == place]
        code, message, is_special, where, repair = (int(x) for x in combo)
        key = Key(
            cell,
            columns.verdicts[code],
            columns.messages[message],
            bool(is_special),
            where,
            fixes[repair - 1] if repair else "",
        )
        bucket = evidence.buckets.setdefault(key, Bucket(key))
        bucket.count += len(members)
        bucket.forward_wrong += int(columns.forward_wrong[index[members]].sum())
        errors = relative[members]
        errors = errors[np.isfinite(errors)]
        if len(errors):
            bucket.least, bucket.most = min(bucket.least, errors.min()), max(bucket.most, errors.max())
        simplest = members[np.lexsort((element[members], bits[members], reach[members]))][:KEPT]
        ranks = [(size, float(reach[i]), float(bits[i]), float(element[i])) for i in simplest]
        kept = [place for place, rank in enumerate(ranks) if bucket.wants(rank)]
        if kept:
            columns.offers.append((bucket, [ranks[place] for place in kept], index[simplest[kept]]))


def _points(columns: _Columns, index: Ints, names: Mapping[str, str]) -> tuple[Ints, NDArray[np.bool_], Ints]:
    """Reach, singularity and number of significant bits of each point, from the encodings of its numbers."""
    arguments, weights = read_shapes(names["shapes"])
    formats = [lookup(name) for name in read_formats(names["shapes"], names["format"])]
    count = len(index)
    reach, singular, bits = np.zeros(count, np.int64), np.zeros(count, bool), np.zeros(count, np.int64)
    groups = [("primals", list(arguments.values()), formats[: len(arguments)])]
    groups.append(("weights", weights, formats[len(arguments) :]))
    for column, shapes, own in groups:
        numbers = columns.numbers(column, index)
        taken = 0
        for shape, fmt in zip(shapes, own, strict=True):
            size = int(np.prod(shape, dtype=int)) * fmt.parts
            exponent, digits, ordinary = anatomy(numbers[:, taken : taken + size], fmt)
            taken += size
            if size:
                reach = np.maximum(reach, np.where(ordinary, np.abs(exponent), 0).max(axis=1))
                # Zero is a fine imaginary part.
                special = ~ordinary if fmt.parts == 1 else ~(ordinary[:, ::2] | ordinary[:, 1::2])
                singular |= special.any(axis=1)
                bits += np.where(ordinary, digits, 0).sum(axis=1)
    return np.minimum(reach, REACHES - 1), singular, bits


def anatomy(bits: Bits, fmt: Format) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Exponent, number of significant bits after the first, and whether it is finite and not zero, of each number.

    Args:
        bits: encodings of the format (of one component, if complex), of any shape.
        fmt: the format.
    """
    places = fmt.precision - 1
    field_bits = fmt.bits - fmt.precision
    biased = ((bits >> np.uint64(places)) & np.uint64((1 << field_bits) - 1)).astype(np.int64)
    fraction = (bits & np.uint64((1 << places) - 1)).astype(np.int64)
    normal = biased > 0
    whole = np.where(normal, fraction | (1 << places), fraction)
    safe = np.maximum(whole, 1)
    top = np.frexp(safe.astype(np.float64))[1].astype(np.int64) - 1
    lowest = np.frexp((safe & -safe).astype(np.float64))[1].astype(np.int64) - 1
    exponent = np.where(normal, biased - fmt.emax, top + fmt.esub)
    ordinary = (whole > 0) & (biased < (1 << field_bits) - 1)
    return exponent, top - lowest, ordinary


def _relative(columns: _Columns, index: Ints, fmt: Format) -> Floats:
    """Relative errors; NaN where there is none."""
    error, right, imag = (columns.floats[name][index] for name in ("error", "right", "right_imag"))
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(right), np.abs(np.nan_to_num(imag)))
        return np.where((size > 0) & np.isfinite(size), error * fmt.ulp(right) / size, np.nan)


def _conventions(columns: _Columns, index: Ints, cell: Cell, evidence: Evidence) -> None:
    marked = index[columns.convention[index]]
    room = KEPT - len(evidence.conventions.get(cell, ()))
    if len(marked) and room > 0:
        evidence.conventions[cell].extend(columns.rows(marked[:room]))


def _repaired(part: pa.Table, own: NDArray[np.bool_], patched: Sequence[str]) -> dict[int, str]:
    """Rows of the implementation, by place in the part, that a patched one has right."""
    bad = own & _where(part, "verdict", lambda name: name in MISMATCHES)
    if not patched or not bad.any():
        return {}
    good = _where(part, "verdict", lambda name: name in ("match", "allowed", "outside"))
    ids = part["id"].to_numpy()
    places = {int(ids[i]): int(i) for i in np.flatnonzero(bad)}
    found: dict[int, str] = {}
    for name in patched:
        wanted = good & _where(part, "implementation", lambda other, name=name: other == name)
        for identifier in ids[wanted & np.isin(ids, ids[bad])]:
            found.setdefault(places[int(identifier)], name)
    return found


def _where(rows: pa.Table, column: str, wanted: Callable[[str], bool]) -> NDArray[np.bool_]:
    codes, names = coded(rows, column)
    return np.array([wanted(name) for name in names] or [False])[codes]
