"""Operations check themselves when they are made, and what they declare of their symmetries holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from audit.case import Batch, Mode
from audit.errors import AuditError
from audit.formats import FLOAT64, Floats, lookup
from audit.operation import Homogeneous, Operation, Parity, Permutation, Shift, Symmetry, Values
from audit.points.arrays import Place
from audit.reference import References
from audit.reference.enclosure import State
from audit.reference.shape import result_shape
from audit.registry import find_operations

OPERATIONS = {name: operation for name, (_, operation) in find_operations()[0].items()}
SYMMETRIC = [
    pytest.param(operation, symmetry, id=f"{name}-{type(symmetry).__name__}-{place}")
    for name, operation in OPERATIONS.items()
    for place, symmetry in enumerate(operation.symmetries)
]


def made(**changes: Any) -> Operation:
    """An operation of one argument, changed."""
    body = {
        "name": "mx.f",
        "arguments": ("x",),
        "call": lambda x, axis=0: x,  # noqa: ARG005
        "body": lambda m, x, axis=0: x,  # noqa: ARG005
    }
    return Operation(**(body | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arguments": ()}, "has no arguments"),
        ({"shapes": (((2,), (3,)),)}, "are 2, arguments"),
        ({"kinds": ("same", "real")}, "2 kinds"),
        ({"values": {"y": Values()}}, "no argument 'y'"),
        ({"symmetries": (Shift("y"),)}, "no argument 'y'"),
        ({"parameters": {"axis": ()}}, "has no value"),
        ({"parameters": {"stride": (1,)}}, "not arguments of"),
        ({"formats": ("float8",)}, "float8"),
        ({"formats": ()}, "do not exist"),
    ],
)
def test_a_wrong_declaration_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(AuditError, match=message):
        made(**changes)


def test_a_domain_must_have_an_inside_and_hold_its_singular_points() -> None:
    with pytest.raises(AuditError, match="must be less"):
        Values(low=1, high=1)
    with pytest.raises(AuditError, match="outside"):
        Values(low=0, singular=(-1.0,))


def test_every_pair_of_many_parameters_is_asked() -> None:
    choices = {"a": (0, 1, 2), "b": (0, 1, 2), "c": (False, True), "d": ("x", "y", "z")}
    asked = made(
        call=lambda x, a, b, c, d: x,  # noqa: ARG005
        body=lambda m, x, a, b, c, d: x,  # noqa: ARG005
        parameters=choices,
    ).combinations()
    assert asked[0] == {"a": 0, "b": 0, "c": False, "d": "x"}
    assert len(asked) < 3 * 3 * 2 * 3
    for i, first in enumerate(choices):
        for second in list(choices)[i + 1 :]:
            pairs = {(p[first], p[second]) for p in asked}
            assert pairs == {(x, y) for x in choices[first] for y in choices[second]}


def test_configurations_leave_out_what_does_not_exist() -> None:
    operation = made(
        shapes=(((2, 3),), ((3,),)),
        parameters={"axis": (0, 1)},
        valid=lambda shapes, parameters: parameters["axis"] < len(shapes[0]),
    )
    assert operation.configurations() == [
        (((2, 3),), {"axis": 0}),
        (((2, 3),), {"axis": 1}),
        (((3,),), {"axis": 0}),
    ]


@pytest.mark.parametrize(("operation", "symmetry"), SYMMETRIC)
def test_declared_symmetries_hold(operation: Operation, symmetry: Symmetry) -> None:
    fmt = FLOAT64 if "float64" in operation.formats else lookup(operation.formats[-1])
    shapes, parameters = operation.configurations()[0] if operation.shapes else (((),) * len(operation.arguments), None)
    function = operation.function(parameters or operation.base, elementwise=False)
    formats = operation.argument_formats(fmt) or (fmt,) * len(shapes)
    result = operation.result_format(fmt) or fmt
    shape = result_shape(function, shapes, tuple(f.parts for f in formats), result.parts)
    base = Place(operation, shapes, shape, fmt).arrays("symmetry")
    for moved, due in _moved(operation, symmetry, base):
        points = tuple(np.stack(pair) for pair in zip(base, moved, strict=True))
        batch = Batch("symmetry", function, fmt, Mode("forward", ()), points, (), formats=tuple(formats), result=result)
        answer = References().enclose(batch)[0]
        parts = [part for part in (answer.real, answer.imag) if part is not None]
        assert all((part.state == State.KNOWN).all() for part in parts)
        right = sum(f * p.to_format(FLOAT64).value for f, p in zip((1, 1j), parts, strict=False))
        right = np.reshape(right, (2, *answer.shape))
        np.testing.assert_allclose(right[1], due(right[0]), rtol=1e-13, atol=1e-15)


def _moved(operation: Operation, symmetry: Symmetry, base: list[Floats]) -> Iterator[tuple[list[Floats], Any]]:
    """Points that a symmetry connects with the base, and what it makes of the result there."""
    names = operation.arguments
    if isinstance(symmetry, Homogeneous):
        for name, degree in symmetry.degrees.items():
            scaled = [x * 8.0 if n == name else x for n, x in zip(names, base, strict=True)]
            yield scaled, lambda y, d=degree: y * 8.0**d
    elif isinstance(symmetry, Shift):
        shifted = [x + 2.0 if n == symmetry.argument else x for n, x in zip(names, base, strict=True)]
        yield shifted, lambda y: y + symmetry.gain * 2.0
    elif isinstance(symmetry, Parity):
        negated = [-x if n in symmetry.arguments else x for n, x in zip(names, base, strict=True)]
        yield negated, lambda y: symmetry.sign * y
    else:
        assert isinstance(symmetry, Permutation)
        rolled = [
            np.roll(x, 1, symmetry.axis) if n in symmetry.arguments else x for n, x in zip(names, base, strict=True)
        ]
        out = symmetry.out_axis
        yield rolled, lambda y: y if out is None else np.roll(y, 1, out)
