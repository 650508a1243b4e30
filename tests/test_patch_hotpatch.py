"""The patch goes in, comes off, and refuses."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from patch_support import rule

from audit.errors import AuditError, Unavailable
from audit.patches.hotpatch import HotPatch
from audit.patches.implementations import IMPLEMENTATIONS, PATCHES

pytestmark = pytest.mark.patch

SCALES = mx.array([2.0**-80, 1.0, 2.0**80])


def gradients() -> list[float]:
    """Derivative of C/(C*t) at t = 1 by a function that MLX has not seen before."""
    return mx.grad(lambda t: mx.divide(SCALES, SCALES * t).sum())(mx.ones(3)).tolist()


STOCK, RIGHT = [-float("inf"), -1.0, -0.0], [-1.0, -1.0, -1.0]


@pytest.fixture(params=PATCHES)
def patch(request: pytest.FixtureRequest) -> HotPatch:
    found = PATCHES[request.param]
    reason = found.check()
    if reason:
        pytest.skip(reason)
    return found


# A library of our own making, compiled from the same header. Its example is chosen after it is loaded.
VARIANT = """
#include "hotpatch.h"
#include <cstdlib>
namespace gradaudit {
namespace {
namespace mx = mlx::core;
int chosen = 0;
Arrays vjp(mx::Primitive*, const Arrays&, const Arrays& c, const std::vector<int>&, const Arrays&) { return c; }
Arrays jvp(mx::Primitive*, const Arrays&, const Arrays& t, const std::vector<int>&) { return t; }
mx::array example() {
  auto three = mx::array(3.0f);
  auto made = chosen == 1 ? mx::multiply(three, three) : chosen == 2 ? three : mx::divide(three, three);
#if GRADAUDIT_KNOWN_PLATFORM
  // A table that is MLX's but for one or two functions: of the C library, or those of a primitive without a rule.
  static void* block[34];
  if (chosen > 2) {
    std::memcpy(block, table_of(&made.primitive()) - 2, sizeof block);
    auto view = mx::view(three, mx::uint32);
    void** base = table_of(&view.primitive());
    block[2 + vjp_slot()] = chosen == 3 ? reinterpret_cast<void*>(&std::abort) : base[vjp_slot()];
    block[2 + jvp_slot()] = chosen == 3 ? block[2 + jvp_slot()] : base[jvp_slot()];
    *reinterpret_cast<void***>(&made.primitive()) = block + 2;
  }
#endif
  return made;
}
const Rule rule{"variant", "Divide", example, vjp, jvp};
} // namespace
} // namespace gradaudit
GRADAUDIT_PATCH(gradaudit::rule)
GRADAUDIT_EXPORT void choose(int example) { gradaudit::chosen = example; }
"""
DIVIDE, MULTIPLY, NOTHING, FOREIGN, BASE = range(5)


@pytest.fixture
def variant(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., HotPatch]:
    """Makes a patch from the text above, with lines put before it, and an example."""
    if shutil.which("g++") is None and shutil.which("clang++") is None:
        pytest.skip("no C++ compiler")
    # Kept between test runs where pytest keeps anything: compiling is what takes the time here.
    kept = getattr(request.config, "cache", None)
    monkeypatch.setenv("GRADAUDIT_CACHE", str(kept.mkdir("hotpatch") if kept else tmp_path / "cache"))

    def make(example: int, before: str = "") -> HotPatch:
        source = tmp_path / "variant.cpp"
        source.write_text(before + VARIANT)
        patch = HotPatch("variant", "mx.divide", source)
        patch._loaded().choose(example)
        return patch

    return make


def test_goes_in_and_comes_off(patch: HotPatch) -> None:
    assert gradients() == STOCK
    assert not patch.installed
    with patch.on():
        assert patch.installed
        assert gradients() == RIGHT
    assert not patch.installed
    assert gradients() == STOCK


def test_comes_off_when_the_body_raises(patch: HotPatch) -> None:
    with pytest.raises(KeyError), patch.on():
        raise KeyError
    assert gradients() == STOCK


def test_stock_results_are_the_same_to_the_bit_afterwards(patch: HotPatch) -> None:
    mx.random.seed(3)
    a, b, g = (mx.random.normal((500,)) * 2.0 ** mx.random.randint(-60, 60, (500,)) for _ in range(3))

    def asked() -> list[bytes]:
        found = [*mx.vjp(mx.divide, [a, b], [g])[1], *mx.jvp(mx.divide, [a, b], [g, a])[1]]
        return [np.array(x).tobytes() for x in found]

    before = asked()
    with patch.on():
        assert asked() != before
    assert asked() == before


def test_nested_use_comes_off_with_the_outermost(patch: HotPatch) -> None:
    with patch.on():
        with patch.on():
            assert gradients() == RIGHT
        assert gradients() == RIGHT
    assert gradients() == STOCK


def test_a_second_patch_is_refused_and_names_the_first(patch: HotPatch) -> None:
    other = next(p for p in PATCHES.values() if p is not patch)
    with patch.on():
        assert patch.name in other.check()
        with (
            pytest.raises(
                AuditError, match=rf"{other.name.replace('+', '.')}: the patch {patch.name.replace('+', '.')} is in"
            ),
            other.on(),
        ):
            pass
        assert gradients() == RIGHT
        assert patch.installed
    assert gradients() == STOCK


def test_the_same_library_is_not_put_in_twice_nor_taken_off_when_absent(variant: Callable[..., HotPatch]) -> None:
    first, second = variant(DIVIDE), variant(DIVIDE)
    with first.on():
        with pytest.raises(AuditError, match="is in place already"), second.on():
            pass
        assert first.installed
    assert first._loaded().gradaudit_remove() != 0
    assert "is not in place" in first._message(first._loaded())
    assert gradients() == STOCK


def test_a_function_compiled_before_keeps_the_old_rule_and_one_compiled_under_the_patch_keeps_the_new() -> None:
    # Compiled as a whole: what mx.compile traced is kept, whatever the table holds later.
    before = mx.compile(mx.grad(lambda b: mx.divide(mx.array(2.0**-80), b)))
    under = mx.compile(mx.grad(lambda b: mx.divide(mx.array(2.0**-80), b)))
    at = mx.array(2.0**-80)
    old = before(at).item()
    with rule("mlx+divide-report"):
        assert before(at).item() == old == -float("inf")
        assert under(at).item() == -(2.0**80)
    assert under(at).item() == -(2.0**80)


def test_complex_operands_keep_the_rule_of_mlx(patch: HotPatch) -> None:
    a, b, w = mx.array([1 + 2j, 0.5 - 1j]), mx.array([2 - 1j, 1 + 3j]), mx.array([1 - 1j, 2 + 0.5j])

    def asked() -> list[Any]:
        found = [*mx.vjp(mx.divide, [a, b], [w])[1], *mx.jvp(mx.divide, [a, b], [w, a])[1]]
        return [x.tolist() for x in found]

    stock = asked()
    with patch.on():
        assert asked() == stock


REFUSALS = {
    "another primitive": (MULTIPLY, "makes the primitive Multiply, not Divide"),
    "no primitive": (NOTHING, "makes the primitive no primitive, not Divide"),
    "a changed table": (FOREIGN, "Divide's virtual table has changed: a rule in it lies in .*libc.*, not in .*libmlx"),
    "a primitive without a rule": (BASE, "Divide has no rule of its own for vjp and jvp"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_refuses(what: str, variant: Callable[..., HotPatch]) -> None:
    example, message = REFUSALS[what]
    assert_refused(variant(example), message)


def test_refuses_headers_of_another_version(variant: Callable[..., HotPatch]) -> None:
    before = '#include "mlx/version.h"\n#undef MLX_VERSION_PATCH\n#define MLX_VERSION_PATCH 99\n'
    assert_refused(variant(DIVIDE, before), r"headers are [0-9.]+\.99, but the library loaded is")


def test_refuses_an_unknown_platform(variant: Callable[..., HotPatch]) -> None:
    # The system's and MLX's own headers are read as what they are; only ours sees another machine.
    before = '#include "mlx/mlx.h"\n#include "mlx/primitives.h"\n#undef __x86_64__\n#undef __aarch64__\n'
    assert_refused(variant(DIVIDE, before), "written for Linux and macOS on x86-64 and AArch64 only")


def assert_refused(patch: HotPatch, message: str) -> None:
    reason = patch.check()
    assert reason.startswith("variant: ")
    with pytest.raises(Unavailable, match=message), patch.on():
        pass
    assert gradients() == STOCK
    assert patch.describe()[-1] == f"cannot be put in here: {reason}"


def test_describe_says_what_it_is_and_that_it_fits(patch: HotPatch) -> None:
    lines = patch.describe()
    assert patch.name in lines[0]
    assert lines[-1] == "can be put in here"
    assert any(str(patch.library) in line for line in lines)
    assert all(path.is_file() for path in (*patch.sources, patch.library))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/maps")
def test_the_table_is_read_only_before_and_after(patch: HotPatch) -> None:
    def writable() -> set[str]:
        maps = Path("/proc/self/maps").read_text().splitlines()
        return {line.split()[0] for line in maps if "libmlx" in line and "w" in line.split()[1]}

    before = writable()
    with patch.on():
        assert writable() == before
    assert writable() == before


def test_implementations_activate_their_patch() -> None:
    for name in ("mlx+divide", "mlx+divide-report:compiled", "mlx+divide:vmapped"):
        implementation = IMPLEMENTATIONS[name]
        if implementation.unavailable():
            pytest.skip(implementation.unavailable())
        with implementation.active():
            assert gradients() == RIGHT
        assert gradients() == STOCK
