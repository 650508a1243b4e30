"""The one loop: what an implementation got, against what is right, becomes rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from audit import modes
from audit.case import Batch, Implementation, Mode, Tolerance
from audit.difference import Witness
from audit.errors import Unavailable
from audit.formats import Bits, Floats, Format
from audit.identity import encodings, identify
from audit.reference import Answer, References
from audit.reference.enclosure import Right, Rounded
from audit.rows import SCHEMA, write_shapes
from audit.verdict import CODE, MISMATCHES, VERDICTS, Judgement, Verdict, judge

Index = NDArray[np.intp]
Witnesses = Callable[[Answer, Index], Witness]

MISMATCH_CODES = np.array([verdict in MISMATCHES for verdict in VERDICTS])


@dataclass(frozen=True)
class Origin:
    """Where rows come from.

    Args:
        series: name of the named series, or ``"families"``.
        version: version of the series.
        case: name of the case.
    """

    series: str
    version: str
    case: str

    @property
    def text(self) -> str:
        """What enters the ids of the rows."""
        return f"{self.series} {self.version} {self.case}"


@dataclass(frozen=True)
class Question:
    """One batch with everything that does not depend on the implementation.

    Args:
        batch: the points.
        origin: where it comes from.
        answers: right values of every compared argument.
        witnesses: takes central differences for some rows of an answer.
        witness_all: take them for every row; otherwise for the first mismatches only.
    """

    batch: Batch
    origin: Origin
    answers: Sequence[Answer]
    witnesses: Witnesses | None = None
    witness_all: bool = False


def compare(question: Question, implementation: Implementation, references: References) -> pa.Table:
    """Ask one implementation for a batch and judge what it returns.

    Nothing that MLX raises passes through: it becomes rows with the verdict `raises` or `unimplemented`.
    """
    batch = question.batch
    got, failure, message = _ask(batch, implementation)
    tables = []
    for index, answer in enumerate(question.answers):
        if got is None:
            tables.append(_table(question, implementation, answer, None, failure, message))
            continue
        one = got[index]
        due = (batch.points, *answer.shape)
        if not one.fault and one.real.shape != due:
            one = replace(one, fault=f"shape: got {one.real.shape[1:]}, {answer.shape} is due")
        if one.fault:
            verdict = Verdict(one.fault.partition(":")[0])
            tables.append(_table(question, implementation, answer, None, verdict, one.fault))
        else:
            tables.append(_table(question, implementation, answer, one, None, "", references))
    return pa.concat_tables(tables)


def _ask(batch: Batch, implementation: Implementation) -> tuple[list[modes.Got] | None, Verdict, str]:
    reason = implementation.unavailable()
    if reason:
        return None, Verdict.NOT_RUN, reason
    try:
        with implementation.active():
            return modes.ask(batch, implementation.arithmetic(), implementation.transform), Verdict.MATCH, ""
    except Unavailable as error:
        return None, Verdict.NOT_RUN, str(error)
    except Exception as error:  # noqa: BLE001  whatever the library raises is a finding
        text = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        missing = isinstance(error, NotImplementedError) or "not implemented" in text.lower()
        return None, Verdict.UNIMPLEMENTED if missing else Verdict.RAISES, text


def _table(
    question: Question,
    implementation: Implementation,
    answer: Answer,
    got: modes.Got | None,
    failure: Verdict | None,
    message: str,
    references: References | None = None,
) -> pa.Table:
    batch, fmt = question.batch, question.batch.format
    elements = int(np.prod(answer.shape, dtype=int))
    rows = batch.points * elements
    right = answer.real.to_format(fmt)
    right_imag = None if answer.imag is None else answer.imag.to_format(fmt)
    if failure is None and got is not None:
        judged = _judge(got, right, right_imag, fmt, batch.tolerance)
    else:
        nothing = np.full(rows, np.nan)
        judged = Judgement(np.full(rows, CODE[failure or Verdict.NOT_RUN]), nothing, nothing, nothing)
    mismatch = MISMATCH_CODES[judged.verdict]
    witness = _witness(question, answer, mismatch)
    forward_wrong = np.zeros(rows, bool)
    if references is not None and mismatch.any():
        forward_wrong = _forward_wrong(batch, implementation, references, mismatch, elements)
    primals, weights = encodings(batch)
    traced = ",".join(batch.function.arguments[i] for i in batch.mode.traced)
    coded = {
        "series": question.origin.series,
        "case": question.origin.case,
        "group": batch.group,
        "function": batch.function.name,
        "implementation": implementation.name,
        "format": fmt.name,
        "mode": batch.mode.kind,
        "traced": traced,
        "argument": answer.argument,
        "layout": batch.layout,
        "wrap": batch.wrap,
    }
    columns = {name: _constant(text, rows) for name, text in coded.items()}
    columns |= {
        "id": pa.array(identify(batch, question.origin.text, answer.argument, elements)),
        "point": pa.array(np.repeat(np.arange(batch.points, dtype=np.int32), elements)),
        "element": pa.array(np.tile(np.arange(elements, dtype=np.int32), batch.points)),
        "shapes": _constant(_shapes(batch), rows),
        "primals": _lists(primals, elements),
        "weights": _lists(weights, elements),
        "got": _got(got.real if got else None, fmt, rows),
        "got_imag": _got(got.imag if got else None, fmt, rows),
        **_right_columns(right, "", rows),
        **_right_columns(right_imag, "_imag", rows),
        "error": _nullable(judged.error),
        "tolerance": _nullable(judged.tolerance),
        "allowance": _nullable(judged.allowance),
        "verdict": pa.DictionaryArray.from_arrays(
            pa.array(judged.verdict.astype(np.int16)), pa.array([str(v) for v in VERDICTS])
        ),
        "absolute_mismatch": _absolute(got, right, right_imag, batch, rows),
        "forward_wrong": pa.array(forward_wrong),
        "convention": pa.array(np.zeros(rows, bool)),
        "witness": _nullable(witness.value),
        "witness_bound": _nullable(witness.bound),
        "message": _constant(message or None, rows),
    }
    return pa.table([columns[field.name] for field in SCHEMA], schema=SCHEMA)


def _judge(got: modes.Got, right: Right, right_imag: Right | None, fmt: Format, tolerance: Tolerance) -> Judgement:
    """Judge real numbers; of a complex number, keep the component that is further off."""
    real = judge(got.real.reshape(-1), right, fmt, tolerance)
    if right_imag is None or got.imag is None:
        return real
    imag = judge(got.imag.reshape(-1), right_imag, fmt, tolerance)
    share_real = np.nan_to_num(real.error / np.maximum(real.tolerance + real.allowance, 1e-300), nan=np.inf)
    share_imag = np.nan_to_num(imag.error / np.maximum(imag.tolerance + imag.allowance, 1e-300), nan=np.inf)
    bad_real, bad_imag = MISMATCH_CODES[real.verdict], MISMATCH_CODES[imag.verdict]
    second = np.where(bad_real == bad_imag, share_imag > share_real, bad_imag)
    return Judgement(
        np.where(second, imag.verdict, real.verdict),
        np.where(second, imag.error, real.error),
        np.where(second, imag.tolerance, real.tolerance),
        np.where(second, imag.allowance, real.allowance),
    )


WITNESSED_MISMATCHES = 32


def _witness(question: Question, answer: Answer, mismatch: NDArray[np.bool_]) -> Witness:
    rows = len(mismatch)
    value, bound = np.full(rows, np.nan), np.full(rows, np.nan)
    if question.witnesses is not None:
        chosen = np.arange(rows) if question.witness_all else np.flatnonzero(mismatch)[:WITNESSED_MISMATCHES]
        if len(chosen):
            taken = question.witnesses(answer, chosen)
            value[chosen], bound[chosen] = taken.value, taken.bound
    return Witness(value, bound)


def _forward_wrong(
    batch: Batch, implementation: Implementation, references: References, mismatch: NDArray[np.bool_], elements: int
) -> NDArray[np.bool_]:
    """Whether the forward value at the point of each mismatch is wrong as well."""
    bad_points = np.unique(np.flatnonzero(mismatch) // elements)
    forward = replace(
        batch,
        mode=Mode("forward", ()),
        primals=tuple(p[bad_points] for p in batch.primals),
        weights=(),
        compared=None,
        wrap="",
    )
    wrong = np.zeros(batch.points, bool)
    got, _, _ = _ask(forward, implementation)
    answer = references.enclose(forward)[0]
    if got is None or got[0].fault:
        return np.repeat(wrong, elements)
    right = answer.real.to_format(batch.format)
    imag = None if answer.imag is None else answer.imag.to_format(batch.format)
    judged = _judge(got[0], right, imag, batch.format, batch.tolerance)
    wrong[bad_points] = MISMATCH_CODES[judged.verdict].reshape(len(bad_points), -1).any(axis=1)
    return np.repeat(wrong, elements)


def _absolute(got: modes.Got | None, right: Right, right_imag: Right | None, batch: Batch, rows: int) -> pa.Array:
    """The original report's test, for the named series: ``abs(got - right) > t + t * abs(right)``."""
    if batch.tolerance.relative is None or got is None:
        return pa.nulls(rows, pa.bool_())
    t = batch.tolerance.relative[batch.format.name]
    pairs = [(got.real.reshape(-1), right)]
    if right_imag is not None and got.imag is not None:
        pairs.append((got.imag.reshape(-1), right_imag))
    mismatch, known = np.zeros(rows, bool), np.ones(rows, bool)
    for numbers, due in pairs:
        with np.errstate(invalid="ignore"):
            mismatch |= ~(np.abs(numbers - due.value) <= t + t * np.abs(due.value))
        known &= due.where <= Rounded.UNDERFLOWS
    return pa.array(mismatch, mask=~known)


