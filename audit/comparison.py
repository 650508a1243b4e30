"""The one loop: what an implementation got, against what is right, becomes rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from audit import modes
from audit.case import Batch, Implementation, Mode, Tolerance
from audit.difference import Witness
from audit.errors import Unavailable
from audit.formats import Floats, Format
from audit.hull import settle
from audit.identity import Origin
from audit.reference import Answer, References
from audit.reference.enclosure import Right, Rounded
from audit.table import Asked, Compared, tabulate
from audit.verdict import CODE, MISMATCHES, VERDICTS, Judgement, Verdict, judge
from audit.versions import lacking, version
from audit.watch import during

Index = NDArray[np.intp]
Witnesses = Callable[[Answer, Index], Witness]

MISMATCH_CODES = np.array([verdict in MISMATCHES for verdict in VERDICTS])

SHARED_POINTS = 512

# How MLX says that there is no rule.
MISSING = re.compile(
    r"not (yet )?(been )?implemented|\bNYI\b|no (jvp|vjp) |cannot (calculate (jvp|vjp) with respect to|vmap over)"
    r"|not (yet )?supported|unsupported data type|only (supports?|handle) ",
    re.IGNORECASE,
)

# In a scale family so many mismatches of a batch get a central difference; in a named series every row does.
WITNESSED_MISMATCHES = 8


@dataclass(frozen=True)
class Question:
    """One batch with everything that does not depend on the implementation.

    Args:
        batch: the points.
        origin: where it comes from.
        answers: right values of every compared argument.
        witnesses: takes central differences for some rows of an answer.
        witness_all: take them for every row; otherwise for the first mismatches only.
        forwards: which forward values are wrong, kept for other batches of the same points and format.
    """

    batch: Batch
    origin: Origin
    answers: Sequence[Answer]
    witnesses: Witnesses | None = None
    witness_all: bool = False
    forwards: dict[tuple[str, str, str, bytes], NDArray[np.bool_]] = field(default_factory=dict)

    @cached_property
    def rounded(self) -> list[tuple[Right, Right | None]]:
        """The answers in the batch's format, by component."""
        formats = [self.batch.format_of(answer.argument) for answer in self.answers]
        return [
            (a.real.to_format(fmt), None if a.imag is None else a.imag.to_format(fmt))
            for a, fmt in zip(self.answers, formats, strict=True)
        ]

    def settled(self, got: Sequence[modes.Got | None]) -> tuple[Question, list[NDArray[np.bool_]]]:
        """The question with the nearest right values in the place of sets, and for each answer where that is so."""
        if not any(answer.hulls for answer in self.answers):
            return self, [np.zeros(len(answer.real), bool) for answer in self.answers]
        formats = [self.batch.format_of(answer.argument) for answer in self.answers]
        rounded, chosen = settle(self.answers, self.rounded, formats, got)
        other = replace(self)
        other.__dict__.update(rounded=rounded, asked=self.asked)
        return other, chosen

    @cached_property
    def asked(self) -> Asked:
        """What the rows say of the batch, whoever answers."""
        return Asked(self.batch, self.origin)


@during("judging")
def compare(question: Question, implementation: Implementation, references: References) -> pa.Table:
    """Ask one implementation for a batch and judge what it returns.

    Nothing that MLX raises passes through: it becomes rows with the verdict `raises` or `unimplemented`.
    """
    batch = question.batch
    got, failure, message = _ask(batch, implementation)
    if got is None:
        answers = range(len(question.answers))
        return pa.concat_tables([_table(question, implementation, k, None, failure, message) for k in answers])
    ones = [_shaped(one, (batch.points, *answer.shape)) for one, answer in zip(got, question.answers, strict=True)]
    question, chosen = question.settled([None if one.fault else one for one in ones])
    tables = []
    for index, one in enumerate(ones):
        if one.fault:
            verdict = Verdict(one.fault.partition(":")[0])
            tables.append(_table(question, implementation, index, None, verdict, one.fault))
        else:
            tables.append(_table(question, implementation, index, one, None, "", references, chosen[index]))
    return pa.concat_tables(tables)


def _shaped(got: modes.Got, due: tuple[int, ...]) -> modes.Got:
    if got.fault or got.real.shape == due:
        return got
    return replace(got, fault=f"shape: got {got.real.shape[1:]}, {due[1:]} is due")


def unasked(question: Question, implementation: Implementation, verdict: Verdict, message: str) -> pa.Table:
    """The rows of a batch that must not be asked, since the library does not survive it: all of one verdict."""
    bare = replace(question, witnesses=None)
    return pa.concat_tables(
        [_table(bare, implementation, index, None, verdict, message) for index in range(len(question.answers))]
    )


