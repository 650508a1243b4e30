"""Whatever an implementation does, every planned comparison ends as one row, and the run goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np
import pyarrow as pa
import pytest
from planted.rule import Rule

from audit.case import Batch, Implementation, Mode
from audit.comparison import Question, compare
from audit.errors import Unavailable
from audit.formats import COMPLEX64, FLOAT16, FLOAT32, Format
from audit.identity import Origin
from audit.reference import References, State
from audit.run import Plan, Selection, collect, plan
from audit.run.job import choose_device
from cases.divide_functions import ARRAY_QUOTIENT, QUOTIENT

ORIGIN = Origin("families", "1", "divide")
REFERENCES = References(opinions=0)
VJP, JVP, FORWARD = Mode("vjp", (0, 1)), Mode("jvp", (0, 1)), Mode("forward", ())
STOCK = Implementation("mlx", "as installed", lambda: mx)


def asked(mode: Mode = VJP, fmt: Format = FLOAT32, *, arrays: bool = False) -> Batch:
    """Three points of a / b at which stock MLX is right."""
    a: Any = np.array([1.0, -2.0, 3.0])
    b: Any = np.array([2.0, 1.0, -4.0])
    w: Any = np.array([1.0, -0.5, 2.0])
    if fmt.parts == 2:
        a, b, w = a + 1j, b - 1j, w + 0j
    if arrays:
        a, b, w = (np.stack([x, 2 * x], axis=1) for x in (a, b, w))
    weights = {"forward": (), "jvp": (w, w)}.get(mode.kind, (w,))
    return Batch("failures", ARRAY_QUOTIENT if arrays else QUOTIENT, fmt, mode, (a, b), weights)


def rows_of(implementation: Implementation, batch: Batch | None = None) -> list[dict[str, Any]]:
    batch = batch or asked()
    return compare(Question(batch, ORIGIN, REFERENCES.enclose(batch)), implementation, REFERENCES).to_pylist()


def with_divide(divide: Callable[..., Any], name: str = "planted") -> Implementation:
    class Changed:
        def __init__(self) -> None:
            self.divide = divide

        def __getattr__(self, name: str) -> Any:
            return getattr(mx, name)

    return Implementation(name, "planted", Changed)


def raising(error: BaseException) -> Callable[..., Any]:
    def divide(*_: Any) -> Any:
        raise error

    return divide


@contextmanager
def refusing(error: Exception) -> Iterator[None]:
    raise error
    yield


def unmade() -> Any:
    message = "no namespace"
    raise RuntimeError(message)


def untransformed(*_: Any) -> Any:
    message = "no transform"
    raise RuntimeError(message)


RAISING = {
    "the function": with_divide(raising(RuntimeError("boom"))),
    "the namespace": Implementation("planted", "planted", unmade),
    "the transform": replace(STOCK, transform=untransformed),
    "the context": replace(STOCK, active=lambda: refusing(RuntimeError("no context"))),
    "an assertion": with_divide(raising(AssertionError("not so"))),
    "memory": with_divide(raising(MemoryError("too much"))),
}


@pytest.mark.parametrize("name", RAISING)
@pytest.mark.parametrize(
    "batch",
    [asked(), asked(JVP), asked(FORWARD), asked(arrays=True), asked(fmt=COMPLEX64)],
    ids=["vjp", "jvp", "forward", "arrays", "complex"],
)
def test_what_is_raised_becomes_a_row_for_every_comparison(name: str, batch: Batch) -> None:
    rows = rows_of(RAISING[name], batch)
    stock = rows_of(STOCK, batch)
    assert {row["verdict"] for row in rows} == {"raises"}
    assert {row["verdict"] for row in stock} == {"match"}
    # The same comparisons, so that the rows of two implementations still join.
    assert [row["id"] for row in rows] == [row["id"] for row in stock]
    assert all(row["got"] is None and row["error"] is None for row in rows)
    # What was due is known all the same.
    assert [row["right"] for row in rows] == [row["right"] for row in stock]


def test_the_message_says_what_was_raised_in_one_line() -> None:
    (message,) = {row["message"] for row in rows_of(with_divide(raising(ValueError("first\nsecond"))))}
    assert message == "ValueError: first"
    (message,) = {row["message"] for row in rows_of(with_divide(raising(ValueError("x" * 1000))))}
    assert len(message) == 300
    (message,) = {row["message"] for row in rows_of(with_divide(raising(ValueError())))}
    assert message == "ValueError: "


@pytest.mark.parametrize(
    "error",
    [
        NotImplementedError(),
        NotImplementedError("later"),
        ValueError("[Divide] vjp not implemented."),
        RuntimeError("NOT IMPLEMENTED"),
        ValueError("[Convolution::eval] got unsupported data type."),
        ValueError("[conv] Can only handle groups != 1 in 1D or 2D convolutions."),
        RuntimeError("[GatherMM::eval] Currently only supports float32."),
        ValueError("[sigmoid] Not supported for complex64."),
        ValueError("[searchsorted] Cannot vmap over the sorted sequence, only over the values being searched for."),
    ],
    ids=repr,
)
def test_what_is_not_there_is_unimplemented(error: Exception) -> None:
    assert {row["verdict"] for row in rows_of(with_divide(raising(error)))} == {"unimplemented"}


@pytest.mark.parametrize("text", ["unsupported operand type(s) for +", "[reshape] Cannot reshape array", "only 3 axes"])
def test_other_errors_are_no_excuse(text: str) -> None:
    assert {row["verdict"] for row in rows_of(with_divide(raising(TypeError(text))))} == {"raises"}


def test_what_mlx_itself_has_no_rule_for_is_unimplemented() -> None:
    """A view of the bits has no derivative."""
    through_bits = with_divide(lambda a, b: mx.divide(a, b).view(mx.uint32).view(mx.float32))
    assert {row["verdict"] for row in rows_of(through_bits, asked(JVP))} == {"unimplemented"}


def test_what_cannot_run_here_is_not_run() -> None:
    for implementation in (
        replace(STOCK, unavailable=lambda: "no compiler"),
        replace(STOCK, active=lambda: refusing(Unavailable("no compiler"))),
        with_divide(raising(Unavailable("no compiler"))),
    ):
        rows = rows_of(implementation)
        assert {(row["verdict"], row["message"]) for row in rows} == {("not_run", "no compiler")}
        assert len(rows) == 6


def test_a_user_who_interrupts_is_obeyed() -> None:
    with pytest.raises(KeyboardInterrupt):
        rows_of(with_divide(raising(KeyboardInterrupt())))


@pytest.mark.parametrize("result", [None, 1.0, "text", [1.0, 2.0]], ids=repr)
def test_a_result_that_is_no_array_becomes_rows(result: Any) -> None:
    assert {row["verdict"] for row in rows_of(with_divide(lambda *_: result))} <= {"raises", "shape"}


def test_a_wrong_shape_and_dtype_are_faults_of_their_argument_only() -> None:
    def vjp(g: mx.array, primals: tuple[mx.array, ...]) -> tuple[mx.array, ...]:
        a, b = primals
        return (g / b)[None], (-g * a / (b * b)).astype(mx.float16)

    verdicts = {
        row["argument"]: row["verdict"] for row in rows_of(Rule("faults", "divide", {"vjp": vjp}).implementation())
    }
    assert verdicts == {"a": "shape", "b": "dtype"}
    vjp_b = {"vjp": lambda g, primals: (g / primals[1], primals[0])}
    rows = rows_of(Rule("wrong", "divide", vjp_b).implementation())
    assert Counter((row["argument"], row["verdict"] == "match") for row in rows) == {("a", True): 3, ("b", False): 3}


def test_a_rule_that_fails_at_one_point_of_an_array_function_fails_the_batch() -> None:
    calls = []

    def divide(a: mx.array, b: mx.array) -> mx.array:
        calls.append(1)
        if len(calls) == 2:
            message = "second point"
            raise RuntimeError(message)
        return mx.divide(a, b)

    rows = rows_of(with_divide(divide), asked(FORWARD, arrays=True))
    assert Counter(row["verdict"] for row in rows) == {"raises": 6}


def test_the_next_batch_is_not_touched_by_the_one_that_failed() -> None:
    assert {row["verdict"] for row in rows_of(with_divide(raising(RuntimeError("boom"))))} == {"raises"}
    assert {row["verdict"] for row in rows_of(STOCK)} == {"match"}


def series(*implementations: Implementation) -> Plan:
    made = plan(Selection(formats=("float16",), series_only=True))
    return replace(made, implementations=implementations)


def counts(rows: pa.Table) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for row in rows.select(["implementation", "verdict"]).to_pylist():
        found.setdefault(row["implementation"], Counter())[row["verdict"]] += 1
    return found


def test_a_run_goes_on_past_implementations_that_fail() -> None:
    failing = with_divide(raising(RuntimeError("boom")), "failing")
    absent = replace(STOCK, name="absent", unavailable=lambda: "no such device")
    rows, outcome = collect(series(failing, absent, STOCK), REFERENCES)
    found = counts(rows)
    assert found["failing"] == {"raises": 280}
    assert found["absent"] == {"not_run": 280}
    assert found["mlx"].total() == 280
    assert found["mlx"]["match"] > 150
    assert outcome.verdicts["failing", "divide-1328", "raises"] == 280
    assert outcome.verdicts.total() == len(rows) == 3 * 280
    alone, _ = collect(series(STOCK), REFERENCES)
    assert counts(alone)["mlx"] == found["mlx"]


def test_a_reference_in_doubt_makes_rows_inconclusive_and_the_run_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    enclose = References.enclose

    def doubtful(self: References, batch: Batch, **options: Any) -> Any:
        answers = enclose(self, batch, **options)
        for answer in answers:
            if batch.group == "traps":
                answer.real.state[0] = State.INCONCLUSIVE
        if batch.group == "traps":
            self.disagreements.append(f"{batch.group}: planted")
        return answers

    monkeypatch.setattr(References, "enclose", doubtful)
    rows, outcome = collect(series(STOCK), References(opinions=0))
    verdicts = Counter((row["group"], row["verdict"]) for row in rows.select(["group", "verdict"]).to_pylist())
    # One point of the vjp and one of the jvp.
    assert verdicts["traps", "inconclusive"] == 2
    assert sum(n for (group, verdict), n in verdicts.items() if verdict == "inconclusive") == 2
    assert len(rows) == 280
    assert set(outcome.contradictions) == {"traps: planted"}


def test_an_absent_device_gives_rows_that_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mx, "is_available", lambda _: False)
    rows, _ = collect(choose_device(series(STOCK), "gpu"), REFERENCES)
    assert counts(rows) == {"mlx": Counter({"not_run": 280})}
    (message,) = set(rows.column("message").to_pylist())
    assert "GPU" in message.upper()


@pytest.mark.parametrize("fmt", [FLOAT16, COMPLEX64], ids=lambda fmt: fmt.name)
def test_rows_of_a_failure_hold_the_inputs(fmt: Format) -> None:
    batch = asked(fmt=fmt)
    rows = rows_of(with_divide(raising(RuntimeError("boom"))), batch)
    first = fmt.from_bits(np.array(rows[0]["primals"], np.uint64)).tolist()
    assert first == [
        float(part) for p in batch.primals for part in ([p[0].real, p[0].imag] if fmt.parts == 2 else [p[0]])
    ]


def test_what_came_later_is_not_run_by_an_older_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_a: mx.array, _b: mx.array) -> mx.array:
        return mx.of_another_time  # type: ignore[attr-defined]

    def untaken(a: mx.array, b: mx.array) -> mx.array:
        return mx.divide(a, b, of_another_time=1)  # type: ignore[call-overload]

    for divide in (absent, untaken):
        assert {row["verdict"] for row in rows_of(with_divide(divide))} == {"raises"}
        with monkeypatch.context() as patched:
            patched.setattr("audit.comparison.version", lambda: "0.1.2")
            rows = rows_of(with_divide(divide))
        assert {row["verdict"] for row in rows} == {"not_run"}
        assert all(row["message"].startswith("MLX 0.1.2 lacks this: ") for row in rows)
    # What an older version has, and fails at, is its own fault.
    monkeypatch.setattr("audit.comparison.version", lambda: "0.1.2")
    raised = with_divide(lambda a, b: mx.reshape(a, (17,)) / b)
    assert {row["verdict"] for row in rows_of(raised)} == {"raises"}
