"""Holomorphic functions on pairs of balls and pairs of power series, cut where the C standard cuts them.

On a cut the imaginary (or real) part that is zero counts as positive, as in the C standard; Arb counts it otherwise for
some functions. The power series of the inverse functions are their definitions by logarithms (DLMF 4.23, 4.37), which
use none of their derivatives; only coefficients from the first on are right on every branch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import acb, acb_series, arb, arb_series

from audit.reference.evaluate import NoDerivative

IMAGINARY = acb(0, 1)
Parts = tuple[Any, Any]
OnBalls = Callable[[acb], acb]
OnSeries = Callable[[acb_series], acb_series]


def _one() -> acb_series:
    return acb_series([1])


def _exp_difference(z: acb_series, sign: int) -> acb_series:
    return (z.exp() + (-z).exp() * sign) / acb_series([2])


def _log_sum(z: acb_series) -> acb_series:
    """``log(z + sqrt(1 + z**2))``, the inverse hyperbolic sine."""
    return (z + (_one() + z * z).sqrt()).log()


def _log_quotient(z: acb_series) -> acb_series:
    """``(log(1 + z) - log(1 - z)) / 2``, the inverse hyperbolic tangent."""
    return ((_one() + z).log() - (_one() - z).log()) / acb_series([2])


def _arcsin(z: acb) -> acb:
    w = z.asin()
    return acb(w.real, abs(w.imag)) if z.imag.is_zero() and abs(z.real) > 1 else w


def _arccos(z: acb) -> acb:
    w = z.acos()
    return acb(w.real, -abs(w.imag)) if z.imag.is_zero() and abs(z.real) > 1 else w


def _arctan(z: acb) -> acb:
    w = z.atan()
    return acb(abs(w.real), w.imag) if z.real.is_zero() and abs(z.imag) > 1 else w


def _arcsinh(z: acb) -> acb:
    w = z.asinh()
    return acb(abs(w.real), w.imag) if z.real.is_zero() and abs(z.imag) > 1 else w


def _arccosh(z: acb) -> acb:
    w = z.acosh()
    return acb(w.real, abs(w.imag)) if z.imag.is_zero() and z.real < 1 else w


def _arctanh(z: acb) -> acb:
    w = z.atanh()
    return acb(w.real, abs(w.imag)) if z.imag.is_zero() and abs(z.real) > 1 else w


def _sqrt_inside(z: acb) -> acb:
    """The square root, which on its cut is nobody's derivative: the two sides differ."""
    if z.imag.is_zero() and z.real < 0:
        raise NoDerivative
    return z.sqrt()


# Each function on balls and on series.
HOLOMORPHIC: dict[str, tuple[OnBalls, OnSeries]] = {
    "exp": (lambda z: z.exp(), lambda z: z.exp()),
    "log": (lambda z: z.log(), lambda z: z.log()),
    "log1p": (lambda z: z.log1p(), lambda z: (_one() + z).log()),
    "sqrt": (lambda z: z.sqrt(), lambda z: z.sqrt()),
    "sqrt_inside": (_sqrt_inside, lambda z: z.sqrt()),
    "rsqrt": (lambda z: z.rsqrt(), lambda z: z.rsqrt()),
    "sin": (lambda z: z.sin(), lambda z: z.sin()),
    "cos": (lambda z: z.cos(), lambda z: z.cos()),
    "tan": (lambda z: z.tan(), lambda z: z.tan()),
    "sinh": (lambda z: z.sinh(), lambda z: _exp_difference(z, -1)),
    "cosh": (lambda z: z.cosh(), lambda z: _exp_difference(z, 1)),
    "tanh": (lambda z: z.tanh(), lambda z: (z * IMAGINARY).tan() * -IMAGINARY),
    "arcsin": (_arcsin, lambda z: _log_sum(z * IMAGINARY) * -IMAGINARY),
    "arccos": (_arccos, lambda z: _log_sum(z * IMAGINARY) * IMAGINARY),
    "arctan": (_arctan, lambda z: _log_quotient(z * IMAGINARY) * -IMAGINARY),
    "arcsinh": (_arcsinh, _log_sum),
    "arccosh": (_arccosh, lambda z: (z + (z + 1).sqrt() * (z - 1).sqrt()).log()),
    "arctanh": (_arctanh, _log_quotient),
}


def on_parts(name: str) -> Callable[[Any, Any], Parts]:
    """The function of a real and an imaginary part that gives both parts of the result."""
    on_balls, on_series = HOLOMORPHIC[name]

    def function(x: Any, y: Any) -> Parts:
        if not isinstance(x, arb_series):
            z = on_balls(acb(x, y))
            return z.real, z.imag
        size = max(x.length(), y.length(), 1)
        w = on_series(acb_series([acb(x[k], y[k]) for k in range(size)]))
        parts = w.coeffs()
        return arb_series([c.real for c in parts]), arb_series([c.imag for c in parts])

    return function


def phase(x: arb, y: arb) -> arb:
    """``x / sqrt(x**2 + y**2)``, zero at the origin."""
    return arb(0) if x.is_zero() and y.is_zero() else x / (x * x + y * y).sqrt()
