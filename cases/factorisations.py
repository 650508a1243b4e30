"""Factorisations of matrices; of what is fixed up to a sign only, the squares."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import Operation, Shapes, Values
from cases.matrices import ELIMINATION, EXPONENTS, FORMATS, NEAR, moved, moved_exactly, text

_SQUARE: tuple[Shapes, ...] = (((2, 2),), ((1, 1),), ((3, 3),), ((2, 2, 2),))
_TWO: tuple[Shapes, ...] = (((2, 2),), ((1, 1),), ((3, 2, 2),))


def _operation(name: str, call: Any, body: Any, shapes: tuple[Shapes, ...], written: str, **declared: Any) -> Operation:
    given = {
        "name": f"mx.linalg.{name}",
        "arguments": ("a",),
        "call": lambda a, exponent, **given: call(moved(a, exponent), **given),
        "body": lambda m, a, exponent, **given: body(m, moved_exactly(m, a, exponent), **given),
        "shapes": shapes,
        "parameters": EXPONENTS | declared.pop("parameters", {}),
        "values": {"a": NEAR["a"]},
        "tolerance": ELIMINATION,
        "formats": FORMATS,
        "text": text(written),
    }
    return Operation(**(given | declared))


def _squared(name: str, call: Any, body: Any, shapes: tuple[Shapes, ...], written: str) -> Operation:
    """What is fixed up to the signs of rows or columns, squared."""
    return _operation(
        name,
        lambda a: mx.square(call(a)),
        lambda m, a: m.square(body(m, a)),
        shapes,
        f"mx.square({written})",
        parameters={"exponent": (0, 30, -30)},
    )


def _mirrored(m: Any, a: Any, *, lower: bool) -> Any:
    """The symmetric matrix of which one triangle is given."""
    half = m.tril(a) if lower else m.triu(a)
    rest = m.tril(a, -1) if lower else m.triu(a, 1)
    return m.add(half, np.swapaxes(rest, -1, -2))


def _projections(m: Any, a: Any, *, lower: bool) -> Any:
    """Squares of the elements of the unit eigenvectors of a symmetric matrix of order 1 or 2.

    By Cayley and Hamilton the projection on the first is ``(A - l2) / (l1 - l2)``; its diagonal has the squares.
    """
    whole = _mirrored(m, a, lower=lower)
    order = np.shape(whole)[-1]
    if order == 1:
        return m.add(m.multiply(whole, 0), 1)
    values = m.eigvalsh(whole)
    first, second = (np.asarray(values[..., place], object) for place in (0, 1))
    diagonal = np.stack([whole[..., 0, 0], whole[..., 1, 1]], -1)
    gap = np.asarray(m.subtract(first, second), object)[..., None]
    one = m.divide(m.subtract(diagonal, second[..., None]), gap)
    return np.stack([one, m.subtract(1, one)], -1)


def _packed(m: Any, a: Any) -> Any:
    lower, upper = m.lu(a)
    return m.add(m.tril(lower, -1), upper)


OPERATIONS = (
    _operation(
        "cholesky",
        lambda a, upper: mx.linalg.cholesky((a + mx.swapaxes(a, -1, -2)) / 2, upper),
        lambda m, a, upper: m.cholesky(m.divide(m.add(a, np.swapaxes(a, -1, -2)), 2), upper=upper),
        _SQUARE,
        "(lambda s: mx.linalg.cholesky((s + mx.swapaxes(s, -1, -2)) / 2, {upper}))(A)",
        parameters={"upper": (False, True)},
    ),
    _operation(
        "cholesky_inv",
        lambda a, upper: mx.linalg.cholesky_inv(mx.triu(a) if upper else mx.tril(a), upper),
        lambda m, a, upper: m.cholesky_inv(m.triu(a) if upper else m.tril(a), upper=upper),
        _SQUARE,
        "mx.linalg.cholesky_inv(mx.triu(A) if {upper} else mx.tril(A), {upper})",
        parameters={"upper": (False, True), "exponent": (0, 20, -20)},
    ),
    _operation("lu[l]", lambda a: mx.linalg.lu(a)[1], lambda m, a: m.lu(a)[0], _SQUARE, "mx.linalg.lu(A)[1]"),
    _operation("lu[u]", lambda a: mx.linalg.lu(a)[2], lambda m, a: m.lu(a)[1], _SQUARE, "mx.linalg.lu(A)[2]"),
    _operation("lu_factor", lambda a: mx.linalg.lu_factor(a)[0], _packed, _SQUARE, "mx.linalg.lu_factor(A)[0]"),
    _squared("qr[q]", lambda a: mx.linalg.qr(a)[0], lambda m, a: m.qr(a)[0], _SQUARE, "mx.linalg.qr(A)[0]"),
    _squared("qr[r]", lambda a: mx.linalg.qr(a)[1], lambda m, a: m.qr(a)[1], _SQUARE, "mx.linalg.qr(A)[1]"),
    _operation(
        "svd",
        lambda a, compute_uv: mx.linalg.svd(a)[1] if compute_uv else mx.linalg.svd(a, compute_uv=False),
        lambda m, a, compute_uv: m.singular_values(a),  # noqa: ARG005
        _TWO,
        "(mx.linalg.svd(A)[1] if {compute_uv} else mx.linalg.svd(A, compute_uv=False))",
        parameters={"compute_uv": (True, False), "exponent": (0, 30, -30)},
    ),
    *(
        _operation(
            f"{name}{mark}",
            call,
            body,
            _TWO,
            written,
            parameters={"UPLO": ("L", "U"), "exponent": (0, 30, -30)},
        )
        for name, mark, call, body, written in (
            (
                "eigvalsh",
                "",
                lambda a, UPLO: mx.linalg.eigvalsh(a, UPLO),  # noqa: N803  MLX's own name
                lambda m, a, UPLO: m.eigvalsh(_mirrored(m, a, lower=UPLO == "L")),  # noqa: N803
                "mx.linalg.eigvalsh(A, {UPLO!r})",
            ),
            (
                "eigh",
                "[values]",
                lambda a, UPLO: mx.linalg.eigh(a, UPLO)[0],  # noqa: N803
                lambda m, a, UPLO: m.eigvalsh(_mirrored(m, a, lower=UPLO == "L")),  # noqa: N803
                "mx.linalg.eigh(A, {UPLO!r})[0]",
            ),
            (
                "eigh",
                "[vectors]",
                lambda a, UPLO: mx.square(mx.linalg.eigh(a, UPLO)[1]),  # noqa: N803
                lambda m, a, UPLO: _projections(m, a, lower=UPLO == "L"),  # noqa: N803
                "mx.square(mx.linalg.eigh(A, {UPLO!r})[1])",
            ),
        )
    ),
    # Eigenvalues come in no order: what is asked does not depend on it.
    *(
        Operation(
            name=f"mx.linalg.{name}",
            arguments=("a",),
            call=call,
            body=lambda m, a: m.trace(m.matmul(a, a)),
            shapes=(((2, 2),), ((3, 3),), ((1, 1),)),
            values={"a": Values(low=0.0, scaled=False)},
            tolerance=ELIMINATION,
            formats=("float32",),
            text=written,
        )
        for name, call, written in (
            (
                "eigvals",
                lambda a: mx.real(mx.square(mx.linalg.eigvals(a)).sum()),
                "mx.linalg.eigvals(a).square().sum().real",
            ),
            ("eig", lambda a: mx.real(mx.square(mx.linalg.eig(a)[0]).sum()), "mx.linalg.eig(a)[0].square().sum().real"),
        )
    ),
)
