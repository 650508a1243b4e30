"""Laurent polynomials of arrays, with all their derivatives.

Every derivative of a quotient a/b, of any order, is a sum of terms ``coefficient * product of v**power`` over a, b and
the cotangents and tangents it was asked with: d(a/b) = da/b - a db/b**2, and so on. The family is closed under
differentiation, so one rule serves all orders. It is evaluated with unbounded exponents (`audit.patches.unbounded`), so
no square of a denominator overflows, no term does that another one cancels, and terms that cancel leave no rounding
errors (`audit.patches.paired`).

Its price is that MLX can neither export such a derivative nor compile it without shapes (``shapeless=True``): the
primitives behind `custom_function` and `view` can do neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from audit.patches.paired import Product, sum_of_products
from audit.patches.unbounded import FACTORS, Unbounded, constant, split_all

Quotient = Callable[..., mx.array]


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


def evaluate(variables: Sequence[mx.array], terms: Sequence[Term]) -> mx.array:
    """The value of a polynomial of at least one term, rounded to the format at the end.

    Where it has several terms, a variable with a negative power in one has one in all.
    """
    return mx.squeeze(_evaluate(split_all(variables), terms), 0)


def laurent(
    variables: Sequence[mx.array],
    terms: Sequence[Term],
    divide: Quotient,
    stream: mx.Stream | mx.Device | None = None,
) -> mx.array:
    """The polynomial at its variables, with vjp, jvp and vmap that are such polynomials again.

    Args:
        variables: real floating-point arrays of one shape. The result is in the widest of their formats, since MLX
            takes tangents of another format than their primals.
        terms: their powers are in the order of the variables.
        divide: used where the polynomial is a plain quotient x/y; it carries the same rule.
        stream: where to compute; MLX's default stream if None.
    """
    used = [i for i in range(len(variables)) if any(term.powers[i] for term in terms)]
    if not used:
        return mx.zeros_like(variables[0])
    with on(stream):
        dtype = mx.result_type(*variables)
        variables = [variables[i].astype(dtype) for i in used]
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
        along, given = traced(tangents)
        return laurent((*as_tuple(primals), *given), derivative(terms, along), divide, stream)

    # Without a vmap of its own a custom_function is mapped as the operations inside it, and its rule is lost.
    @polynomial.vmap
    def _(inputs: Any, axes: Any) -> tuple[mx.array, int]:
        return laurent(aligned(inputs, axes, stream), terms, divide, stream), 0

    return as_array(polynomial(*variables))


def on(stream: mx.Stream | mx.Device | None) -> AbstractContextManager[Any]:
    """Context in which operations go to a stream; None leaves the default one."""
    return nullcontext() if stream is None else mx.stream(stream)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """What a custom_function hands over: a tuple, or the one thing itself where there is one argument."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def as_array(value: Any) -> mx.array:
    """What a custom_function returns, which MLX's type hints call an object."""
    return value


def traced(tangents: Any) -> tuple[list[int], list[mx.array]]:
    """Indices and tangents of the arguments that are traced; MLX hands over None for the others."""
    given = [(i, tangent) for i, tangent in enumerate(as_tuple(tangents)) if tangent is not None]
    return [i for i, _ in given], [tangent for _, tangent in given]


def aligned(inputs: Any, axes: Any, stream: mx.Stream | mx.Device | None) -> list[mx.array]:
    """Operands of a mapped function with the mapped axis first; what is not mapped is repeated along it."""
    with on(stream):
        pairs = zip(as_tuple(inputs), as_tuple(axes), strict=True)
        moved = [mx.expand_dims(x, 0) if axis is None else mx.moveaxis(x, axis, 0) for x, axis in pairs]
        return list(mx.broadcast_arrays(*moved))


def _evaluate(parts: Sequence[Unbounded], terms: Sequence[Term]) -> mx.array:
    if len(terms) == 1:
        return _monomial(parts, terms[0]).normalised().joined()
    common = tuple(min(powers) for powers in zip(*(term.powers for term in terms), strict=True))
    products = []
    for term in terms:
        powers = [power - least for power, least in zip(term.powers, common, strict=True)]
        products.append(Product(term.coefficient, _repeated(parts, powers)))
    total = _monomial([*parts, sum_of_products(products)], Term(1, (*common, 1)))
    # A zero denominator or an infinity makes every term that it is in zero, infinite or NaN: there the terms add as
    # in the format, where a common denominator would turn 0 - 0 into inf / inf.
    separate = [_monomial(parts, term).significand for term in terms]
    divisors = [part for part, power in zip(parts, common, strict=True) if power < 0]
    ordinary = mx.isfinite(_sum([part.significand for part in parts]))
    for divisor in divisors:
        ordinary = ordinary & (divisor.significand != 0)
    return mx.where(ordinary, total.normalised().joined(), _sum(separate))


def _monomial(parts: Sequence[Unbounded], term: Term) -> Unbounded:
    magnitude = abs(term.coefficient)
    shift = magnitude.bit_length() - 1
    over = _repeated(parts, term.powers)
    under = _repeated(parts, [-power for power in term.powers])
    if magnitude != 1 << shift or not over:
        over.append(constant(magnitude / (1 << shift), parts[0].significand.dtype))
    value = _product(over)
    if under:
        value = value / _product(under)
    return (-value if term.coefficient < 0 else value).scaled(shift)


def _repeated(parts: Sequence[Unbounded], powers: Sequence[int]) -> list[Unbounded]:
    return [part for part, power in zip(parts, powers, strict=True) for _ in range(power)]


def _sum(terms: Sequence[mx.array]) -> mx.array:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _product(factors: Sequence[Unbounded]) -> Unbounded:
    value = factors[0]
    for count, factor in enumerate(factors[1:], 2):
        value = value * factor
        if count % FACTORS == 0:
            value = value.normalised()
    return value
