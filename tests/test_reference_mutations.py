"""Every entry of the table of operations, spoilt by one part in 2**70: the checks that are there for that object."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from importlib import import_module

import pytest

import audit.reference
from audit.case import Function
from audit.formats import COMPLEX64, FLOAT64
from audit.reference import References
from audit.reference.operations import OPERATIONS
from audit.reference.operations.entry import Pull
from tests.reference_examples import batch, function, unary
from tests.test_reference_complex import UNARY as COMPLEX_UNARY
from tests.test_reference_vocabulary import SMOOTH, SMOOTH_TWO

LITTLE = Fraction(1, 2**70)
# Entry, function, whether it is asked at complex numbers.
SPOILT: dict[str, tuple[str, Function, bool]] = {
    **{name: (name, unary(name), False) for name in SMOOTH if name in OPERATIONS and name not in ("abs", "sign")},
    **{
        name: (name, function(name, "x y", lambda m, x, y, name=name: getattr(m, name)(x, y)), False)
        for name in SMOOTH_TWO
        if name in OPERATIONS and name not in ("maximum", "minimum", "floor_divide")
    },
    **{
        f"{name}.{part}": (f"{name}.{part}", unary(name), True)
        for name in COMPLEX_UNARY
        for part in ("real", "imag")
        if f"{name}.{part}" in OPERATIONS
    },
}
POINTS = {"arccosh": [1.25, 3.5]}


def forget() -> None:
    """Forget all programs that were recorded or compiled under other entries."""
    for module in pkgutil.walk_packages(audit.reference.__path__, "audit.reference."):
        for value in vars(import_module(module.name)).values():
            clear = getattr(value, "cache_clear", None)
            if clear is not None:
                clear()


@pytest.fixture
def fresh() -> Iterator[None]:
    forget()
    yield
    forget()


def objections(name: str, kind: str) -> int:
    entry, f, paired = SPOILT[name]
    forget()
    references = References(opinions=1)
    if paired:
        primals, weights, fmt = [[0.25 + 0.5j, -0.5 + 0.75j]], [[1 + 0.5j, 0.5 - 2j]], COMPLEX64
    else:
        primals, weights, fmt = [POINTS.get(entry, [0.25, 0.75])], [[1.0, 0.5]], FLOAT64
    if len(f.arguments) == 2:
        primals = [[2.5, 0.875], [0.75, 0.375]]
    references.enclose(
        batch(f, kind, tuple(range(len(f.arguments))), primals, [] if kind == "forward" else weights, fmt)
    )
    return len(references.disagreements)


def spoiling(pull: Pull) -> Pull:
    return lambda s: s("multiply", pull(s), s.number(1 + LITTLE))


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_entry_is_objected_to(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = SPOILT[name][0]
    right = OPERATIONS[entry]
    assert objections(name, "forward") == 0
    assert objections(name, "vjp") == 0
    monkeypatch.setitem(OPERATIONS, entry, replace(right, ball=f"({right.ball}) * (one + one / 2**70)", rational=None))
    assert objections(name, "forward") > 0
    for place, pull in enumerate(right.pulls):
        assert pull is not None
        pulls = [spoiling(pull) if position == place else other for position, other in enumerate(right.pulls)]
        monkeypatch.setitem(OPERATIONS, entry, replace(right, pulls=tuple(pulls)))
        assert objections(name, "vjp") > 0
