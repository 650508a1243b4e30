"""The catalogue is complete: every name of the installed MLX has a case or a reason why it has none."""

from __future__ import annotations

from functools import cache

from audit.catalogue import Catalogue, catalogue, operations_of_cases


@cache
def found() -> Catalogue:
    return catalogue(operations_of_cases())


def test_every_name_has_a_case_or_a_reason() -> None:
    assert not found().missing, "\n".join(found().missing)


def test_every_keyword_of_a_covered_name_is_varied_or_has_a_reason() -> None:
    short = [f"{key}: {wanting}" for key, wanting in found().unvaried.items()]
    assert not short, "\n".join(short)


def test_no_entry_contradicts_another_or_mlx() -> None:
    assert not found().faults, "\n".join(found().faults)
