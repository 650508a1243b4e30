"""Right rules under transforms: mapped, compiled, checkpointed, laid out otherwise, differentiated again."""

from __future__ import annotations

from dataclasses import replace

from planted.otherwise import formula, otherwise
from planted.plant import At
from planted.right_linear import _broadcast
from planted.right_reductions import _folded, _softmax_sum, _turned

_WRAPS = At(("forward", "vjp"), wraps=("vmap-in", "vmap-out", "checkpoint"))
_COMPILED = At(("vjp",), wraps=("compile",), size="default")
_VIEWS = At(("forward", "vjp"), layouts=("transposed", "strided", "reversed", "broadcast"))
_AGAIN = At(("second-rr", "second-fr", "second-rf"))
_THIRD = At(("third",))


_FORMS = (("mapped", _WRAPS), ("compiled", _COMPILED), ("views", _VIEWS), ("again", _AGAIN), ("third", _THIRD))

RIGHT_TRANSFORMS = (
    *(
        replace(otherwise(f"{name}: a sum of broadcast products", "mx.matmul", _broadcast), at=at)
        for name, at in _FORMS
    ),
    *(
        replace(formula(f"{name}: the sum taken off", "mx.softmax", jvp={"x": _softmax_sum}, x=_softmax_sum), at=at)
        for name, at in _FORMS
    ),
    *(replace(otherwise(f"{name}: turned round", "mx.cumsum", _turned), at=at) for name, at in _FORMS[:4]),
    *(
        replace(otherwise(f"{name}: a factor after another", "mx.prod", _folded(lambda a, b: a * b, 1.0)), at=at)
        for name, at in (("mapped", _WRAPS), ("again", _AGAIN), ("third", _THIRD))
    ),
)
