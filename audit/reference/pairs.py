"""Complex numbers as pairs of reals, over anything that has real arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from audit.errors import AuditError


def _plus(x: Any, y: Any) -> Any:
    return y if _nothing(x) else x if _nothing(y) else x + y


def _minus(x: Any, y: Any) -> Any:
    return x if _nothing(y) else -y if _nothing(x) else x - y


def _times(x: Any, y: Any) -> Any:
    return 0 if _nothing(x) or _nothing(y) else x * y


def _nothing(x: Any) -> bool:
    """Whether a part is a zero of Python, as the imaginary part of a real number is: it takes no part in anything."""
    return type(x) in (int, float) and x == 0


# Functions of which the table of operations has the real and the imaginary part.
HOLOMORPHIC = (
    "exp", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan",
    "arcsinh", "arccosh", "arctanh",
)  # fmt: skip


class Pair:
    """A complex number ``real + i imag``."""

    __slots__ = ("imag", "real")

    def __init__(self, real: Any, imag: Any) -> None:
        self.real = real
        self.imag = imag

    def __add__(self, other: Any) -> Pair:
        other = pair(other)
        return Pair(_plus(self.real, other.real), _plus(self.imag, other.imag))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Pair:
        other = pair(other)
        return Pair(_minus(self.real, other.real), _minus(self.imag, other.imag))

    def __rsub__(self, other: Any) -> Pair:
        return pair(other) - self

    def __mul__(self, other: Any) -> Pair:
        other = pair(other)
        return Pair(
            _minus(_times(self.real, other.real), _times(self.imag, other.imag)),
            _plus(_times(self.real, other.imag), _times(self.imag, other.real)),
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Pair:
        other = pair(other)
        if _nothing(other.imag):
            return Pair(self.real / other.real, 0 if _nothing(self.imag) else self.imag / other.real)
        norm = _plus(_times(other.real, other.real), other.imag * other.imag)
        product = self * other.conjugate()
        return Pair(product.real / norm, product.imag / norm)

    def __rtruediv__(self, other: Any) -> Pair:
        return pair(other) / self

    def __neg__(self) -> Pair:
        return Pair(-self.real, -self.imag)

    def __pow__(self, exponent: int) -> Pair:
        if not isinstance(exponent, int):
            raise AuditError(f"A complex number to the power {exponent!r}: write m.power(z, w) for any other exponent.")
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


def _holomorphic(name: str) -> Callable[[Any, Pair], Pair]:
    def function(m: Any, z: Pair) -> Pair:
        return Pair(*(m.operation(f"{name}.{part}", z.real, z.imag) for part in ("real", "imag")))

    return function


def _power(m: Any, x: Pair, y: Pair) -> Pair:
    return m.exp(y * m.log(x))


def _logaddexp(m: Any, x: Pair, y: Pair) -> Pair:
    return m.log(m.exp(x) + m.exp(y))


def _less(m: Any, x: Pair, y: Pair) -> Any:
    """The order of the library: by real parts, and by imaginary ones where those are equal."""
    return m.logical_or(m.less(x.real, y.real), m.logical_and(m.equal(x.real, y.real), m.less(x.imag, y.imag)))


def _select(m: Any, condition: Pair, x: Pair, y: Pair) -> Pair:
    return Pair(m.where(condition.real, x.real, y.real), m.where(condition.real, x.imag, y.imag))


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
    "round": lambda m, z: Pair(m.round(z.real), m.round(z.imag)),
    "stop_gradient": lambda m, z: Pair(m.stop_gradient(z.real), m.stop_gradient(z.imag)),
    "sign": lambda m, z: Pair(m.operation("phase", z.real, z.imag), m.operation("phase", z.imag, z.real)),
    "log2": lambda m, z: m.log(z) / m.operation("log_2"),
    "log10": lambda m, z: m.log(z) / m.operation("log_10"),
    "power": _power,
    "logaddexp": _logaddexp,
    "less": _less,
    "less_equal": lambda m, x, y: m.logical_not(_less(m, y, x)),
    "equal": lambda m, x, y: m.logical_and(m.equal(x.real, y.real), m.equal(x.imag, y.imag)),
    "maximum": lambda m, x, y: _select(m, pair(_less(m, x, y)), y, x),
    "minimum": lambda m, x, y: _select(m, pair(_less(m, y, x)), y, x),
    "select": _select,
    **{name: _holomorphic(name) for name in HOLOMORPHIC},
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
