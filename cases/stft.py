"""Short-time Fourier transforms and their inverse.

A transform has shape ``(frequencies, frames)``. The inverse adds the windowed inverse transforms of the frames where
they overlap, and divides by the sum of the squared windows.
"""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import Operation, Values

_SUM = Tolerance(terms=8, reason="windowed transforms of overlapping frames, added")
_NORMS = ("backward", "ortho", "forward")
# Windows have one sign, so that the sum of their squares is nowhere near zero.
_WINDOW = Values(low=0.0, scaled=False)


def _padded(window: Any, size: int) -> Any:
    """A window in the middle of a frame."""
    short = size - len(window)
    left = short // 2
    return np.concatenate([np.zeros(left, object) + 0, window, np.zeros(short - left, object) + 0])


def _stft(m: Any, x: Any, window: Any, **p: Any) -> Any:
    size, hop, x = p["n_fft"], p["hop_length"] or p["n_fft"] // 4, np.asarray(x)
    if p["center"]:
        x = np.pad(x, size // 2, mode=p["pad_mode"])
    frames = np.stack([x[k * hop : k * hop + size] for k in range(1 + (len(x) - size) // hop)])
    transform = m.fft if p["onesided"] is False else m.rfft
    return np.transpose(transform(m.multiply(frames, _padded(window, size)), norm=p["norm"]))


def _istft(m: Any, z: Any, window: Any, **p: Any) -> Any:
    size, hop = p["n_fft"], p["hop_length"] or p["n_fft"] // 4
    window = _padded(window, size)
    rows = np.transpose(z)
    frames = m.real(m.ifft(rows, norm=p["norm"])) if p["onesided"] is False else m.irfft(rows, size, norm=p["norm"])
    length = size + hop * (len(frames) - 1)
    sums: list[list[Any]] = [[] for _ in range(length)]
    squares: list[list[Any]] = [[] for _ in range(length)]
    for k, frame in enumerate(frames):
        for j in range(size):
            sums[k * hop + j].append(m.multiply(frame[j], window[j]))
            squares[k * hop + j].append(m.multiply(window[j], window[j]))
    # Where no window reaches, a sum of squares is zero: only what is left after the margins are cut is divided.
    start, stop = (size // 2, length - size // 2) if p["center"] else (0, length)
    if p["length"] is not None:
        # As in librosa and PyTorch, a given length reaches into the margin at the end.
        stop = min(start + p["length"], length)
    signal = [m.divide(m.total(sums[k]), m.total(squares[k])) for k in range(start, stop)]
    signal += [0] * ((p["length"] or 0) - len(signal))
    return np.array(signal, object)


def _stft_fits(shapes: Any, p: Any) -> bool:
    (x,), (window,) = shapes
    return window == (p["win_length"] or p["n_fft"]) <= p["n_fft"] and (not p["center"] or x > p["n_fft"] // 2)


def _istft_fits(shapes: Any, p: Any) -> bool:
    (frequencies, _), (window,) = shapes
    due = p["n_fft"] if p["onesided"] is False else p["n_fft"] // 2 + 1
    whole = window == p["n_fft"]
    return frequencies == due and window == (p["win_length"] or p["n_fft"]) <= p["n_fft"] and (whole or p["center"])


_COMMON: dict[str, tuple[Any, ...]] = {
    "n_fft": (4, 3, 2),
    "hop_length": (None, 2, 1),
    "win_length": (None, 2, 4),
    "center": (True, False),
    "norm": _NORMS,
}

OPERATIONS = (
    Operation(
        name="mx.fft.stft",
        arguments=("x", "window"),
        call=lambda x, window, **p: mx.fft.stft(x, window=window, **p),
        body=_stft,
        shapes=(((5,), (4,)), ((6,), (2,)), ((5,), (3,))),
        parameters=_COMMON | {"pad_mode": ("reflect", "constant", "edge"), "onesided": (None, True, False)},
        values={"window": _WINDOW},
        valid=lambda shapes, p: _stft_fits(shapes, p) and (p["hop_length"] or p["n_fft"] // 4) > 0,
        kinds=("real", "real"),
        result="complex",
        formats=("complex64",),
        tolerance=_SUM,
        slow=True,
        text="mx.fft.stft(x, {n_fft}, {hop_length}, {win_length}, window, {center}, {pad_mode!r}, {norm!r}, "
        "{onesided})",
    ),
    Operation(
        name="mx.fft.istft",
        arguments=("z", "window"),
        call=lambda z, window, **p: mx.fft.istft(z, window=window, **p),
        body=_istft,
        shapes=(((3, 3), (4,)), ((4, 3), (4,)), ((3, 4), (2,)), ((2, 4), (3,))),
        parameters=_COMMON | {"onesided": (None, True, False), "length": (None, 3, 6)},
        values={"window": _WINDOW},
        valid=lambda shapes, p: (
            _istft_fits(shapes, p)
            and (p["hop_length"] or p["n_fft"] // 4) in (1, 2)
            and (p["hop_length"] or 1) < (p["win_length"] or p["n_fft"])
        ),
        kinds=("complex", "real"),
        result="real",
        formats=("complex64",),
        tolerance=_SUM,
        slow=True,
        text="mx.fft.istft(z, {n_fft}, {hop_length}, {win_length}, window, {center}, {norm!r}, {onesided}, {length})",
    ),
)
