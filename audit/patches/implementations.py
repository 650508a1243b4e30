"""Division's implementations: stock MLX, two hot patches, the Python rule, and the compiled and mapped form of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


def _forms(plain: Implementation) -> Iterator[Implementation]:
    # Imported when it is used, since it imports mlx.
    def compiled(function: Callable[..., Any], batch: Batch) -> Callable[..., Any]:
        from audit.patches import forms

        return forms.compiled(function, batch)

    def vmapped(function: Callable[..., Any], batch: Batch) -> Callable[..., Any]:
        from audit.patches import forms

        return forms.vmapped(function, batch)

    yield plain
    yield replace(
        plain, name=f"{plain.name}:compiled", summary=f"{plain.summary}; through mx.compile", transform=compiled
    )
    yield replace(
        plain, name=f"{plain.name}:vmapped", summary=f"{plain.summary}; through mx.vmap over points", transform=vmapped
    )


_PLAIN = (
    Implementation("mlx", "MLX as installed", _mlx),
    _patched(PATCHES["divide-report"], "MLX with the report's four orders for division's denominator"),
    _patched(PATCHES["divide"], "MLX with division's derivatives right over the whole exponent range"),
    Implementation("python", "the rule of mlx+divide as a custom function in Python", _python),
)

IMPLEMENTATIONS: dict[str, Implementation] = {made.name: made for plain in _PLAIN for made in _forms(plain)}
