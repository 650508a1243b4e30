"""The arithmetic handed to a function's body as ``m``, over scalars and object arrays of any kind of number.

What an operation does to its operands is left to a callback, so that the same namespace records programs and computes
with mpmath. Operations on arrays are made of operations on their elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from audit.errors import AuditError
from audit.reference.arrays import FUNCTIONS

# Names a body may use, and the operation each stands for.
NAMES = {
    **{
        name: (name, arity)
        for arity, names in {
            1: "negative square reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh "
            "arcsin arccos arctan arcsinh arccosh arctanh sigmoid erf erfc erfinv sin_pi cos_pi floor ceil trunc round "
            "abs sign stop_gradient",
            2: "add subtract multiply divide arctan2 logaddexp floor_divide remainder maximum minimum less less_equal "
            "equal",
        }.items()
        for name in names.split()
    },
}


class Arithmetic:
    """A namespace of operations.

    Args:
        apply: called as ``apply(operation, operands, parameter)`` with the operands of one element, some of which may
            be plain Python numbers.
    """

    def __init__(self, apply: Callable[[str, tuple[Any, ...], int | None], Any]) -> None:
        self._apply = apply

    def _elementwise(self, operation: str, arity: int) -> Callable[..., Any]:
        return self._each(lambda *operands: self._apply(operation, operands, None), arity)

    def _each(self, function: Callable[..., Any], arity: int | None = None) -> Callable[..., Any]:
        """A function of single numbers as one of arrays too."""

        def called(*operands: Any) -> Any:
            if not any(isinstance(operand, (np.ndarray, list, tuple)) for operand in operands):
                return function(*operands)
            return np.frompyfunc(function, arity or len(operands), 1)(*operands)

        return called

    def __getattr__(self, name: str) -> Any:
        if name in NAMES:
            function = self._elementwise(*NAMES[name])
            setattr(self, name, function)
            return function
        if name in FUNCTIONS:
            return partial(FUNCTIONS[name], self)
        known = sorted(n for n in (*NAMES, *FUNCTIONS, *vars(type(self))) if not n.startswith("_"))
        raise AuditError(
            f"The reference has no operation m.{name}. These exist: {', '.join(known)}. "
            "To add it, add one entry to audit/reference/operations/ or a function to audit/reference/arrays/."
        )

    def operation(self, name: str, *operands: Any) -> Any:
        """An entry of the table of operations, on single numbers."""
        return self._apply(name, operands, None)

    @property
    def pi(self) -> Any:
        """The circle's circumference over its diameter."""
        return self.operation("pi")

    @property
    def e(self) -> Any:
        """The base of the natural logarithm."""
        return self.operation("e")

    @property
    def euler_gamma(self) -> Any:
        """Euler's constant."""
        return self.operation("euler_gamma")

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        """What stands first where the condition holds; one known beforehand leaves nothing of the other."""
        return self._each(lambda c, a, b: (a if c else b) if _known(c) else self.operation("select", c, a, b))(
            condition, x, y
        )

    def logical_not(self, x: Any) -> Any:
        """Whether a condition does not hold."""
        return self._each(lambda c: not c if _known(c) else self.operation("logical_not", c))(x)

    def logical_and(self, x: Any, y: Any) -> Any:
        """Whether both conditions hold."""

        def both(a: Any, b: Any) -> Any:
            if _known(a):
                return b if a else False
            return (a if b else False) if _known(b) else self.operation("logical_and", a, b)

        return self._each(both)(x, y)

    def logical_or(self, x: Any, y: Any) -> Any:
        """Whether one of the conditions holds."""

        def either(a: Any, b: Any) -> Any:
            if _known(a):
                return True if a else b
            return (True if b else a) if _known(b) else self.operation("logical_or", a, b)

        return self._each(either)(x, y)

    def power(self, x: Any, y: Any) -> Any:
        """x**y; an integer y gives the integer power, for x of either sign."""
        if isinstance(y, (int, np.integer)):
            return self._map(lambda element: self._apply("integer_power", (element,), int(y)), x)
        if isinstance(y, (float, Fraction)) and Fraction(y).denominator == 1:
            return self.power(x, int(y))
        return self._elementwise("power", 2)(x, y)

    def sum(self, x: Any, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Any:
        """Sum of the elements, along an axis or all of them."""
        x = np.asarray(x, object)
        axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)
        kept = [place for place in range(x.ndim) if place not in axes]
        count = int(np.prod([x.shape[place] for place in axes], dtype=int))
        rows = x.transpose(*kept, *axes).reshape(*(x.shape[place] for place in kept), count)
        total = np.empty(rows.shape[:-1], object)
        for place in np.ndindex(total.shape):
            total[place] = self.total(rows[place].tolist())
        if keepdims:
            total = total.reshape([1 if place in axes else size for place, size in enumerate(x.shape)])
        return total if total.shape else total[()]

    def total(self, numbers: Sequence[Any]) -> Any:
        """Sum of a sequence of numbers, as one operation."""
        numbers = list(numbers)
        if len(numbers) < 2:
            return numbers[0] if numbers else 0
        return self._apply("sum", tuple(numbers), None)

    def dot(self, x: Sequence[Any], y: Sequence[Any]) -> Any:
        """Sum of the products of two sequences of numbers of equal length, as one operation."""
        if len(x) != len(y):
            raise AuditError(f"A dot product of {len(x)} and {len(y)} numbers.")
        return self._apply("dot", (*x, *y), None) if len(x) else 0

    def mean(self, x: Any, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Any:
        """Mean of the elements, along an axis or all of them."""
        total = self.sum(x, axis, keepdims=keepdims)
        count = np.size(x) // max(np.size(total), 1)
        return self._map(lambda element: self._apply("divide", (element, count), None), total)

    def matmul(self, x: Any, y: Any) -> Any:
        """Matrix product."""
        x, y = np.asarray(x, object), np.asarray(y, object)
        rows, columns = x if x.ndim > 1 else x[None, :], y if y.ndim > 1 else y[:, None]
        lead = np.broadcast_shapes(rows.shape[:-2], columns.shape[:-2])
        rows = np.broadcast_to(rows, (*lead, *rows.shape[-2:]))
        columns = np.broadcast_to(columns, (*lead, *columns.shape[-2:])).swapaxes(-1, -2)
        product = np.empty((*lead, rows.shape[-2], columns.shape[-2]), object)
        for place in np.ndindex(lead):
            left, right = rows[place].tolist(), columns[place].tolist()
            for i, row in enumerate(left):
                for j, column in enumerate(right):
                    product[(*place, i, j)] = self.dot(row, column)
        if x.ndim == 1:
            product = product[..., 0, :]
        if y.ndim == 1:
            product = product[..., 0]
        return product if product.shape else product[()]

    def transpose(self, x: Any, axes: tuple[int, ...] | None = None) -> Any:
        """Axes in another order, reversed by default."""
        return np.transpose(x, axes)

    def reshape(self, x: Any, shape: tuple[int, ...]) -> Any:
        """The same elements in another shape."""
        return np.reshape(x, shape)

    def broadcast_to(self, x: Any, shape: tuple[int, ...]) -> Any:
        """Elements repeated to a shape."""
        return np.broadcast_to(np.asarray(x, object), shape)

    def real(self, x: Any) -> Any:
        """Real parts."""
        return self._map(lambda element: element.real, x)

    def imag(self, x: Any) -> Any:
        """Imaginary parts."""
        return self._map(lambda element: element.imag, x)

    def conj(self, x: Any) -> Any:
        """Conjugates."""
        return self._map(lambda element: element.conjugate(), x)

    def _map(self, function: Callable[[Any], Any], x: Any) -> Any:
        return np.frompyfunc(function, 1, 1)(x) if isinstance(x, np.ndarray) else function(x)


def _known(condition: Any) -> bool:
    """Whether a condition is a truth value already, rather than one of the program."""
    return isinstance(condition, (bool, np.bool_))
