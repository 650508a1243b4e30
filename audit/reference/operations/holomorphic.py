"""Holomorphic functions as pairs of real operations: ``sqrt.real`` and ``sqrt.imag`` of a real and an imaginary part.

By the Cauchy-Riemann equations u + iv = f(x + iy) has u_x = v_y = Re f' and v_x = -u_y = Im f'. The derivatives below
are those of any table of complex functions. Where a derivative needs a square root, the root is one that has no value
on its cut: there the two sides differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from audit.reference.operations.entry import Measure, Operation, Pull, Recorder, Step
from audit.reference.pairs import Pair


class Real:
    """A node with operators, so that pairs of them are complex numbers."""

    __slots__ = ("node", "record")

    def __init__(self, record: Recorder, node: int) -> None:
        self.record = record
        self.node = node

    def _with(self, operation: str, x: Any, y: Any) -> Real:
        nodes = [z.node if isinstance(z, Real) else self.record.constant(z) for z in (x, y)]
        return Real(self.record, self.record.apply(operation, *nodes))

    def __add__(self, other: Any) -> Any:
        return self._with("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._with("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._with("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._with("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._with("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._with("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._with("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with("divide", other, self)

    def __neg__(self) -> Real:
        return Real(self.record, self.record.apply("negative", self.node))


class _At:
    """A pair of nodes z, and the holomorphic functions by name, of it or of another pair."""

    def __init__(self, name: str, step: Step) -> None:
        self._name, self._record = name, step.record
        self.z = Pair(*(Real(step.record, node) for node in step.operands))

    def __call__(self, name: str, z: Pair | None = None) -> Pair:
        z = self.z if z is None else z
        x, y = (part.node if isinstance(part, Real) else self._record.constant(part) for part in (z.real, z.imag))
        return Pair(*(Real(self._record, self._record.apply(f"{name}.{part}", x, y)) for part in ("real", "imag")))

    @property
    def value(self) -> Pair:
        """The function's own value at z."""
        return self(self._name)


_Derivative = Callable[[_At], Pair]


def _square(z: Pair) -> Pair:
    return z * z


_DERIVATIVES: dict[str, _Derivative] = {
    "exp": lambda at: at.value,
    "log": lambda at: 1 / at.z,
    "log1p": lambda at: 1 / (1 + at.z),
    "sqrt": lambda at: 1 / (2 * at("sqrt_inside")),
    "sqrt_inside": lambda at: 1 / (2 * at.value),
    "rsqrt": lambda at: -1 / (2 * at.z * at("sqrt_inside")),
    "sin": lambda at: at("cos"),
    "cos": lambda at: -at("sin"),
    "tan": lambda at: 1 / _square(at("cos")),
    "sinh": lambda at: at("cosh"),
    "cosh": lambda at: at("sinh"),
    # 1 / cosh^2 rather than 1 - tanh^2, in which everything cancels where tanh is near 1.
    "tanh": lambda at: 1 / _square(at("cosh")),
    "arcsin": lambda at: 1 / at("sqrt_inside", 1 - at.z * at.z),
    "arccos": lambda at: -1 / at("sqrt_inside", 1 - at.z * at.z),
    "arctan": lambda at: 1 / (1 + at.z * at.z),
    "arcsinh": lambda at: 1 / at("sqrt_inside", 1 + at.z * at.z),
    "arccosh": lambda at: 1 / (at("sqrt_inside", at.z - 1) * at("sqrt_inside", at.z + 1)),
    "arctanh": lambda at: 1 / (1 - at.z * at.z),
}  # fmt: skip
# Where a function certainly has no value.
_POLES = {
    "log": "{0}.is_zero() and {1}.is_zero()",
    "rsqrt": "{0}.is_zero() and {1}.is_zero()",
    "log1p": "({0} + one).is_zero() and {1}.is_zero()",
    "arctan": "{0}.is_zero() and (abs({1}) - one).is_zero()",
    "arctanh": "{1}.is_zero() and (abs({0}) - one).is_zero()",
}


def _slope(name: str, s: Step) -> Pair:
    return _DERIVATIVES[name](_At(name, s))


def _pulls(name: str, part: str) -> tuple[Pull, Pull]:
    def along(s: Step, wanted: str, sign: int) -> int:
        slope = getattr(_slope(name, s), wanted)
        product = s("multiply", s.cotangent, slope.node if isinstance(slope, Real) else s.number(slope))
        return product if sign > 0 else s("negative", product)

    if part == "real":
        return (lambda s: along(s, "real", 1)), (lambda s: along(s, "imag", -1))
    return (lambda s: along(s, "imag", 1)), (lambda s: along(s, "real", 1))


def _size(name: str) -> Callable[[Measure], int]:
    """The modulus, to which both parts are computed, and what reaches it from operands that were computed."""

    def size(z: Measure) -> int:
        parts = [z(f"{name}.{part}", *z.operands) for part in ("real", "imag")]
        total = z("sqrt", z("add", *(z("square", part) for part in parts)))
        if all(z.record.given(operand) for operand in z.operands):
            return total
        step = Step(z.record, z.operands, z.value, z.record.constant(1), 0)
        slope = _slope(name, step)
        nodes = [part.node for part in (slope.real, slope.imag) if isinstance(part, Real)]
        steepness = z("sqrt", z("add", *(z("square", node) for node in nodes)))
        return z("add", total, z("multiply", steepness, z("add", *z.sizes)))

    return size


def _number(name: str, part: str) -> Callable[..., Any]:
    def mp(context: Any, x: Any, y: Any) -> Any:
        root = {"sqrt_inside": "sqrt"}.get(name, name)
        methods = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
                   "arctanh": "atanh"}  # fmt: skip
        z = context.mpc(x, y)
        value = 1 / context.sqrt(z) if name == "rsqrt" else getattr(context, methods.get(root, root))(z)
        return getattr(value, part)

    return mp


HOLOMORPHIC = {
    f"{name}.{part}": Operation(
        f"complex_{name}({{0}}, {{1}})[{place}]", _number(name, part), _pulls(name, part),
        outside=_POLES.get(name), size=_size(name),
    )
    for name in _DERIVATIVES for place, part in enumerate(("real", "imag"))
}  # fmt: skip
# The direction of a number, x / |z| and y / |z| as two calls of one operation: (x, y) and (y, x).
PHASE = {
    "phase": Operation(
        "phase({0}, {1})", lambda context, x, y: x / context.hypot(x, y) if x or y else x,
        (
            lambda s: s("divide", s("multiply", s.cotangent, s("square", s.operands[1])), _cube(s)),
            lambda s: s("negative", s("divide", s("multiply", s.cotangent, s("multiply", *s.operands)), _cube(s))),
        ),
        series="{0} / ({0} * {0} + {1} * {1}).sqrt()",
    ),
}  # fmt: skip


def _cube(s: Step) -> int:
    norm = s("add", s("square", s.operands[0]), s("square", s.operands[1]))
    return s("multiply", norm, s("sqrt", norm))
