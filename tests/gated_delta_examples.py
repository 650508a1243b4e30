"""Calls of the gated delta rule: toy shapes over every regime of gates, keys, step sizes and masks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np
from flint import arb
from hypothesis import strategies as st
from numpy.typing import NDArray

from audit.kernels.gated_delta import gated_delta_update
from audit.kernels.gated_delta.reference import ARGUMENTS, Layer, Right

Floats = NDArray[np.float64]

# The proposal's: B, T, Hk, Hv, Dk, Dv.
TOY = (1, 8, 2, 4, 16, 8)

# Mean and spread of a + dt_bias, and of A_log: gates that never decay, ordinary ones, saturated ones, and all of them.
GATES = {"lasting": (-8.0, 0.5), "ordinary": (0.0, 1.0), "saturated": (6.0, 1.0), "mixed": (0.0, 8.0)}
SMALLEST = float(np.finfo(np.float32).tiny)
MASKS = ("none", "true", "half", "scattered", "left")


def exact(x: Floats) -> Floats:
    """Numbers of float32."""
    return x.astype(np.float32).astype(np.float64)


def layer(
    rng: np.random.Generator,
    sizes: tuple[int, int, int, int, int, int] = TOY,
    *,
    gates: str = "ordinary",
    rate: float = 0.0,
    b: float = 0.0,
    alike: float = 0.0,
    mask: str = "none",
    vector: bool = False,
    state: bool = True,
    scale: float = 1.0,
) -> Layer:
    """A call of random numbers.

    Args:
        rng: makes the numbers.
        sizes: B, T, Hk, Hv, Dk, Dv.
        gates: one of `GATES`.
        rate: mean of A_log.
        b: mean of b, so that beta is near 0, in between or near 1.
        alike: how much keys have in common, from 0 to 1.
        mask: one of `MASKS`.
        vector: a gate for every component of a key.
        state: whether the first state is not zero.
        scale: of beta.
    """
    rows, length, keys, values, width, height = sizes
    middle, spread = GATES[gates]

    def normal(*shape: int) -> Floats:
        return exact(rng.standard_normal(shape))

    k = alike * normal(1, 1, keys, width) + (1 - alike) * normal(rows, length, keys, width)
    q = normal(rows, length, keys, width)
    k, q = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (k, q))
    gate = (rows, length, values, width) if vector else (rows, length, values)
    trailing = (values, width) if vector else (values,)
    counts = {
        "none": None,
        "true": np.ones((rows, length), bool),
        "half": np.broadcast_to(np.arange(length) < (length + 1) // 2, (rows, length)),
        "scattered": rng.random((rows, length)) < 0.6,
        "left": np.arange(length) >= rng.integers(0, length + 1, (rows, 1)),
    }[mask]
    return Layer(
        exact(q / width**0.5),
        exact(k),
        normal(rows, length, values, height),
        exact(middle + spread * normal(*gate)),
        exact(b + normal(rows, length, values)),
        exact(rate + 0.5 * normal(*((values, 1) if vector else (values,)))),
        exact(0.3 * normal(*trailing)),
        normal(rows, values, height, width) * state,
        counts,
        scale,
    )


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    """Calls over every regime."""
    keys = draw(st.sampled_from((1, 2)))
    sizes = (
        draw(st.integers(1, 3)),
        draw(st.sampled_from((1, 2, 7, 8, 9, 31, 32, 33))),
        keys,
        keys * draw(st.sampled_from((1, 2))),
        # Keys of one component are all alike, and what a step leaves of the state is 1 - beta, which cancels.
        draw(st.sampled_from((4, 16))),
        draw(st.sampled_from((1, 3, 8))),
    )
    return layer(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        sizes,
        gates=draw(st.sampled_from(sorted(GATES))),
        rate=draw(st.sampled_from((-3.0, 0.0, 2.0, 5.0))),
        b=draw(st.sampled_from((-6.0, 0.0, 6.0))),
        alike=draw(st.sampled_from((0.0, 0.9))),
        mask=draw(st.sampled_from(MASKS)),
        vector=draw(st.booleans()),
        state=draw(st.booleans()),
        scale=draw(st.sampled_from((1.0, 2.0))),
    )


def cotangents(rng: np.random.Generator, one: Layer, which: str = "both") -> tuple[Floats, Floats]:
    """Cotangents of outputs and last state; outputs of tokens that do not count have none."""
    dy, dstate = exact(rng.standard_normal(one.v.shape)), exact(rng.standard_normal(one.state.shape))
    if one.mask is not None:
        dy = dy * one.mask[..., None, None]
    return dy * (which != "state"), dstate * (which != "y")


def got(
    form: str | None, one: Layer, dy: Floats, dstate: Floats, dtype: mx.Dtype = mx.float32
) -> tuple[Floats, Floats, dict[str, Floats]]:
    """Outputs, last state and derivatives that a form gives."""
    given = {name: mx.array(x.astype(np.float32)) for name, x in one.arrays().items()}
    for name in ("q", "k", "v", "a", "b"):
        given[name] = given[name].astype(dtype)
    mask = None if one.mask is None else mx.array(one.mask.tolist())
    weights = mx.array(dy.astype(np.float32)), mx.array(dstate.astype(np.float32))

    def outcome(*arrays: mx.array) -> list[mx.array]:
        y, state = gated_delta_update(*arrays, mask=mask, allow_neg_eigval=one.scale == 2, form=form)
        return [y, state]

    arrays = [given[name] for name in ARGUMENTS]
    (y, state), gradients = mx.vjp(outcome, arrays, [weights[0].astype(dtype), weights[1]])
    numbers = [np.array(x.astype(mx.float32)).astype(np.float64) for x in (y, state, *gradients)]
    return numbers[0], numbers[1], dict(zip(ARGUMENTS, numbers[2:], strict=True))


def middle(balls: NDArray[Any]) -> Floats:
    """The midpoints of balls, whose radii are far below what is compared."""
    flat = [float(x.mid()) if isinstance(x, arb) else float(x) for x in balls.ravel()]
    return np.array(flat).reshape(balls.shape)


def errors(found: Mapping[str, Floats], right: Right, one: Layer) -> dict[str, float]:
    """For each argument ``max |got - right| / max |right|``; numbers below the normal ones of float32 have no digits.

    The derivatives by A_log and dt_bias are sums over all tokens, which may cancel: there the terms count.
    """
    told = {}
    for name, numbers in found.items():
        due = middle(right.gradients[name])
        largest = max(np.abs(due).max(initial=0.0), _terms(name, right, one), SMALLEST)
        told[name] = float(np.abs(numbers - due).max(initial=0.0) / largest)
    return told


def _terms(name: str, right: Right, one: Layer) -> float:
    """The largest sum of sizes of the terms of a derivative that is a sum over tokens."""
    if name not in ("A_log", "dt_bias"):
        return 0.0
    x = one.a + one.dt_bias
    share = np.abs(middle(right.gradients["a"]))
    if name == "A_log":
        share = share * np.logaddexp(x, 0) * (1 + np.exp(-x))
    return float(share.sum(axis=(0, 1)).max(initial=0.0))


def shortened(one: Layer, length: int) -> Layer:
    """The first tokens of a call."""
    cut = {name: getattr(one, name)[:, :length] for name in ("q", "k", "v", "a", "b")}
    return replace(one, **cut, mask=None if one.mask is None else one.mask[:, :length])
