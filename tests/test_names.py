"""The names of MLX are found in the installed library, and their signatures are read from it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import pytest

from audit.catalogue import Lists, catalogue
from audit.names import canonical, names
from audit.signatures import REQUIRED, from_text, signatures_of
from audit.versions import SUPPORTED, older, version


@dataclass(frozen=True)
class Made:
    """An operation as far as the catalogue reads it."""

    name: str
    arguments: tuple[str, ...] = ("a",)
    parameters: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    also: tuple[str, ...] = ()


NOTHING = Lists({}, {}, {"stream": "where"}, {})


@pytest.mark.parametrize(
    "name",
    [
        "mx.arctan2",
        "mx.array.sum",
        "mx.array.T",
        "mx.array.__iadd__",
        "mx.array.__getitem__",
        "mx.ArrayAt.add",
        "mx.custom_function.vjp",
        "mx.fast.rms_norm",
        "mx.linalg.inv",
        "mx.fft.rfft",
        "mx.random.normal",
        "mx.distributed.all_sum",
        "nn.gelu",
        "nn.Conv2d",
        "nn.losses.huber_loss",
        "nn.init.he_normal",
        "nn.layers.upsample.upsample_linear",
        "nn.utils.checkpoint",
        "optim.Adam",
        "optim.clip_grad_norm",
    ],
)
def test_a_name_is_found_under_the_name_that_a_user_writes(name: str) -> None:
    assert name in names()


@pytest.mark.parametrize("name", ["mx.pi", "mx.float32", "mx.array.__hash__", "nn.Callable", "optim.tree_map"])
def test_constants_and_what_is_not_written_in_mlx_are_no_names(name: str) -> None:
    assert name not in canonical()


def test_two_names_of_one_object_are_one() -> None:
    assert canonical()["mx.acos"] == "mx.arccos"
    assert canonical()["nn.layers.gelu"] == "nn.gelu"
    assert canonical()["mx.concat"] == "mx.concat"


@pytest.mark.parametrize("module", ["", "fast", "linalg", "fft", "random"])
def test_no_function_of_a_compiled_module_escapes(module: str) -> None:
    place = getattr(mx, module) if module else mx
    prefix = f"mx.{module}." if module else "mx."
    public = {prefix + key for key in dir(place) if hasattr(getattr(place, key), "__nb_signature__") and key[0] != "_"}
    assert public - set(canonical()) == set()


def test_no_method_of_an_array_escapes() -> None:
    own = set(dir(mx.array)) - {*dir(object), "__module__"}
    assert {f"mx.array.{key}" for key in own} - set(canonical()) == set()


def test_no_function_or_layer_of_nn_escapes() -> None:
    public = {f"nn.{key}" for key, value in vars(nn).items() if key[0] != "_" and not inspect.ismodule(value)}
    assert public - set(canonical()) == set()


def test_every_signature_is_understood() -> None:
    read = {name: signatures_of(one.target) for name, one in names().items()}
    assert all(one.name.isidentifier() for signatures in read.values() for signature in signatures for one in signature)
    silent = {name for name, found in read.items() if not found and not isinstance(names()[name].target, property)}
    handed_out = {"mx.ArrayAt", "mx.ArrayIterator", "mx.Dtype", "mx.Stream", "mx.ThreadLocalStream"}
    assert silent == {*handed_out, "mx.distributed.Group", "nn.Module"}


def test_a_signature_with_everything() -> None:
    text = r"def f(a: array, /, k: int, axis: None | int = -1, *more, flag: bool = \0, stream: Stream = None) -> array"
    a, k, axis, more, flag, _ = from_text(text, (True,))
    assert (a.is_array, a.default) == (True, REQUIRED)
    assert (k.is_array, k.default) == (False, REQUIRED)
    assert (axis.default, axis.choices) == (-1, None)
    assert more.variadic
    assert (flag.default, flag.choices) == (True, 2)


def test_a_text_that_is_no_signature_is_refused() -> None:
    with pytest.raises(ValueError, match="not understood"):
        from_text("def f(a: array -> array")


def test_overloads_and_layers() -> None:
    assert len(signatures_of(mx.arange)) == 2
    (gelu,) = signatures_of(nn.GELU)
    assert [parameter.name for parameter in gelu] == ["approx", "x"]


def test_what_is_in_no_list_is_missing() -> None:
    found = catalogue([Made("mx.sin")], NOTHING)
    assert "mx.cos" in found.missing
    assert "mx.sin" not in found.missing
    assert len(found.missing) == len(names()) - 1


def test_an_alias_covers_the_name() -> None:
    found = catalogue([Made("mx.acos", also=("mx.array.cos",))], NOTHING)
    assert {"mx.arccos", "mx.array.cos"} == set(found.covered)


def test_an_exempt_class_takes_its_members_with_it() -> None:
    found = catalogue([], Lists({"no arrays": ("mx.Device",)}, {}, {}, {}))
    assert found.exempt["mx.Device.type"] == "no arrays"
    assert "mx.Stream" in found.missing


@pytest.mark.skipif(older(version(), SUPPORTED[-1]), reason="what MLX does not know is judged by the newest version")
@pytest.mark.parametrize(
    ("operations", "lists", "said"),
    [
        ([Made("mx.sin")], Lists({"why": ("mx.sin",)}, {}, {}, {}), "mx.sin has a case and stands in"),
        ([], Lists({"why": ("mx.pow",), "other": ("mx.pow",)}, {}, {}, {}), "mx.pow stands in cases/exempt.py twice"),
        ([], Lists({}, {"mx.sin": "mx.cos"}, {}, {}), "covered by mx.cos, which has no case"),
        ([], Lists({}, {"mx.sin": "cases/nowhere.py"}, {}, {}), "covered by cases/nowhere.py, which has no case"),
        ([], Lists({"why": ("mx.sinus",)}, {}, {}, {}), "mx.sinus stands in cases/exempt.py, and MLX"),
        ([Made("mx.sinus")], Lists({}, {}, {}, {}), "mx.sinus is named by the case of mx.sinus, and MLX"),
        ([], Lists({}, {}, {"keepdimms": "typing"}, {}), "keepdimms stands in cases/exempt.py as a keyword"),
    ],
)
def test_entries_that_contradict_are_faults(operations: list[Made], lists: Lists, said: str) -> None:
    (fault,) = catalogue(operations, lists).faults
    assert said in fault


@pytest.mark.parametrize(
    ("operation", "unvaried"),
    [
        (Made("mx.sum", ("a",), {"axis": (None, 0, -1), "keepdims": (False, True)}), {}),
        (
            Made("mx.sum", ("a",), {"axis": (None, 0, 0), "keepdims": (False,)}),
            {"mx.sum.axis": "1 of 2 values other than None", "mx.sum.keepdims": "0 of 1 values other than False"},
        ),
        (Made("mx.argsort", ("a",), {"axis": (0, 1)}), {}),
        (Made("mx.topk", ("a",), {"k": (1, 2), "axis": (-1, 0, None)}), {}),
        (Made("mx.topk", ("a",), {"k": (2,), "axis": (-1, 0, None)}), {"mx.topk.k": "1 of 2 values"}),
        (Made("mx.fast.layer_norm", ("x", "weight", "bias"), {"eps": (1e-5, 0.1)}), {}),
        (
            Made("mx.fast.layer_norm", ("x", "weight"), {"eps": (1e-5, 0.1)}),
            {"mx.fast.layer_norm.bias": "0 of 1 values"},
        ),
        (
            Made("mx.fast.scaled_dot_product_attention", ("q", "k", "v"), {"scale": (1, 2), "mask": (None, "causal")}),
            {
                "mx.fast.scaled_dot_product_attention.mask": "1 of 2 values other than None",
                "mx.fast.scaled_dot_product_attention.sinks": "0 of 1 values other than None",
                "mx.fast.scaled_dot_product_attention.force_fused": "0 of 1 values other than False",
            },
        ),
        (Made("mx.array.__add__"), {}),
        (
            Made("nn.losses.mse_loss", ("predictions", "targets"), {"reduction": ("mean",)}),
            {"nn.losses.mse_loss.reduction": "0 of 2 values other than 'mean'"},
        ),
        (Made("nn.GELU", ("x",), {"approx": ("none", "precise", "fast")}), {}),
    ],
)
def test_keywords_that_nothing_varies(operation: Made, unvaried: dict[str, str]) -> None:
    assert dict(catalogue([operation], NOTHING).unvaried) == unvaried


def test_operations_of_one_name_vary_its_keywords_together() -> None:
    one = Made("mx.sum", ("a",), {"axis": (None, 0, 1)})
    other = Made("mx.sum", ("a",), {"keepdims": (False, True)})
    assert catalogue([one, other], NOTHING).unvaried == {}


def test_the_number_of_values_can_be_said() -> None:
    two = Made("mx.linalg.eigvalsh", ("a",), {"UPLO": ("L", "U")})
    assert "mx.linalg.eigvalsh.UPLO" in catalogue([two], NOTHING).unvaried
    assert catalogue([two], Lists({}, {}, {"stream": "where"}, {"UPLO": 2})).unvaried == {}


def test_versions_are_compared_by_number() -> None:
    assert older("0.9.0", "0.32.2")
    assert not older("0.32.4.dev1", "0.32.4")
