"""Wrong derivatives of functions of one argument, one a defect."""

from __future__ import annotations

from collections.abc import Callable

import mlx.core as mx
import numpy as np

from audit.verdict import Verdict
from planted.rule import SLOPES, Piece, Rule, both, chain

_NAN, _SIGN, _WRONG, _VANISHED = Verdict.NAN, Verdict.SIGN, Verdict.WRONG, Verdict.VANISHED
_OVERFLOWED, _INACCURATE = Verdict.OVERFLOWED, Verdict.INACCURATE
_HALF = ("float16",)


def _in_format(operation: str, name: str, named: Verdict, piece: Piece, formats: tuple[str, ...] | None = None) -> Rule:
    """Wrong in both modes, and computed in the format itself."""
    return Rule(name, operation, both(piece), named, formats=formats or (*_HALF, "float32"))


def _slope(operation: str, name: str, named: Verdict, slope: Callable[..., np.ndarray]) -> Rule:
    """A wrong slope in both modes, computed in float64."""
    return Rule(name, operation, both(chain(slope)), named)


def _jvp(operation: str, name: str, named: Verdict, slope: Callable[..., np.ndarray]) -> Rule:
    return Rule(name, operation, {"jvp x": chain(slope)}, named)


def _vjp(operation: str, name: str, named: Verdict, slope: Callable[..., np.ndarray]) -> Rule:
    return Rule(name, operation, {"vjp x": chain(slope)}, named)


WRONG_UNARY = (
    _vjp("square", "misses the factor 2", _WRONG, lambda x: x),
    _slope("square", "derivative of the cube", _WRONG, lambda x: 3 * x * x),
    _vjp("square", "abs(x) in place of x", _SIGN, lambda x: 2 * np.abs(x)),
    _in_format("square", "twice the cotangent first, which overflows", _OVERFLOWED, lambda w, x: (w + w) * x),
    Rule(
        "difference of squares, which cancels", "square", both(chain(lambda x: ((x + 1) ** 2 - (x - 1) ** 2) / 2)),
        _VANISHED, formats=("float32",),
    ),
    Rule(
        "detached: no second derivative", "square", {"vjp x": lambda w, x: mx.stop_gradient(2 * (w * x))}, _VANISHED,
        frozenset({"second"}),
    ),
    _slope("reciprocal", "misses the minus sign", _SIGN, lambda x: 1 / (x * x)),
    _in_format("reciprocal", "squares the argument in the format", _VANISHED, lambda w, x: -w / (x * x)),
    _in_format("reciprocal", "squares the output in the format", _OVERFLOWED, lambda w, x: -w * (1 / x) ** 2),
    _slope("sqrt", "misses the chain factor", _WRONG, lambda x: np.full_like(x, 0.5)),
    _in_format("sqrt", "root of the reciprocal, which overflows", _OVERFLOWED, lambda w, x: w * 0.5 * mx.sqrt(1 / x)),
    _in_format("sqrt", "halves a subnormal cotangent first", _VANISHED, lambda w, x: (w * 0.5) / mx.sqrt(x)),
    _slope("sqrt", "epsilon in the denominator", _WRONG, lambda x: 0.5 / (np.sqrt(x) + 1e-3)),
    _in_format("rsqrt", "cube of the output, which overflows", _OVERFLOWED, lambda w, x: -0.5 * w * mx.rsqrt(x) ** 3),
    _jvp("rsqrt", "derivative of the root", _SIGN, SLOPES["sqrt"]),
    _in_format("exp", "multiplies by the rounded output", _INACCURATE, lambda w, x: w * mx.exp(x)),
    _slope("exp", "derivative of another function, expm1 in place of exp", _WRONG, np.expm1),
    _vjp("exp", "output clipped at e^4", _WRONG, lambda x: np.exp(np.minimum(x, 4))),
    _slope("log", "epsilon beside the argument", _WRONG, lambda x: 1 / (x + 1e-6)),
    _slope("log", "derivative of the binary logarithm", _INACCURATE, lambda x: 1 / (x * np.log(2))),
    _in_format("log", "multiplies by a reciprocal, which overflows", _OVERFLOWED, lambda w, x: w * (1 / x)),
    _slope("log1p", "derivative of another function, log in place of log1p", _WRONG, lambda x: 1 / x),
    _slope("log1p", "drops the square of a series", _WRONG, lambda x: 1 - x),
    _slope("expm1", "multiplies by the output without its 1", _WRONG, np.expm1),
    _in_format("expm1", "adds 1 to the rounded output, which cancels", _VANISHED, lambda w, x: w * (mx.expm1(x) + 1)),
    _in_format("tanh", "1 - tanh^2, which cancels", _VANISHED, lambda w, x: w * (1 - mx.tanh(x) ** 2)),
    _slope("tanh", "derivative of the sigmoid", _INACCURATE, SLOPES["sigmoid"]),
    _vjp("tanh", "1 - tanh without the square", _WRONG, lambda x: 1 - np.tanh(x)),
    _in_format(
        "sigmoid", "y * (1 - y), which cancels", _VANISHED, lambda w, x: w * (mx.sigmoid(x) * (1 - mx.sigmoid(x)))
    ),
    _slope("sigmoid", "y in place of y * (1 - y)", _WRONG, lambda x: 1 / (1 + np.exp(-x))),
    _slope("sin", "minus the cosine", _SIGN, lambda x: -np.cos(x)),
    _jvp("sin", "the function in place of its derivative", _WRONG, np.sin),
    _slope("cos", "the sine without its sign", _SIGN, np.sin),
    _slope("cos", "reads degrees", _WRONG, lambda x: -np.sin(np.radians(x))),
    _vjp("cos", "reduces the argument by a short pi", _INACCURATE, lambda x: -np.sin(x - np.round(x / 6.28) * 6.28)),
    _slope("abs", "1 on both sides", _SIGN, np.ones_like),
    _in_format(
        "abs", "no slope where the argument is subnormal", _VANISHED,
        lambda w, x: w * mx.sign(mx.where(mx.abs(x) < 2.0**-14, 0, x)), _HALF,
    ),
    _slope("erf", "misses 2 / sqrt(pi)", _INACCURATE, lambda x: np.exp(-x * x)),
    _jvp("erf", "NaN beyond x^2 = 100", _NAN, lambda x: np.where(x * x > 100, np.nan, SLOPES["erf"](x))),
)  # fmt: skip
