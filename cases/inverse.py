"""Inverses and linear systems."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from audit.operation import Operation, Shapes, Values
from cases.matrices import ELIMINATION, EXPONENTS, FORMATS, NEAR, moved, moved_exactly, text

_SQUARE: tuple[Shapes, ...] = (((2, 2),), ((1, 1),), ((3, 3),), ((2, 2, 2),))
_WITH_RIGHT: tuple[Shapes, ...] = (((2, 2), (2, 1)), ((3, 3), (3,)), ((1, 1), (1, 2)), ((2, 2, 2), (2, 2, 1)))


def _upper(m: Any, a: Any, exponent: int, *, upper: bool) -> Any:
    whole = moved_exactly(m, a, exponent)
    return m.triu(whole) if upper else m.tril(whole)


def _of_square(name: str, body: Any, **parameters: tuple[Any, ...]) -> Operation:
    def call(a: mx.array, exponent: int, **given: Any) -> mx.array:
        return getattr(mx.linalg, name)(moved(a, exponent), **given)

    keywords = "".join(f", {key}={{{key}}}" for key in parameters)
    return Operation(
        name=f"mx.linalg.{name}",
        arguments=("a",),
        call=call,
        body=body,
        shapes=_SQUARE,
        parameters=EXPONENTS | parameters,
        values={"a": NEAR["a"]},
        tolerance=ELIMINATION,
        formats=FORMATS,
        text=text(f"mx.linalg.{name}(A{keywords})"),
    )


OPERATIONS = (
    _of_square("inv", lambda m, a, exponent: m.inv(moved_exactly(m, a, exponent))),
    _of_square("pinv", lambda m, a, exponent: m.inv(moved_exactly(m, a, exponent))),
    _of_square(
        "tri_inv",
        lambda m, a, exponent, upper: m.tri_inv(_upper(m, a, exponent, upper=upper), upper=upper),
        upper=(False, True),
    ),
    Operation(
        name="mx.linalg.pinv[wide]",
        arguments=("a",),
        call=lambda a: mx.linalg.pinv(a),
        body=lambda m, a: m.pinv(a),
        shapes=(((1, 2),), ((3, 1),)),
        values={"a": Values(low=0.0, scaled=False)},
        tolerance=ELIMINATION,
        formats=FORMATS,
        text="mx.linalg.pinv(a)",
    ),
    Operation(
        name="mx.linalg.solve",
        arguments=("a", "b"),
        call=lambda a, b, exponent: mx.linalg.solve(moved(a, exponent), b),
        body=lambda m, a, b, exponent: m.solve(moved_exactly(m, a, exponent), b),
        shapes=_WITH_RIGHT,
        parameters=EXPONENTS,
        values=NEAR,
        tolerance=ELIMINATION,
        formats=FORMATS,
        text=text("mx.linalg.solve(A, b)"),
    ),
    Operation(
        name="mx.linalg.solve_triangular",
        arguments=("a", "b"),
        call=lambda a, b, exponent, upper: mx.linalg.solve_triangular(moved(a, exponent), b, upper=upper),
        body=lambda m, a, b, exponent, upper: m.solve_triangular(_upper(m, a, exponent, upper=upper), b, upper=upper),
        shapes=_WITH_RIGHT,
        parameters=EXPONENTS | {"upper": (False, True)},
        values=NEAR,
        tolerance=ELIMINATION,
        formats=FORMATS,
        text=text("mx.linalg.solve_triangular(A, b, upper={upper})"),
    ),
)
