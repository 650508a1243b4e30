"""Complex numbers as pairs of reals, over anything that has real arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from audit.errors import AuditError


class Pair:
    """A complex number ``real + i imag``."""

    __slots__ = ("imag", "real")

    def __init__(self, real: Any, imag: Any) -> None:
        self.real = real
        self.imag = imag

    def __add__(self, other: Any) -> Pair:
        other = pair(other)
        return Pair(self.real + other.real, self.imag + other.imag)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Pair:
        other = pair(other)
        return Pair(self.real - other.real, self.imag - other.imag)

    def __rsub__(self, other: Any) -> Pair:
        return pair(other) - self

    def __mul__(self, other: Any) -> Pair:
        other = pair(other)
        return Pair(self.real * other.real - self.imag * other.imag, self.real * other.imag + self.imag * other.real)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Pair:
        other = pair(other)
        norm = other.real * other.real + other.imag * other.imag
        product = self * other.conjugate()
        return Pair(product.real / norm, product.imag / norm)

    def __rtruediv__(self, other: Any) -> Pair:
        return pair(other) / self

    def __neg__(self) -> Pair:
        return Pair(-self.real, -self.imag)

    def __pow__(self, exponent: int) -> Pair:
        if not isinstance(exponent, int):
            raise AuditError(f"A complex number to the power {exponent!r}: the reference has integer powers only.")
        if exponent < 0:
            return pair(1) / self**-exponent
        power = pair(1)
        for _ in range(exponent):
            power = power * self
        return power

    def conjugate(self) -> Pair:
        """The conjugate."""
        return Pair(self.real, -self.imag)


def complex_number(x: Any) -> bool:
    """Whether x is a pair or a Python complex number."""
    return isinstance(x, (Pair, complex))


def pair(x: Any) -> Pair:
    """The number as a pair."""
    if isinstance(x, Pair):
        return x
    return Pair(x.real, x.imag) if isinstance(x, complex) else Pair(x, 0)


def components(x: Any) -> tuple[Any, Any]:
    """Real and imaginary part of a number, real numbers included."""
    x = pair(x)
    return x.real, x.imag


def _exp(m: Any, z: Pair) -> Pair:
    size = m.exp(z.real)
    return Pair(size * m.cos(z.imag), size * m.sin(z.imag))


def _total(m: Any, *numbers: Pair) -> Pair:
    return Pair(m.total([z.real for z in numbers]), m.total([z.imag for z in numbers]))


def _dot(m: Any, *numbers: Pair) -> Pair:
    x, y = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
    left = [z.real for z in x] + [z.imag for z in x]
    return Pair(
        m.dot(left, [z.real for z in y] + [-z.imag for z in y]),
        m.dot(left, [z.imag for z in y] + [z.real for z in y]),
    )


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda _, x, y: x + y,
    "subtract": lambda _, x, y: x - y,
    "multiply": lambda _, x, y: x * y,
    "divide": lambda _, x, y: x / y,
    "negative": lambda _, x: -x,
    "square": lambda _, x: x * x,
    "reciprocal": lambda _, x: pair(1) / x,
    "abs": lambda m, x: m.sqrt(x.real * x.real + x.imag * x.imag),
    "exp": _exp,
    "sum": _total,
    "dot": _dot,
}


def apply(m: Any, operation: str, operands: tuple[Any, ...], parameter: int | None) -> Any:
    """An operation on numbers some of which are complex, in the real arithmetic m.

    Raises:
        AuditError: the operation is not written for complex numbers.
    """
    numbers = [pair(operand) for operand in operands]
    if operation == "integer_power":
        return numbers[0] ** (parameter or 0)
    if operation not in _OPERATIONS:
        known = ", ".join(sorted([*_OPERATIONS, "integer_power"]))
        raise AuditError(f"The reference has no complex {operation}. These exist: {known}.")
    return _OPERATIONS[operation](m, *numbers)
