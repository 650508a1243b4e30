"""The gated delta rule's forms against certified derivatives, and the tests that were proposed for mlx-lm, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from flint import arb
from gated_delta_examples import GATES, MASKS, SMALLEST, TOY, cotangents, errors, got, layer, layers, middle, shortened
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.kernels.gated_delta import FORMS, gated_delta, gated_delta_update, normalize_qk
from audit.kernels.gated_delta.reference import ARGUMENTS, Layer, along, certified, difference
from audit.kernels.gated_delta.solve import unit_lower_inverse

# What the rule must be accurate to in float32, relative to the largest number of a derivative.
DUE = 5e-6
# Where keys are alike and steps are almost reflections, the products of keys, rounded, are what the result depends on
# most; the recurrence never forms them. The chunked form is ten times less accurate than the recurrence there.
REFLECTED = 5e-5
C = 32


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def held(form: str | None, one: Layer, which: str = "both", due: float = DUE) -> None:
    """Value, state and all eight derivatives of a form are right."""
    dy, dstate = cotangents(rng(7), one, which)
    right = certified(one, dy, dstate)
    y, state, found = got(form, one, dy, dstate)
    counts = np.ones(one.v.shape[:2], bool) if one.mask is None else one.mask
    last = np.abs(middle(right.state)).max(initial=SMALLEST)
    # The terms of y = S q may cancel, and so may those of S.
    terms = (last + np.abs(one.v).max(initial=0.0)) * np.abs(one.q).sum(-1).max(initial=0.0)
    for numbers, balls, size in ((y[counts], middle(right.y)[counts], terms), (state, middle(right.state), last)):
        assert np.abs(numbers - balls).max(initial=0.0) <= due * max(np.abs(balls).max(initial=0.0), size)
    wrong = {name: error for name, error in errors(found, right, one).items() if error > due}
    assert wrong == {}


# The reference.


@pytest.mark.parametrize(
    "changes", [{}, {"vector": True}, {"mask": "scattered"}, {"gates": "mixed", "scale": 2.0}], ids=str
)
def test_adjoint_power_series_and_mpmath_agree(changes: dict[str, Any]) -> None:
    one = layer(rng(), **changes)
    dy, dstate = cotangents(rng(1), one)
    right = certified(one, dy, dstate)
    direction = {name: rng(2).standard_normal(x.shape) for name, x in one.arrays().items()}
    total = sum(
        (
            arb(float(s)) * g
            for n in ARGUMENTS
            for s, g in zip(direction[n].ravel(), right.gradients[n].ravel(), strict=True)
        ),
        arb(0),
    )
    series = along(one, direction, dy, dstate)
    assert total.overlaps(series)
    value, error = difference(one, direction, dy, dstate)
    assert abs(float(value) - float(series.mid())) <= float(error) + 1e-14 * abs(float(value))


def test_the_reference_keeps_its_digits() -> None:
    one = layer(rng(), (1, 65, 2, 4, 16, 8), gates="mixed")
    right = certified(one, *cotangents(rng(1), one))
    for balls in (right.y, right.state, *right.gradients.values()):
        assert all(x.rad() < abs(x.mid()) * 1e-40 + arb(10) ** -45 for x in balls.ravel())


# The proposal's tests.


@pytest.mark.parametrize("form", FORMS)
def test_01_gradients_of_all_arguments(form: str) -> None:
    held(form, layer(rng(), TOY))


@pytest.mark.parametrize("form", FORMS)
def test_02_forward_is_that_of_the_recurrence(form: str) -> None:
    one = layer(rng(), (2, 40, 2, 4, 16, 8))
    dy, dstate = cotangents(rng(1), one)
    (y, state, _), (due, last, _) = got(form, one, dy, dstate), got("recurrent", one, dy, dstate)
    assert np.abs(y - due).max() <= 2e-6 * np.abs(due).max()
    assert np.abs(state - last).max() <= 2e-6 * np.abs(last).max()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("vector", [False, True])
def test_03_one_token(form: str, vector: bool) -> None:
    held(form, layer(rng(), (2, 1, 2, 4, 16, 8), vector=vector))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("vector", [False, True])
def test_04_one_chunk(form: str, vector: bool) -> None:
    held(form, layer(rng(), (2, C, 1, 2, 16, 8), vector=vector))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("length", [C - 1, C + 1])
def test_05_one_token_less_and_one_more_than_a_chunk(form: str, length: int) -> None:
    held(form, layer(rng(), (2, length, 1, 2, 16, 8)))


@pytest.mark.parametrize("form", FORMS)
def test_06_a_mask_that_is_true_everywhere_changes_nothing(form: str) -> None:
    one = layer(rng(), (2, 40, 1, 2, 16, 8))
    dy, dstate = cotangents(rng(1), one)
    plain = got(form, one, dy, dstate)
    masked = got(form, replace(one, mask=np.ones((2, 40), bool)), dy, dstate)
    for numbers, due in zip((*plain[:2], *plain[2].values()), (*masked[:2], *masked[2].values()), strict=True):
        assert np.array_equal(numbers, due)


@pytest.mark.parametrize("form", FORMS)
def test_07_the_state_after_a_half_masked_row_is_that_of_the_half(form: str) -> None:
    one = layer(rng(), (2, 40, 1, 2, 16, 8), mask="half")
    half = replace(shortened(one, 20), mask=None)
    dy, dstate = cotangents(rng(1), one)
    _, state, _ = got(form, one, dy, dstate)
    _, due, _ = got(form, half, dy[:, :20], dstate)
    assert np.abs(state - due).max() <= 1e-6 * np.abs(due).max()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mask", MASKS)
def test_08_gradients_through_masks(form: str, mask: str) -> None:
    one = layer(rng(), (3, 40, 1, 2, 16, 8), mask=mask)
    held(form, one)
    if one.mask is not None:
        found = got(form, one, *cotangents(rng(1), one))[2]
        for name in ("k", "v", "a", "b"):
            assert not found[name][~one.mask].any()


def extreme(*, mixed: bool) -> Layer:
    """A_log = 5 and a = 15 at every token, or at every second one."""
    one = layer(rng(), (1, 40, 2, 4, 16, 8))
    a = np.full(one.a.shape, 15.0)
    if mixed:
        a[:, ::2] = -12.0
    return replace(one, a=a, A_log=np.full(one.A_log.shape, 5.0))


@pytest.mark.parametrize("form", FORMS)
def test_09_extreme_gates_stay_finite(form: str) -> None:
    one = extreme(mixed=False)
    y, state, found = got(form, one, *cotangents(rng(1), one))
    assert all(np.isfinite(x).all() for x in (y, state, *found.values()))
    held(form, one)


@pytest.mark.parametrize("form", FORMS)
def test_10_extreme_gates_mixed_with_others(form: str) -> None:
    held(form, extreme(mixed=True))


# Beyond the proposal.


@settings(deadline=None, max_examples=25)
@given(layers(), st.sampled_from(("y", "state", "both")))
def test_the_default_is_right_in_every_regime(one: Layer, which: str) -> None:
    held(None, one, which, DUE if one.scale == 1 else REFLECTED)


@pytest.mark.parametrize("gates", GATES)
@pytest.mark.parametrize("rate", [-3.0, 0.0, 5.0])
@pytest.mark.parametrize("vector", [False, True], ids=["scalar", "vector"])
def test_every_regime_of_gates(gates: str, rate: float, vector: bool) -> None:
    held("chunked", layer(rng(3), (1, 70, 1, 2, 16, 8), gates=gates, rate=rate, vector=vector))


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_correlated_keys_and_large_steps(scale: float) -> None:
    # What makes the Neumann series grow: keys that are nearly alike, corrected in full.
    one = layer(rng(4), (1, 64, 1, 1, 16, 8), alike=0.95, b=6.0, gates="lasting", scale=scale)
    held("chunked", one, due=DUE if scale == 1 else REFLECTED)
    held("reverse", one)


@pytest.mark.parametrize("form", FORMS)
def test_forward_mode_is_the_same_derivative(form: str) -> None:
    one = layer(rng(), (1, 9, 1, 2, 4, 3))
    dy, dstate = cotangents(rng(1), one)
    direction = {name: rng(2).standard_normal(x.shape) for name, x in one.arrays().items()}
    due = float(along(one, direction, dy, dstate).mid())
    primals, tangents = (
        [mx.array(numbers[name].astype(np.float32)) for name in ARGUMENTS] for numbers in (one.arrays(), direction)
    )
    _, (ty, tstate) = mx.jvp(lambda *x: list(gated_delta_update(*x, form=form)), primals, tangents)
    assert abs((np.array(ty) * dy).sum() + (np.array(tstate) * dstate).sum() - due) <= 1e-5 * abs(due)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16], ids=["float16", "bfloat16"])
def test_half_precision_is_float32_inside(form: str, dtype: mx.Dtype) -> None:
    one = layer(rng(), (1, 40, 1, 2, 16, 8))
    rounded = {
        name: np.array(mx.array(getattr(one, name)).astype(dtype).astype(mx.float32)).astype(np.float64)
        for name in ("q", "k", "v", "a", "b")
    }
    one = replace(one, **rounded)
    dy, dstate = (
        np.array(mx.array(x).astype(dtype).astype(mx.float32)).astype(np.float64) for x in cotangents(rng(1), one)
    )
    right = certified(one, dy, dstate)
    y, state, found = got(form, one, dy, dstate, dtype)
    unit = {mx.float16: 2.0**-11, mx.bfloat16: 2.0**-8}[dtype]
    assert np.abs(y - middle(right.y)).max() <= unit * np.abs(middle(right.y)).max() * 1.01
    assert np.abs(state - middle(right.state)).max() <= DUE * np.abs(middle(right.state)).max()
    for name, error in errors(found, right, one).items():
        assert error <= (DUE if name in ("A_log", "dt_bias", "state") else 2 * unit), name


@pytest.mark.parametrize("form", FORMS)
def test_gradients_are_the_same_to_the_bit_from_run_to_run(form: str) -> None:
    one = layer(rng(), (2, 40, 1, 2, 16, 8), mask="scattered")
    dy, dstate = cotangents(rng(1), one)
    first, second = got(form, one, dy, dstate)[2], got(form, one, dy, dstate)[2]
    assert all(np.array_equal(first[name], second[name]) for name in ARGUMENTS)


@pytest.mark.parametrize("form", FORMS)
def test_nan_stays_with_what_depends_on_it(form: str) -> None:
    one = layer(rng(), (2, 40, 2, 4, 4, 3))
    v = one.v.copy()
    v[0, 35, 1, 2] = np.nan
    y, state, _ = got(form, replace(one, v=v), *cotangents(rng(1), one))
    hit = np.zeros(y.shape, bool)
    hit[0, 35:, 1, 2] = True
    assert np.isnan(state[0, 1, 2]).all()
    assert np.isnan(state).sum() == state.shape[-1]
    if form != "chunked":
        assert np.array_equal(np.isnan(y), hit)
    else:
        # Within a chunk a product takes it along to all tokens of the same component.
        assert np.isnan(y[hit]).all()
        assert not np.isnan(y[:, :C]).any()
        assert not np.isnan(np.delete(y[0], 1, axis=1)).any()
    # What is masked is not looked at.
    masked = replace(one, v=v, mask=np.arange(40) < np.full((2, 1), 35))
    assert np.isfinite(got(form, masked, *cotangents(rng(1), masked))[1]).all()


def test_the_inverse_is_one() -> None:
    a = np.tril(rng().standard_normal((3, 32, 32)), -1).astype(np.float32)
    found = np.array(unit_lower_inverse(mx.array(a))).astype(np.float64)
    due = np.linalg.inv(np.eye(32) + a.astype(np.float64))
    assert np.abs(found - due).max() <= 1e-4 * np.abs(due).max()
    assert np.array_equal(np.array(unit_lower_inverse(mx.zeros((1, 1)))), np.ones((1, 1)))


def test_queries_and_keys_of_length_one() -> None:
    q, k = mx.array([[3.0, 4.0]]), mx.array([[0.0, 2.0]])
    scaled, unit = normalize_qk(q, k, inv_scale=2.0**-0.5, eps=0.0)
    assert np.allclose(np.array(scaled), np.array([[0.6, 0.8]]) / 2**0.5, atol=1e-6)
    assert np.allclose(np.array(unit), [[0.0, 1.0]], atol=1e-6)


def arrays(**changes: Any) -> dict[str, mx.array]:
    made: dict[str, Any] = {
        "q": mx.zeros((2, 5, 2, 4)),
        "k": mx.zeros((2, 5, 2, 4)),
        "v": mx.zeros((2, 5, 4, 3)),
        "log_g": mx.zeros((2, 5, 4)),
        "beta": mx.zeros((2, 5, 4)),
        "state": mx.zeros((2, 4, 3, 4)),
        "mask": mx.ones((2, 5), mx.bool_),
    }
    return made | changes


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"q": mx.zeros((2, 5, 2, 8))}, r"q has shape \(2, 5, 2, 8\): \(2, 5, 2, 4\) is expected"),
        ({"k": mx.zeros((5, 2, 4))}, r"k has shape \(5, 2, 4\): \[B, T, Hk, Dk\] is expected"),
        ({"v": mx.zeros((2, 5, 3, 3))}, "v has 3 heads: a multiple of the 2 heads of k is expected"),
        ({"v": mx.zeros((2, 6, 4, 3))}, r"v has shape \(2, 6, 4, 3\): \[2, 5, Hv, Dv\] is expected"),
        ({"log_g": mx.zeros((2, 5))}, r"log_g has shape \(2, 5\): \(2, 5, 4\) or \(2, 5, 4, 4\) is expected"),
        ({"beta": mx.zeros((2, 5, 2))}, r"beta has shape \(2, 5, 2\): \(2, 5, 4\) is expected"),
        ({"state": mx.zeros((2, 4, 4, 3))}, r"state has shape \(2, 4, 4, 3\): \(2, 4, 3, 4\) is expected"),
        ({"state": mx.zeros((2, 4, 3, 4), mx.float16)}, "state has dtype mlx.core.float16: float32 is expected"),
        ({"mask": mx.ones((2, 4), mx.bool_)}, r"mask has shape \(2, 4\): \(2, 5\) is expected"),
        ({"mask": mx.ones((2, 5))}, "mask has dtype mlx.core.float32: bool is expected"),
        ({"k": mx.zeros((2, 5, 2, 4), mx.float16)}, "k has dtype mlx.core.float16: that of q, mlx.core.float32"),
        ({"q": mx.zeros((2, 5, 2, 4), mx.int32)}, "q has dtype mlx.core.int32: float32, float16 or bfloat16"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_named(form: str, changes: dict[str, mx.array], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        gated_delta(**arrays(**changes), form=form)


def test_a_form_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="There is no form 'quick' of the gated delta rule: recurrent, "):
        gated_delta(**arrays(), form="quick")


def test_no_tokens_leave_the_state_as_it_is() -> None:
    state = mx.ones((2, 4, 3, 4))
    none = {name: x[:, :0] for name, x in arrays().items() if name != "state"}
    for form in FORMS:
        y, last = gated_delta(**none, state=state, form=form)
        assert y.shape == (2, 0, 4, 3)
        assert np.array_equal(np.array(last), np.array(state))