def _shapes(batch: Batch) -> str:
    arguments = {name: primal.shape[1:] for name, primal in zip(batch.function.arguments, batch.primals, strict=True)}
    return write_shapes(arguments, [weight.shape[1:] for weight in batch.weights])


def _constant(text: str | None, rows: int) -> pa.Array:
    if text is None:
        return pa.DictionaryArray.from_arrays(pa.nulls(rows, pa.int16()), pa.array([], pa.string()))
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int16)), pa.array([text]))


def _lists(table: Bits, elements: int) -> pa.Array:
    wide = np.repeat(table, elements, axis=0)
    offsets = np.arange(len(wide) + 1, dtype=np.int32) * table.shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(wide.reshape(-1)))


def _got(numbers: Floats | None, fmt: Format, rows: int) -> pa.Array:
    if numbers is None:
        return pa.nulls(rows, pa.uint64())
    return pa.array(fmt.to_bits(numbers.reshape(-1)))


def _right_columns(right: Right | None, suffix: str, rows: int) -> dict[str, pa.Array]:
    names = [f"right{suffix}", f"residual{suffix}", f"radius{suffix}"]
    if right is None:
        return {name: pa.nulls(rows, pa.float64()) for name in names}
    unknown = right.where >= Rounded.UNDEFINED
    return {
        name: pa.array(numbers, mask=unknown)
        for name, numbers in zip(names, (right.value, right.residual, right.radius), strict=True)
    }


def _nullable(numbers: Floats) -> pa.Array:
    return pa.array(numbers, mask=np.isnan(numbers))