@during("mlx")
def _ask(batch: Batch, implementation: Implementation) -> tuple[list[modes.Got] | None, Verdict, str]:
    reason = implementation.unavailable()
    if reason:
        return None, Verdict.NOT_RUN, reason
    try:
        with implementation.active():
            return modes.ask(batch, implementation.arithmetic(), implementation.transform), Verdict.MATCH, ""
    except Unavailable as error:
        return None, Verdict.NOT_RUN, str(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever the library raises is a finding
        text = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        absent = lacking(error, version())
        if absent:
            return None, Verdict.NOT_RUN, absent
        # MLX has no float64 on a GPU: the device lacks it, no derivative is wrong.
        if "not supported on the gpu" in text.lower():
            return None, Verdict.NOT_RUN, text
        missing = isinstance(error, NotImplementedError) or MISSING.search(text) is not None
        return None, Verdict.UNIMPLEMENTED if missing else Verdict.RAISES, text


def _table(
    question: Question,
    implementation: Implementation,
    index: int,
    got: modes.Got | None,
    failure: Verdict | None,
    message: str,
    references: References | None = None,
    chosen: NDArray[np.bool_] | None = None,
) -> pa.Table:
    batch, answer = question.batch, question.answers[index]
    fmt = batch.format_of(answer.argument)
    elements = int(np.prod(answer.shape, dtype=int))
    rows = batch.points * elements
    right, right_imag = question.rounded[index]
    if failure is None and got is not None:
        judged = _judge(got, right, right_imag, fmt, batch.tolerance)
    else:
        nothing = np.full(rows, np.nan)
        judged = Judgement(np.full(rows, CODE[failure or Verdict.NOT_RUN]), nothing, nothing, nothing)
    mismatch = MISMATCH_CODES[judged.verdict]
    # What lies in the set of right values is right, and which of them it is, a convention.
    convention = np.zeros(rows, bool) if chosen is None else chosen & (judged.verdict == CODE[Verdict.MATCH])
    forward_wrong = np.zeros(rows, bool)
    if references is not None and mismatch.any():
        forward_wrong = _forward_wrong(question, implementation, references, mismatch, elements)
    witness = _witness(question, answer, mismatch)
    named = (implementation.name, answer.argument)
    return tabulate(
        Compared(
            question.asked,
            *named,
            elements,
            got,
            right,
            right_imag,
            judged,
            witness,
            forward_wrong,
            message,
            convention,
        )
    )


def absolute(real: Right, imag: Right, fmt: Format) -> Floats:
    """Absolute values of complex right values, at most the largest number of the format."""
    parts = (
        np.nan_to_num(part.value / 2, nan=0.0, posinf=fmt.largest / 2, neginf=-fmt.largest / 2) for part in (real, imag)
    )
    return np.minimum(np.hypot(*parts), fmt.largest / 2) * 2


def _judge(got: modes.Got, right: Right, right_imag: Right | None, fmt: Format, tolerance: Tolerance) -> Judgement:
    """Judge real numbers; of a complex number, keep the component that is further off.

    Where a component of the right value overflows, the number is a complex infinity, which is one whatever its other
    component is (C11, annex G.3).
    """
    if right_imag is None or got.imag is None:
        return judge(got.real.reshape(-1), right, fmt, tolerance)
    size = absolute(right, right_imag, fmt)
    real = judge(got.real.reshape(-1), right, fmt, tolerance, size)
    imag = judge(got.imag.reshape(-1), right_imag, fmt, tolerance, size)
    infinite = np.isinf(got.real.reshape(-1)) | np.isinf(got.imag.reshape(-1))
    overflows = (right.where == Rounded.OVERFLOWS) | (right_imag.where == Rounded.OVERFLOWS)
    for part in (real, imag):
        excused = infinite & overflows & MISMATCH_CODES[part.verdict]
        part.verdict[excused] = CODE[Verdict.OUTSIDE]
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
    question: Question,
    implementation: Implementation,
    references: References,
    mismatch: NDArray[np.bool_],
    elements: int,
) -> NDArray[np.bool_]:
    """Whether the forward value at the point of each mismatch is wrong as well."""
    batch = question.batch
    points = np.flatnonzero(mismatch.reshape(batch.points, -1).any(axis=1))
    # Of small batches all points: modes that ask about the same points then share one answer.
    chosen = points if batch.points > SHARED_POINTS else np.arange(batch.points)
    primals = tuple(primal[chosen] for primal in batch.primals)
    forward = replace(batch, mode=Mode("forward", ()), primals=primals, weights=(), compared=None, wrap="")
    key = (implementation.name, batch.function.name, batch.layout, b"".join(primal.tobytes() for primal in primals))
    if key not in question.forwards:
        question.forwards[key] = _wrong_points(forward, implementation, references)
    wrong = np.zeros(batch.points, bool)
    wrong[chosen] = question.forwards[key]
    return np.repeat(wrong, elements) & mismatch


def _wrong_points(forward: Batch, implementation: Implementation, references: References) -> NDArray[np.bool_]:
    got, _, _ = _ask(forward, implementation)
    answer = references.enclose(forward)[0]
    if got is None or got[0].fault:
        return np.zeros(forward.points, bool)
    fmt = forward.result_format
    right = answer.real.to_format(fmt)
    imag = None if answer.imag is None else answer.imag.to_format(fmt)
    judged = _judge(got[0], right, imag, fmt, forward.tolerance)
    return np.any(MISMATCH_CODES[judged.verdict].reshape(forward.points, -1), axis=1)
