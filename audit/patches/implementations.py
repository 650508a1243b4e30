"""Division's implementations: stock MLX, two hot patches, the Python rule, and the compiled and mapped form of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from audit.case import Batch, Implementation
from audit.patches.compiler import NATIVE
from audit.patches.hotpatch import HotPatch

PATCHES = {
    "divide": HotPatch("mlx+divide", "mx.divide", NATIVE / "divide.cpp"),
    "divide-report": HotPatch("mlx+divide-report", "mx.divide", NATIVE / "divide_report.cpp"),
}


def _mlx() -> Any:
    import mlx.core as mx

    return mx


def _python() -> Any:
    from audit.patches.python_rule import Arithmetic

    return Arithmetic()


def _patched(patch: HotPatch, summary: str) -> Implementation:
    return Implementation(patch.name, summary, _mlx, active=patch.on, unavailable=patch.check)


def _compiled(function: Callable[..., Any], batch: Batch) -> Callable[..., Any]:  # noqa: ARG001
    import mlx.core as mx

    # A function object of its own: MLX keeps traces by function, and a trace keeps the rule it was made under.
    def fresh(*arguments: Any) -> Any:
        return function(*arguments)

    return mx.compile(fresh)


def _vmapped(function: Callable[..., Any], batch: Batch) -> Callable[..., Any]:
    import mlx.core as mx

    if batch.function.elementwise:
        return mx.vmap(function)

    # One point at a time: mapped over an axis of length one, which is right for any function.
    def mapped(*arguments: Any) -> Any:
        return mx.squeeze(mx.vmap(function)(*(mx.expand_dims(x, 0) for x in arguments)), 0)

    return mapped


_PLAIN = (
    Implementation("mlx", "MLX as installed", _mlx),
    _patched(PATCHES["divide-report"], "MLX with the report's four orders for division's denominator"),
    _patched(PATCHES["divide"], "MLX with division's derivatives right over the whole exponent range"),
    Implementation("python", "the rule of mlx+divide as a custom function in Python", _python),
)

IMPLEMENTATIONS: dict[str, Implementation] = {
    made.name: made
    for plain in _PLAIN
    for made in (
        plain,
        replace(
            plain, name=f"{plain.name}:compiled", summary=f"{plain.summary}; mx.compile first", transform=_compiled
        ),
        replace(
            plain, name=f"{plain.name}:vmapped", summary=f"{plain.summary}; mx.vmap over points", transform=_vmapped
        ),
    )
}
