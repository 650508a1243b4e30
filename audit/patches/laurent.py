"""Laurent polynomials evaluated as if exponents had no limits, with all their derivatives.

Every derivative of a quotient a/b, of any order, is a sum of terms ``coefficient * product of v**power`` over a, b and
the cotangents and tangents it was asked with: d(a/b) = da/b - a db/b**2, and so on. The family is closed under
differentiation, so one rule serves all orders. A number is taken apart into a significand in [1, 2) and an integer
exponent, both exactly; only significands meet the format's arithmetic, and one scaling at the end rounds to the
format. So no square of a denominator overflows, and no term overflows that another one cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import mlx.core as mx
import numpy as np

from audit.formats import lookup

Quotient = Callable[..., mx.array]
Pair = tuple[mx.array, mx.array]

# Exponent of a zero: below every other one, and far from the ends of int32 when exponents are added.
_ZERO_EXPONENT = -(2**24)
# A product of so many significands stays below 2**9, far inside float16.
_FACTORS = 8


@dataclass(frozen=True)
class Term:
    """``coefficient * product of variables[i] ** powers[i]``.

    Args:
        coefficient: not zero.
        powers: one integer per variable, of either sign.
    """

    coefficient: int
    powers: tuple[int, ...]


def derivative(terms: Sequence[Term], along: Sequence[int]) -> tuple[Term, ...]:
    """Terms of sum_i w_i * d/dv_i, with the weights w (tangents, or one cotangent) as new last variables.

    Args:
        terms: the polynomial.
        along: for each new variable, the index of the variable that it is the weight of.
    """
    result = []
    for position, variable in enumerate(along):
        weight = tuple(int(i == position) for i in range(len(along)))
        for term in terms:
            power = term.powers[variable]
            if power != 0:
                powers = list(term.powers)
                powers[variable] -= 1
                result.append(Term(term.coefficient * power, (*powers, *weight)))
    return tuple(result)


def laurent(
    variables: Sequence[mx.array],
    terms: Sequence[Term],
    divide: Quotient,
    stream: mx.Stream | mx.Device | None = None,
) -> mx.array:
    """The polynomial at its variables, with vjp, jvp and vmap that are such polynomials again.

    Args:
        variables: real floating-point arrays of one dtype and shape.
        terms: their powers are in the order of the variables.
        divide: used where the polynomial is a plain quotient x/y; it carries the same rule.
        stream: where to compute; MLX's default stream if None.
    """
    used = [i for i in range(len(variables)) if any(term.powers[i] for term in terms)]
    if not used:
        return mx.zeros_like(variables[0])
    variables = [variables[i] for i in used]
    terms = [Term(term.coefficient, tuple(term.powers[i] for i in used)) for term in terms]
    # One correctly rounded division instead of a scaled one that rounds twice where the result is subnormal.
    if len(terms) == 1 and terms[0].coefficient == 1 and sorted(terms[0].powers) == [-1, 1]:
        over, under = variables if terms[0].powers == (1, -1) else variables[::-1]
        return divide(over, under, stream=stream)
    count = len(variables)

    @mx.custom_function
    def polynomial(*at: mx.array) -> mx.array:
        # Reverse mode never looks in here, but forward mode pushes tangents through, and `view` has no jvp.
        with on(stream):
            return evaluate([mx.stop_gradient(x) for x in at], terms)

    @polynomial.vjp
    def _(primals: Any, cotangent: mx.array, _: mx.array) -> Any:
        at = (*as_tuple(primals), cotangent)
        return tuple(laurent(at, derivative(terms, (i,)), divide, stream) for i in range(count))

    @polynomial.jvp
    def _(primals: Any, tangents: Any) -> mx.array:
        given = [(i, tangent) for i, tangent in enumerate(as_tuple(tangents)) if tangent is not None]
        at = (*as_tuple(primals), *(tangent for _, tangent in given))
        return laurent(at, derivative(terms, [i for i, _ in given]), divide, stream)

    # Without a vmap of its own a custom_function is mapped as the operations inside it, and its rule is lost.
    @polynomial.vmap
    def _(inputs: Any, axes: Any) -> tuple[mx.array, int]:
        with on(stream):
            at = align(as_tuple(inputs), as_tuple(axes))
        return laurent(at, terms, divide, stream), 0

    return polynomial(*variables)


def evaluate(variables: Sequence[mx.array], terms: Sequence[Term]) -> mx.array:
    """The value alone. Zeros, infinities and NaN behave as in the format's own arithmetic, term by term."""
    parts = [_split(variable) for variable in variables]
    total = _term(parts, terms[0], variables[0].dtype)
    for term in terms[1:]:
        total = _add(total, _term(parts, term, variables[0].dtype))
    return _join(*_normalise(total))


