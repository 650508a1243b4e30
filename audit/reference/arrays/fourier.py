"""Discrete Fourier transforms as the sums that define them, with exact twiddles, and the Hadamard transform."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from audit.errors import AuditError
from audit.reference.arrays.axes import Objects, axes_of, elements
from audit.reference.operations.opinions import cos_pi

# Which direction is divided by what, in the words of the library.
NORMS = ("backward", "ortho", "forward")


def _cosine(m: Any, turn: Fraction) -> Any:
    """``cos(pi turn)``, brought to the first eighth of the circle, so that equal sizes are one number."""
    turn = abs((turn + 1) % 2 - 1)
    known = cos_pi(turn)
    if known is not None:
        return int(known) if known.denominator == 1 else known
    if turn > Fraction(1, 2):
        return m.negative(_cosine(m, 1 - turn))
    return m.operation("cos_pi", turn) if turn <= Fraction(1, 4) else m.operation("sin_pi", Fraction(1, 2) - turn)


def _twiddles(m: Any, n: int) -> tuple[list[Any], list[Any]]:
    """Cosines and sines of ``2 pi k / n`` for every k below n."""
    turns = [Fraction(2 * k, n) for k in range(n)]
    return [_cosine(m, turn) for turn in turns], [_cosine(m, Fraction(1, 2) - turn) for turn in turns]


def _scaled(m: Any, x: Objects, n: int, norm: str, *, inverse: bool) -> Objects:
    if norm not in NORMS:
        raise AuditError(f"A Fourier transform has the norm backward, ortho or forward, not {norm!r}.")
    if norm == "ortho":
        return m.divide(x, m.sqrt(n))
    return m.divide(x, n) if inverse == (norm == "backward") else x


def _line(x: Any, n: int | None, axis: int) -> Objects:
    """The axis as the last one, cut or filled with zeros to n elements."""
    line = np.moveaxis(elements(x), axis, -1)
    if n is None or n == line.shape[-1]:
        return line
    if n < line.shape[-1]:
        return line[..., :n]
    return np.concatenate([line, np.full((*line.shape[:-1], n - line.shape[-1]), 0, object)], axis=-1)


def _transform(m: Any, x: Any, n: int | None, axis: int, norm: str, *, inverse: bool, half: bool = False) -> Any:
    line = _line(x, n, axis)
    size = line.shape[-1]
    cosines, sines = _twiddles(m, size)
    if inverse:
        sines = [m.negative(s) for s in sines]
    opposite = [m.negative(s) for s in sines]
    count = size // 2 + 1 if half else size
    result = np.empty((*line.shape[:-1], count), object)
    for place in np.ndindex(line.shape[:-1]):
        row = line[place].tolist()
        parts = [m.real(z) for z in row] + [m.imag(z) for z in row]
        for k in range(count):
            turns = [j * k % size for j in range(size)]
            c, s = [cosines[t] for t in turns], [sines[t] for t in turns]
            # (re + i im) (cos - i sin)
            real, imag = m.dot(parts, c + s), m.dot(parts, [opposite[t] for t in turns] + c)
            result[(*place, k)] = m.add(real, m.multiply(1j, imag))
    return np.moveaxis(elements(_scaled(m, result, size, norm, inverse=inverse)), -1, axis)


def fft(m: Any, x: Any, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """``sum_j x_j exp(-2 pi i j k / n)``."""
    return _transform(m, x, n, axis, norm, inverse=False)


def ifft(m: Any, x: Any, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """``sum_j x_j exp(2 pi i j k / n) / n``."""
    return _transform(m, x, n, axis, norm, inverse=True)


def rfft(m: Any, x: Any, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The first n // 2 + 1 elements of the transform of real numbers."""
    return _transform(m, m.real(elements(x)), n, axis, norm, inverse=False, half=True)


