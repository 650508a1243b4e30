"""Right derivatives of functions of one argument, written in other ways than MLX's."""

from __future__ import annotations

import mlx.core as mx
import numpy as np

from planted.rounding import away_from_zero, other_neighbour, other_subnormal, rounded, toward_zero
from planted.rule import SLOPES, Piece, Rule, both, chain, host
from planted.subject import Subject, subject

_FORMATS = ("float16", "bfloat16", "float32")


def _right(operation: str, name: str, piece: Piece, formats: tuple[str, ...] = _FORMATS) -> Subject:
    return subject(Rule(name, operation, both(piece), formats=formats))


def _faithful(operation: str, name: str) -> Subject:
    piece = rounded(chain(SLOPES[operation]), other_subnormal(name))
    return _right(operation, f"the other subnormal neighbour in {name}", piece, (name,))


def _half(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.cos(x / 2), np.sin(x / 2)


RIGHT_UNARY = (
    _right("square", "x*w + w*x, in the format", lambda w, x: x * w + w * x),
    _right("square", "2*(w*x), in the format", lambda w, x: 2 * (w * x)),
    _right("reciprocal", "-(w/x)/x", host(lambda w, x: -(w / x) / x)),
    _right("reciprocal", "-w*y*y", host(lambda w, x: -w * (1 / x) * (1 / x))),
    _right("sqrt", "w/(y + y), in the format", lambda w, x: w / (mx.sqrt(x) + mx.sqrt(x))),
    _right("sqrt", "w*y/(2*x)", host(lambda w, x: w * np.sqrt(x) / (2 * x))),
    _right("sqrt", "rounded to the other neighbour", rounded(chain(SLOPES["sqrt"]), other_neighbour)),
    _right("rsqrt", "-w*y/(2*x)", host(lambda w, x: -w / np.sqrt(x) / (2 * x))),
    _right("rsqrt", "-w/2 * x^(-3/2)", host(lambda w, x: -w / 2 * x**-1.5)),
    _right("exp", "through the output in float64", host(lambda w, x: w * np.exp(x))),
    _right("exp", "square of the exponential of half", host(lambda w, x: w * np.exp(x / 2) * np.exp(x / 2))),
    _right("exp", "2^(x/log 2)", host(lambda w, x: w * np.exp2(x / np.log(2)))),
    _right("exp", "rounded toward zero", rounded(chain(np.exp), toward_zero)),
    _right("expm1", "1 + expm1 above 0", host(lambda w, x: w * np.where(x > 0, 1 + np.expm1(x), np.exp(x)))),
    _right("log", "w/x, in the format", lambda w, x: w / x),
    _right("log", "-w/(-x), in the format", lambda w, x: (-w) / (-x)),
    _right("log1p", "w/(x + 1)", host(lambda w, x: w / (x + 1))),
    _right("log1p", "exponential of minus the output", host(lambda w, x: w * np.exp(-np.log1p(x)))),
    _right("tanh", "4/(e^x + e^-x)^2", host(lambda w, x: w * 4 / (np.exp(x) + np.exp(-x)) ** 2)),
    _right("tanh", "4*s(2x)*s(-2x)", host(lambda w, x: w * 4 / (1 + np.exp(-2 * x)) / (1 + np.exp(2 * x)))),
    _right("sigmoid", "s(x)*s(-x)", host(lambda w, x: w / (1 + np.exp(-x)) / (1 + np.exp(x)))),
    _right("sigmoid", "through the slope of tanh", host(lambda w, x: w * SLOPES["tanh"](x / 2) / 4)),
    _right(
        "sin", "(c - s)*(c + s) of half the angle", host(lambda w, x: w * np.subtract(*_half(x)) * np.add(*_half(x)))
    ),
    _right("sin", "rounded away from zero", rounded(chain(np.cos), away_from_zero)),
    _right("cos", "-2*sin(x/2)*cos(x/2)", host(lambda w, x: -2 * w * np.sin(x / 2) * np.cos(x / 2))),
    _right("cos", "sine of -x", host(lambda w, x: w * np.sin(-x))),
    _right("erf", "square of e^(-x^2/2)", host(lambda w, x: w * 2 / np.sqrt(np.pi) * np.exp(-x * x / 2) ** 2)),
    _right("abs", "w*sign(x), in the format", lambda w, x: w * mx.sign(x)),
    _right("abs", "chosen by the sign, in the format", lambda w, x: mx.where(x < 0, -w, w)),
    *(_faithful("tanh", name) for name in _FORMATS),
    *(_faithful("reciprocal", name) for name in _FORMATS),
)