def on(stream: mx.Stream | mx.Device | None) -> AbstractContextManager[Any]:
    """Context in which operations go to a stream; None leaves the default one."""
    return nullcontext() if stream is None else mx.stream(stream)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """What a custom_function hands over: a tuple, or the one thing itself where there is one argument."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def align(inputs: Sequence[mx.array], axes: Sequence[int | None]) -> list[mx.array]:
    """Operands of a mapped function with the mapped axis first; what is not mapped is repeated along it."""
    aligned = [mx.expand_dims(x, 0) if axis is None else mx.moveaxis(x, axis, 0) for x, axis in zip(inputs, axes)]
    return list(mx.broadcast_arrays(*aligned))


@dataclass(frozen=True)
class _Layout:
    """Bit fields of a format as constants of its unsigned type."""

    unsigned: mx.Dtype
    digits: int
    bias: int
    sign: mx.array
    fraction: mx.array
    one: mx.array
    infinity: mx.array


@lru_cache
def _layout(dtype: mx.Dtype) -> _Layout:
    fmt = lookup(str(dtype).rsplit(".", 1)[-1])
    digits = fmt.precision - 1
    unsigned, whole = {
        16: (mx.uint16, np.uint16),
        32: (mx.uint32, np.uint32),
        64: (mx.uint64, np.uint64),
    }[fmt.bits]
    fields = (1 << (fmt.bits - 1), (1 << digits) - 1, fmt.emax << digits, (2 * fmt.emax + 1) << digits)
    return _Layout(unsigned, digits, fmt.emax, *(mx.array(whole(field)) for field in fields))


def _split(x: mx.array) -> Pair:
    """Significand in +-[1, 2) and exponent (int32); zeros, infinities and NaN are kept, with exponent 0."""
    layout = _layout(x.dtype)
    bits = mx.view(x, layout.unsigned)
    sign = bits & layout.sign
    magnitude = bits ^ sign
    # A subnormal is converted from its integer: hardware that flushes subnormals never sees one.
    small = magnitude <= layout.fraction
    magnitude = mx.where(small, mx.view(magnitude.astype(x.dtype), layout.unsigned), magnitude)
    exponent = (magnitude >> layout.digits).astype(mx.int32)
    exponent = exponent - mx.where(small, 2 * layout.bias + layout.digits - 1, layout.bias)
    ordinary = (magnitude != 0) & (magnitude < layout.infinity)
    significand = mx.view((magnitude & layout.fraction) | layout.one | sign, x.dtype)
    return mx.where(ordinary, significand, x), mx.where(ordinary, exponent, 0)


def _join(significand: mx.array, exponent: mx.array) -> mx.array:
    """``significand * 2**exponent``, rounded once; what `_split` keeps is kept."""
    layout = _layout(significand.dtype)
    least = 1 - layout.bias
    bits = mx.view(significand, layout.unsigned)
    sign = bits & layout.sign
    magnitude = bits ^ sign
    field = (mx.clip(exponent, least, layout.bias) + layout.bias).astype(layout.unsigned) << layout.digits
    normal = (magnitude & layout.fraction) | field
    # In units of the smallest subnormal; a quarter of it and less round to zero alike.
    units = _power_of_two(mx.clip(exponent - (least - layout.digits), -2, layout.digits), significand.dtype)
    subnormal = mx.round(mx.abs(significand) * units).astype(layout.unsigned)
    magnitude_out = mx.where(exponent < least, subnormal, mx.where(exponent > layout.bias, layout.infinity, normal))
    ordinary = (magnitude & layout.infinity) == layout.one
    return mx.where(ordinary, mx.view(magnitude_out | sign, significand.dtype), significand)


def _power_of_two(exponent: mx.array, dtype: mx.Dtype) -> mx.array:
    layout = _layout(dtype)
    return mx.view((exponent + layout.bias).astype(layout.unsigned) << layout.digits, dtype)


def _normalise(x: Pair) -> Pair:
    significand, exponent = _split(x[0])
    return significand, exponent + x[1]


def _term(parts: Sequence[Pair], term: Term, dtype: mx.Dtype) -> Pair:
    magnitude = abs(term.coefficient)
    shift = magnitude.bit_length() - 1
    over = [part for part, power in zip(parts, term.powers) for _ in range(power)]
    under = [part for part, power in zip(parts, term.powers) for _ in range(-power)]
    if magnitude != 1 << shift or not over:
        over.append((mx.array(magnitude / (1 << shift), dtype), mx.array(0)))
    significand, exponent = _product(over)
    if under:
        divisor, divisor_exponent = _product(under)
        significand, exponent = mx.divide(significand, divisor), exponent - divisor_exponent
    if term.coefficient < 0:
        significand = mx.negative(significand)
    return significand, exponent + shift


def _product(factors: Sequence[Pair]) -> Pair:
    significand, exponent = factors[0]
    for count, (next_significand, next_exponent) in enumerate(factors[1:], 2):
        significand, exponent = significand * next_significand, exponent + next_exponent
        if count % _FACTORS == 0:
            significand, exponent = _normalise((significand, exponent))
    return significand, exponent


def _add(x: Pair, y: Pair) -> Pair:
    terms = [_normalise(x), _normalise(y)]
    exponents = [mx.where(significand == 0, _ZERO_EXPONENT, exponent) for significand, exponent in terms]
    largest = mx.maximum(*exponents)
    first, second = (_join(term[0], exponent - largest) for term, exponent in zip(terms, exponents))
    return first + second, largest