def irfft(m: Any, x: Any, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The n real numbers whose transform begins with these; what must be real of them counts by its real part."""
    count = 2 * (elements(x).shape[axis] - 1) if n is None else n
    line = _line(x, count // 2 + 1, axis)
    cosines, sines = _twiddles(m, count)
    result = np.empty((*line.shape[:-1], count), object)
    single = [0, count // 2] if count % 2 == 0 else [0]
    for place in np.ndindex(line.shape[:-1]):
        row = line[place].tolist()
        for j in range(count):
            numbers: list[Any] = []
            factors: list[Any] = []
            for k, z in enumerate(row):
                turn = j * k % count
                numbers.append(m.real(z))
                factors.append(cosines[turn] if k in single else m.multiply(2, cosines[turn]))
                if k not in single:
                    numbers.append(m.imag(z))
                    factors.append(m.multiply(-2, sines[turn]))
            result[(*place, j)] = m.dot(numbers, factors)
    return np.moveaxis(elements(_scaled(m, result, count, norm, inverse=True)), -1, axis)


def _sizes(x: Any, s: Sequence[int] | None, axes: Sequence[int] | None) -> list[tuple[int, int | None]]:
    """Each axis that is transformed, in order, and its new size."""
    dimensions = elements(x).ndim
    if axes is None:
        axes = range(dimensions) if s is None else range(dimensions - len(s), dimensions)
    places = [axes_of(int(axis), dimensions)[0] for axis in axes]
    return list(zip(places, [None] * len(places) if s is None else s, strict=True))


def fftn(
    m: Any, x: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> Any:
    """The transform along several axes."""
    for axis, n in _sizes(x, s, axes):
        x = fft(m, x, n, axis, norm)
    return x


def ifftn(
    m: Any, x: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> Any:
    """The inverse transform along several axes."""
    for axis, n in _sizes(x, s, axes):
        x = ifft(m, x, n, axis, norm)
    return x


def rfftn(
    m: Any, x: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> Any:
    """The transform of real numbers along the last of several axes, and then along the others."""
    *others, (last, n) = _sizes(x, s, axes)
    x = rfft(m, x, n, last, norm)
    for axis, size in others:
        x = fft(m, x, size, axis, norm)
    return x


def irfftn(
    m: Any, x: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> Any:
    """The inverse of `rfftn`."""
    *others, (last, n) = _sizes(x, s, axes)
    for axis, size in others:
        x = ifft(m, x, size, axis, norm)
    return irfft(m, x, n, last, norm)


def hadamard_transform(m: Any, x: Any, scale: Any = None, base: Any = None) -> Any:
    """Products with a Hadamard matrix along the last axis: of `base` with Sylvester's of the rest, a power of two.

    Args:
        m: the arithmetic.
        x: the array.
        scale: factor of the result, ``1 / sqrt(n)`` by default.
        base: a matrix of 1 and -1, by default that of order 1.
    """
    x = elements(x)
    n = x.shape[-1]
    first = np.ones((1, 1), int) if base is None else np.asarray(base, int)
    rest = n // len(first)
    if rest & (rest - 1) or rest * len(first) != n:
        raise AuditError(f"{n} is not {len(first)} times a power of two.")
    line = x.reshape(*x.shape[:-1], len(first), rest)
    width = 1
    while width < rest:
        pairs = line.reshape(*line.shape[:-1], rest // (2 * width), 2, width)
        a, b = pairs[..., 0, :], pairs[..., 1, :]
        line = np.stack([elements(m.add(a, b)), elements(m.subtract(a, b))], axis=-2).reshape(line.shape)
        width *= 2
    if len(first) > 1:
        line = elements(m.matmul(first.astype(object), line))
    result = line.reshape(x.shape)
    return m.divide(result, m.sqrt(n)) if scale is None else m.multiply(result, scale)


FOURIER = {
    "fft": fft, "ifft": ifft, "rfft": rfft, "irfft": irfft, "fftn": fftn, "ifftn": ifftn, "rfftn": rfftn,
    "irfftn": irfftn, "fft2": lambda m, x, s=None, axes=(-2, -1), norm="backward": fftn(m, x, s, axes, norm),
    "ifft2": lambda m, x, s=None, axes=(-2, -1), norm="backward": ifftn(m, x, s, axes, norm),
    "rfft2": lambda m, x, s=None, axes=(-2, -1), norm="backward": rfftn(m, x, s, axes, norm),
    "irfft2": lambda m, x, s=None, axes=(-2, -1), norm="backward": irfftn(m, x, s, axes, norm),
    "hadamard_transform": hadamard_transform,
}  # fmt: skip
