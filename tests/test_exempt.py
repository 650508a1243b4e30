"""The reasons of the list of exemptions are true, as far as the installed MLX can show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import pytest
from spelling import graph

from audit.catalogue import parameters_of
from audit.names import canonical, names
from cases.exempt import EXEMPT, KEYWORDS

X = mx.array([[1.5, -2.0], [0.25, 3.0]])


def of_reason(beginning: str) -> list[str]:
    (reason,) = (reason for reason in EXEMPT if reason.startswith(beginning))
    return [name for name in EXEMPT[reason] if name in canonical()]


def primitives(call: Callable[..., Any], *arrays: mx.array) -> list[str]:
    return [entry for entry in graph(call, arrays) if "'type': 'primitive'" in entry]


def reads_input(call: Callable[..., Any]) -> bool:
    """Whether any primitive is given the array itself, which the graph calls A."""
    return any("'A'" in entry.partition("'inputs'")[2].partition("'name'")[0] for entry in primitives(call, X))


def returned(name: str) -> str:
    """What the signatures say is returned."""
    written = getattr(names()[canonical()[name]].target, "__nb_signature__", ())
    return " ".join(text.rpartition("->")[2] for text, *_ in written if "->" in text)


@pytest.mark.parametrize("name", of_reason("makes arrays of numbers alone"))
def test_what_makes_arrays_of_numbers_takes_no_array_but_a_key(name: str) -> None:
    parameters = parameters_of(names()[canonical()[name]])
    arrays = {key for key, one in parameters.items() if one.is_array and "mask" not in key}
    if name.startswith("nn."):
        arrays -= {"N", "num_heads", "dtype", "offset", "q_sequence_length", "k_sequence_length"}
    assert arrays <= {"key"}


@pytest.mark.parametrize("name", of_reason("makes initial values"))
def test_an_initial_value_does_not_depend_on_the_numbers_of_its_array(name: str) -> None:
    make = getattr(nn.init, name.rpartition(".")[2])
    arguments = {"nn.init.constant": (0.5,), "nn.init.sparse": (0.5,)}.get(name, ())
    initial = make(*arguments)
    assert not reads_input(initial)


def test_that_a_function_reads_its_array_is_seen() -> None:
    assert reads_input(lambda x: mx.zeros(x.shape) + x)


@pytest.mark.parametrize("name", ["left_shift", "right_shift", "random.split"])
def test_what_takes_integers_refuses_numbers(name: str) -> None:
    function = {"left_shift": mx.left_shift, "right_shift": mx.right_shift, "random.split": mx.random.split}[name]
    with pytest.raises((ValueError, RuntimeError), match=r"integer|uint32"):
        mx.eval(function(X, 1) if "shift" in name else function(X))


def test_what_is_not_written_for_the_cpu_says_so() -> None:
    w, index = mx.ones((1, 64, 64)), mx.array([0])
    for mode in ("nvfp4", "mxfp8"):
        packed, *scales = mx.quantize(w, mode=mode)
        for matrix, rest in ((w, {}), (packed, {"scales": scales[0]})):
            for rows in (1, 4):
                given: dict[str, Any] = {
                    "lhs_indices": index,
                    "rhs_indices": index,
                    "mode": mode,
                    "stream": mx.cpu,
                } | rest
                with pytest.raises((RuntimeError, ValueError), match="NYI"):
                    mx.eval(mx.gather_qqmm(mx.ones((1, rows, 64)), matrix, **given))


@pytest.mark.parametrize("name", ["all_gather", "all_max", "all_min", "all_sum", "sum_scatter"])
def test_where_there_is_one_process_an_array_is_handed_back(name: str) -> None:
    assert mx.distributed.init().size() == 1
    assert primitives(getattr(mx.distributed, name), X) == []


def test_gradients_of_one_process_are_their_own_average() -> None:
    assert primitives(lambda x: nn.average_gradients({"w": x})["w"], X) == []


@pytest.mark.parametrize(
    "name",
    [
        *of_reason("is about types"),
        *of_reason("is about devices"),
        *of_reason("says when"),
        *of_reason("hands out"),
        *of_reason("reads or writes"),
    ],
)
def test_what_is_no_function_of_arrays_returns_none(name: str) -> None:
    words = returned(name).replace("numpy.ndarray", "").replace("ndarray", "").replace("mlx.core.", "").split()
    allowed = {"mx.from_dlpack", "mx.load"}  # of another library, of a file
    assert "array" not in words or name in allowed


def test_every_reason_is_a_clause_without_a_full_stop() -> None:
    for reason in (*EXEMPT, *KEYWORDS.values()):
        assert reason == reason.strip(" .")
        assert reason


def test_names_of_a_reason_are_in_the_order_of_the_alphabet() -> None:
    for listed in EXEMPT.values():
        assert list(listed) == sorted(listed)
