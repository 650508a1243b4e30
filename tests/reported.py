"""Faults of MLX that were reported in public, with what the audit must make of them.

Each name stands for one small report. Those that MLX 0.32.4 still shows must come to a defect, or to a missing rule, of
the operation and of one of the classes named; those that it does not show any more must not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Due:
    """One defect that a report must come to.

    Args:
        operations: names of the operations, any of which may carry it: MLX has several doors to one room.
        classes: its class is one of these.
        rules: it shows in one of these rules.
        formats: it shows in one of these formats; any, if there are none.
    """

    operations: tuple[str, ...]
    classes: tuple[str, ...]
    rules: tuple[str, ...] = ("forward", "vjp", "jvp", "second", "vmap")
    formats: tuple[str, ...] = ()


def _due(operations: str, classes: str, rules: str = "", formats: str = "") -> Due:
    listed = tuple(rules.split()) if rules else ("forward", "vjp", "jvp", "second", "vmap")
    kinds = tuple(name.replace("_", " ") for name in classes.split())
    return Due(tuple(operations.split()), kinds, listed, tuple(formats.split()))


_FIRST = "vjp jvp"

# What 0.32.4 shows.
FAILING: dict[str, tuple[Due, ...]] = {
    # In float16 the epsilon rounds to zero, so that a zero gradient gives 0/0.
    "an optimiser's step of a zero gradient in float16": tuple(
        _due(f"optim.{name}", "poison range") for name in ("Adam", "AdamW", "RMSprop", "Adagrad", "Adamax")
    ),
    # 1/sqrt(x**2 +- 1) and 1/(1 + x**2) lose their slope to the square of a large x.
    "slopes of arcsinh, arccosh and arctan at large arguments": (
        _due("mx.arcsinh", "range", _FIRST),
        _due("mx.arccosh", "range", _FIRST),
        _due("mx.arctan", "range", _FIRST),
    ),
    "arctan2 of two large or two small numbers": (_due("mx.arctan2", "range", _FIRST),),
    "cumprod of complex numbers": (_due("mx.cumprod", "conjugate", "vjp"),),
    # With input dilation and uneven padding the gradient has one element too few.
    "convolution with input dilation": (_due("mx.conv_general", "shape", "vjp"),),
    "forward mode of convolution, scatter and gathered products": (
        _due("mx.conv1d mx.conv_general", "missing", "jvp"),
        _due("mx.ArrayAt.add mx.array.__setitem__", "missing", "jvp"),
        _due("mx.gather_mm", "missing", "jvp"),
        _due("mx.segmented_mm", "missing", "vjp"),
    ),
    # The product of two factors vanishes, although the derivative by one of three is an ordinary number.
    "cumprod whose prefix underflows": (_due("mx.cumprod", "range"),),
    "division over the exponent range, backward": (_due("mx.divide", "range", "vjp"),),
    "division over the exponent range, forward": (_due("mx.divide", "range", "jvp"),),
    # The remainder of divmod has slopes 1 and -floor(a/b); zeros are returned.
    "the remainder of divmod": (_due("mx.divmod", "dropped_parameter value", _FIRST),),
    # A token that is used thousands of times: the sum of its gradients stops growing.
    "embedding gradients in half precision": (_due("nn.Embedding mx.take mx.array.__getitem__", "precision", "vjp"),),
    "float64 computed in float32": (
        _due("mx.log2", "precision", _FIRST),
        _due("mx.log10", "precision", _FIRST),
        _due("nn.softplus", "precision cancellation"),
    ),
    "cumsum of thousands of ones in half precision": (_due("mx.cumsum", "precision"),),
    "gradients that are sums of thousands of terms in half precision": (
        _due("mx.take mx.array.__getitem__", "precision", "vjp"),
    ),
    "forward mode of cumprod and cummax": (
        _due("mx.cumprod", "missing", "jvp"),
        _due("mx.cummax", "missing", "jvp"),
    ),
    "gradients of linear algebra": tuple(
        _due(f"mx.linalg.{name}", "missing crash", "vjp")
        for name in ("inv", "solve", "cholesky", "eigvalsh", "svd", "pinv")
    ),
    "logaddexp of two infinities with a zero cotangent": (_due("mx.logaddexp", "poison", "vjp"),),
    "a view of the bits": (_due("mx.view mx.array.view", "missing"),),
    # 0 * log 0 with both logarithms at -inf.
    "Kullback-Leibler divergence at a probability of zero": (_due("nn.losses.kl_div_loss", "poison"),),
    # The square, or the sum, leaves float16 although the result lies within it.
    "statistics and norms in float16": (
        _due("nn.GroupNorm", "range precision"),
        _due("nn.BatchNorm", "range precision"),
        _due("mx.var", "range", "forward"),
        _due("mx.std", "range", "forward"),
        _due("mx.linalg.norm", "range", "forward"),
        _due("mx.mean", "range", "forward"),
    ),
    "a power of zero at the base zero": (_due("mx.power", "poison value", _FIRST),),
    "rsqrt and reciprocal over the exponent range": (
        _due("mx.rsqrt", "range", _FIRST),
        _due("mx.reciprocal", "range", _FIRST),
    ),
    # Attention itself is right over every axis: the report's function adds axes first, and they end up elsewhere.
    "attention mapped over its second axis": (_due("mx.expand_dims", "vmap"),),
    "softmax of thousands of equal numbers in half precision": (_due("mx.softmax", "precision", "forward"),),
    "the square root of zero in a branch that is not taken": (_due("mx.sqrt", "poison", _FIRST),),
    "the other operations under vmap": (
        _due("mx.array.__setitem__ mx.slice_update", "vmap"),
        _due("mx.divmod", "vmap missing crash"),
        _due("mx.as_strided", "missing", "vmap"),
        _due("mx.linalg.qr", "missing", "vmap"),
        _due("mx.linalg.lu mx.linalg.lu_factor", "missing", "vmap"),
        _due("mx.gather_mm", "missing", "vmap"),
    ),
}

# What 0.32.4 does not show any more, or never did: no defect of these operations, classes and rules.
PASSING: dict[str, tuple[Due, ...]] = {
    "forward mode of the absolute value of a complex number": (_due("mx.abs", "conjugate value", "jvp"),),
    "both gradients of arctan2": (_due("mx.arctan2", "value dropped_parameter shape"),),
    "forward mode of comparisons": (_due("mx.greater mx.greater_equal", "value shape", "jvp"),),
    "a compiled maximum": (_due("mx.max", "consistency"),),
    "conjugates and imaginary parts": (_due("mx.conjugate mx.imag mx.real", "conjugate value"),),
    "forward mode of holomorphic functions": (
        _due("mx.exp mx.log mx.sin mx.cos mx.sqrt mx.square mx.tanh mx.arctan", "conjugate", "jvp"),
    ),
    "gradients of shape operations": (
        _due("mx.concatenate mx.unflatten mx.roll mx.tril mx.kron", "value dropped_parameter shape", "vjp"),
        # The shape of the derivative by its constant is another matter.
        _due("mx.pad", "value dropped_parameter", "vjp"),
    ),
    "cross entropy at large logits": (_due("nn.losses.cross_entropy", "value"),),
    "cumprod with zeros": (_due("mx.cumprod", "poison value", "vjp"),),
    "gradients of real Fourier transforms": (
        _due("mx.fft.rfft mx.fft.irfft", "conjugate value dropped_parameter", "vjp"),
    ),
    "second derivatives of layer_norm": (_due("mx.fast.layer_norm mx.fast.rms_norm", "shape value", "second"),),
    "log_softmax at large logits": (_due("nn.log_softmax", "value cancellation", "forward"),),
    "logcumsumexp of numbers far apart, forward mode": (_due("mx.logcumsumexp", "value", "jvp", "float32"),),
    "logsumexp along an axis, forward mode": (_due("mx.logsumexp", "shape value", "jvp"),),
    "products that broadcast in float32": (_due("mx.matmul", "precision", "forward"),),
    "reflecting and symmetric padding": (_due("mx.pad", "value dropped_parameter", "vjp"),),
    "both tangents of a power": (_due("mx.power", "dropped_parameter", "jvp"),),
    "gradients of quantised products": (_due("mx.quantized_matmul mx.gather_qmm", "value poison", "vjp"),),
    "the gradient of an additive mask": (_due("mx.fast.scaled_dot_product_attention", "dropped_parameter", "vjp"),),
    "one tangent of slice_update": (_due("mx.slice_update", "dropped_parameter value", "jvp"),),
    "sorting by a permutation that is not its own inverse": (_due("mx.sort", "value dropped_parameter"),),
    "the variance of complex numbers": (_due("mx.var mx.std", "conjugate value", "forward"),),
    "where with a constant branch": (_due("mx.where", "dropped_parameter value", "jvp"),),
}


@dataclass(frozen=True)
class Input:
    """One reported input, asked of the engine.

    Args:
        function: name of a case's function.
        mode: how it is asked.
        argument: whose derivative; ``"output"`` for a value or a jvp.
        primals, weights: at one point.
        wrong: whether 0.32.4 returns a wrong number, or none.
        format: of all numbers.
        element: which number of the answer.
        result: the format of the result, where it is another one.
    """

    function: str
    mode: str
    argument: str
    primals: Sequence[Any]
    weights: Sequence[Any]
    wrong: bool
    format: str = "float32"
    element: int = 0
    result: str = ""

    def __str__(self) -> str:
        return f"{self.function} {self.mode} {self.argument} {self.format} {self.wrong} {str(self.primals)[:40]}"


_ZIGZAG = [200.0, -200.0] * 4
_COMPLEX = [0.5 + 1j, 2 - 1j, -1 + 0.5j]
_HUGE = 2.0**73

INPUTS = (
    Input("mx.arcsinh", "vjp", "x", [_HUGE], [1.0], wrong=True),
    Input("mx.arccosh", "vjp", "x", [_HUGE], [1.0], wrong=True),
    Input("mx.arctan", "vjp", "x", [2.0**65], [2.0**65], wrong=True),
    Input("mx.arctan2", "vjp", "a", [2.0**70, 2.0**70], [1.0], wrong=True),
    Input("mx.arctan2", "vjp", "a", [2.0**-70, 2.0**-70], [1.0], wrong=True),
    Input("mx.arctan2", "vjp", "a", [3.0, 4.0], [1.0], wrong=False),
    Input("mx.arctan2", "vjp", "b", [3.0, 4.0], [1.0], wrong=False),
    Input("quotient", "vjp", "b", [2.0**80, 2.0**80], [2.0**80], wrong=True),
    Input("quotient", "vjp", "b", [2.0**-66, 2.0**-66], [2.0**-66], wrong=False),
    Input("quotient", "vjp", "b", [2.0**-80, 2.0**-80], [2.0**-80], wrong=True),
    Input("quotient", "vjp", "b", [2.0**9, 2.0**9], [2.0**9], wrong=True, format="float16"),
    Input("quotient", "jvp", "output", [2.0**66, 2.0**66], [0.0, 2.0**66], wrong=True),
    Input("mx.rsqrt", "vjp", "x", [2.0**100], [2.0**50], wrong=True),
    Input("mx.rsqrt", "vjp", "x", [2.0**-100], [2.0**-50], wrong=True),
    Input("mx.rsqrt", "vjp", "x", [2.0**80], [2.0**40], wrong=False),
    Input("mx.reciprocal", "vjp", "x", [2.0**80], [2.0**80], wrong=True),
    Input("mx.reciprocal", "vjp", "x", [2.0**-80], [2.0**-80], wrong=True),
    Input("mx.sqrt", "vjp", "x", [2.0**100], [2.0**-50], wrong=False),
    Input("mx.log", "vjp", "x", [2.0**-100], [1.0], wrong=False),
    Input("mx.log2", "vjp", "x", [0.1], [1.0], wrong=True, format="float64"),
    Input("mx.log10", "vjp", "x", [0.1], [1.0], wrong=True, format="float64"),
    Input("mx.sqrt", "vjp", "x", [0.1], [1.0], wrong=False, format="float64"),
    Input("nn.softplus", "forward", "output", [0.1], [], wrong=True, format="float64"),
    Input("mx.sqrt", "vjp", "x", [0.0], [0.0], wrong=True),
    Input("mx.power", "vjp", "a", [0.0, 0.0], [1.0], wrong=True),
    Input("mx.power", "vjp", "a", [0.0, 3.0], [1.0], wrong=False),
    Input("mx.power", "vjp", "a", [0.0, 1.0], [1.0], wrong=False),
    Input("mx.power", "vjp", "a", [-2.0, 3.0], [1.0], wrong=False),
    Input("mx.power", "jvp", "output", [3.0, 2.0], [0.5, 0.25], wrong=False),
    Input("mx.cumprod", "jvp", "output", [[2.0, 3.0]], [[1.0, 1.0]], wrong=True),
    Input("mx.cummax", "jvp", "output", [[2.0, 1.0, 3.0]], [[4.0, 5.0, 6.0]], wrong=True),
    Input("mx.cumprod", "vjp", "x", [[2.0**-100, 2.0**-100, 2.0**120]], [[0.0, 0.0, 1.0]], wrong=True),
    Input("mx.cumprod", "vjp", "x", [[3.0, 0.0, 5.0, 7.0]], [[1.0] * 4], wrong=False, element=1),
    Input("mx.cumprod", "vjp", "x", [[2.0, 0.0, 0.0, 3.0]], [[1.0] * 4], wrong=False, element=1),
    Input(
        "mx.cumprod", "vjp", "x", [[0.5 + 1j, 2 - 1j, -1 + 0.5j]], [[1.5 + 0.5j] * 3], wrong=True, format="complex64"
    ),
    Input("mx.var", "forward", "output", [_ZIGZAG], [], wrong=True, format="float16"),
    Input("mx.std", "forward", "output", [_ZIGZAG], [], wrong=True, format="float16"),
    Input("mx.mean", "forward", "output", [[60000.0] * 4], [], wrong=True, format="float16"),
    Input("mx.cumsum", "forward", "output", [[1.0] * 3000], [], wrong=True, format="float16", element=2999),
    Input("mx.cumsum", "forward", "output", [[1.0] * 1000], [], wrong=True, format="bfloat16", element=999),
    Input("mx.softmax", "forward", "output", [[0.0] * 4096], [], wrong=True, format="float16"),
    Input("mx.softmax", "forward", "output", [[0.0] * 1024], [], wrong=True, format="bfloat16"),
    Input("mx.logsumexp", "forward", "output", [[0.0] * 4096], [], wrong=False, format="float16"),
    Input("mx.abs", "jvp", "output", [3 + 4j], [1 + 2j], wrong=False, format="complex64", result="float32"),
    Input("mx.sort", "vjp", "x", [[3.0, 1.0, 2.0]], [[1.0, 10.0, 100.0]], wrong=False),
    Input("mx.sort", "vjp", "x", [[3.0, 1.0, 2.0]], [[1.0, 10.0, 100.0]], wrong=False, element=1),
    Input("mx.sort", "jvp", "output", [[3.0, 1.0, 2.0]], [[1.0, 10.0, 100.0]], wrong=False, element=2),
    Input("mx.tanh", "vjp", "x", [200.0], [1.0], wrong=False),
    Input("mx.sigmoid", "vjp", "x", [-200.0], [1.0], wrong=False),
    Input("mx.erf", "vjp", "x", [200.0], [1.0], wrong=False),
    Input("nn.silu", "vjp", "x", [200.0], [1.0], wrong=False),
    Input("nn.softplus", "vjp", "x", [200.0], [1.0], wrong=False),
    Input("nn.gelu", "vjp", "x", [200.0], [1.0], wrong=False),
    Input("nn.mish", "vjp", "x", [200.0], [1.0], wrong=False),
)
