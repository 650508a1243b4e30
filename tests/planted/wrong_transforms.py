"""Wrong under a transform only: mapped, compiled, checkpointed, laid out otherwise, differentiated again."""
# ruff: noqa: ARG005  every piece takes the weight, the operands and the parameters, whether it reads them or not

from __future__ import annotations

from typing import Any

import mlx.core as mx

from audit.verdict import Verdict
from planted.plant import At, Piece, Plant

_WRONG, _SIGN, _NONZERO, _VANISHED = Verdict.WRONG, Verdict.SIGN, Verdict.NONZERO, Verdict.VANISHED
_MAPPED = At(("forward", "vjp"), wraps=("vmap-in",))
_SECOND = At(("vjp", "second-rr", "second-fr"))
_FORMS = At(("vjp",), wraps=("", "compile", "checkpoint", "vmap-in", "vmap-out"), size="default")


def _negated(own: Piece, *rest: Any, **parameters: Any) -> mx.array:
    return -own()


def _detached(own: Piece, *rest: Any, **parameters: Any) -> mx.array:
    return mx.stop_gradient(own())


def _wrapped(wrap: str) -> Any:
    return lambda batch: batch.wrap.startswith(wrap)


def _bent(own: Piece, w: mx.array, x: mx.array, *rest: Any, **parameters: Any) -> mx.array:
    """The right value with a slope of its own."""
    return own() + (x - mx.stop_gradient(x))


def _curved(own: Piece, w: mx.array, x: mx.array, *rest: Any, **parameters: Any) -> mx.array:
    """The right value and slope with a curvature of its own."""
    return own() + mx.square(x - mx.stop_gradient(x))


def _half_detached(own: Piece, w: mx.array, x: mx.array, axis: Any, precise: bool) -> mx.array:
    y = mx.softmax(x, axis)
    return mx.stop_gradient(y) * (w - mx.sum(w * y, axis, keepdims=True))


def _alone(place: int) -> Any:
    return lambda batch: batch.mode.traced == (place,)


def _laid_out(layout: str) -> Any:
    return lambda batch: batch.layout == layout


def _form(operation: str, argument: str, wrap: str) -> Plant:
    return Plant(
        f"wrong under {wrap} only",
        operation,
        {argument: _negated},
        named=_SIGN,
        at=_FORMS,
        when=_wrapped(wrap),
        only=lambda row: row["wrap"].startswith(wrap),
    )


def _layout(operation: str, argument: str, layout: str) -> Plant:
    return Plant(
        f"wrong where arrays are {layout} only",
        operation,
        {argument: _negated},
        named=_SIGN,
        at=At(layouts=("contiguous", "transposed", "strided", "reversed", "broadcast"), empty=False),
        when=_laid_out(layout),
        only=lambda row: row["layout"] == layout,
    )


WRONG_TRANSFORMS = (
    Plant(
        "every row read as the first",
        "mx.matmul",
        named=_VANISHED,
        at=_MAPPED,
        rows=lambda row, argument, mapped: 0,
        broken=frozenset({"vjp a", "vjp b", "forward output"}),
    ),
    Plant(
        "row 1 read as row 0",
        "mx.softmax",
        named=_SIGN,
        at=At(("vjp",), wraps=("vmap-out", "vmap-in")),
        rows=lambda row, argument, mapped: 0 if row == 1 else row,
        broken=frozenset({"vjp x"}),
    ),
    Plant(
        "rows exchanged where an operand is not mapped",
        "mx.matmul",
        named=_WRONG,
        at=_MAPPED,
        rows=lambda row, argument, mapped: row if all(mapped) else 1 - row,
        broken=frozenset({"vjp a", "vjp b", "forward output"}),
        only=lambda row: "-," in row["wrap"] or ",-" in row["wrap"],
    ),
    Plant(
        "rows of one operand exchanged",
        "mx.fast.layer_norm",
        named=_WRONG,
        at=At(("forward",), wraps=("vmap-in",)),
        rows=lambda row, argument, mapped: 1 - row if argument == 1 else row,
        broken=frozenset({"forward output"}),
    ),
    Plant(
        "rows of one operand exchanged",
        "mx.take",
        named=_WRONG,
        at=At(("forward", "jvp"), wraps=("vmap-in",)),
        rows=lambda row, argument, mapped: 1 - row,
        broken=frozenset({"forward output", "jvp x"}),
    ),
    _form("mx.matmul", "a", "compile"),
    _form("mx.softmax", "x", "checkpoint"),
    _form("mx.sum", "x", "vmap-out"),
    _form("mx.concatenate", "c", "vmap-in"),
    _layout("mx.cumsum", "x", "transposed"),
    _layout("mx.sort", "x", "strided"),
    _layout("mx.conv1d", "w", "reversed"),
    _layout("mx.fft.fftshift", "x", "broadcast"),
    Plant(
        "wrong where the other argument is not traced",
        "mx.matmul",
        {"b": _negated},
        named=_SIGN,
        when=_alone(1),
        only=lambda row: row["traced"] == "b",
    ),
    Plant(
        "wrong where weights alone are traced",
        "mx.conv2d",
        {"w": _negated},
        named=_SIGN,
        when=_alone(1),
        only=lambda row: row["traced"] == "w",
    ),
    Plant(
        "gradient in the type of the result where types are mixed",
        "mx.matmul",
        {"a": lambda own, w, a, b: own().astype(w.dtype)},
        named=Verdict.DTYPE,
        at=At(formats=("float16",)),
    ),
    Plant(
        "detached: no second derivative",
        "mx.matmul",
        {"a": _detached, "b": _detached},
        named=_VANISHED,
        at=_SECOND,
        broken=frozenset({"second a", "second b"}),
    ),
    Plant(
        "one factor detached: half of a second derivative",
        "mx.softmax",
        {"x": _half_detached},
        named=_WRONG,
        at=_SECOND,
        broken=frozenset({"second x"}),
    ),
    Plant(
        "right value, wrong slope",
        "mx.sum",
        {"x": _bent},
        named=_NONZERO,
        at=_SECOND,
        broken=frozenset({"second x"}),
    ),
    Plant(
        "right slope, wrong curvature",
        "mx.cumsum",
        {"x": _curved},
        named=_NONZERO,
        at=At(("vjp", "second-rr", "third")),
        broken=frozenset({"third x"}),
    ),
    Plant(
        "tangent of the tangent rule detached",
        "mx.inner",
        jvp={"a": _detached, "b": _detached},
        named=_VANISHED,
        at=At(("jvp", "second-rf")),
        broken=frozenset({"second a", "second b"}),
    ),
    Plant(
        "detached: no second derivative",
        "nn.losses.mse_loss",
        {"predictions": _detached, "targets": _detached},
        named=_VANISHED,
        at=_SECOND,
        broken=frozenset({"second predictions", "second targets"}),
    ),
    Plant(
        "one of two gradients detached",
        "mx.conv1d",
        {"x": lambda own, w, x, *rest, **p: mx.stop_gradient(own()) + 0 * x},
        named=_VANISHED,
        at=At(("vjp", "second-rr"), empty=False),
        # What is left of the gradient of x does not depend on w.
        broken=frozenset({"second w"}),
    ),
)
