"""Sorting, as a network of comparisons: one program that sorts at every point.

A network exchanges the same places whatever the values are; only minimum and maximum, or a selection, look at them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from audit.reference.arrays.axes import along, elements, gathered, stacked


@cache
def network(count: int) -> tuple[tuple[int, int], ...]:
    """Pairs of places, to be put in order one after another (Knuth, TAOCP 3, 5.2.2, merge exchange)."""
    return tuple(_merge_exchange(count))


def _merge_exchange(count: int) -> Iterator[tuple[int, int]]:
    top = 1 << (count - 1).bit_length() - 1 if count > 1 else 0
    step = top
    while step:
        q, r, distance = top, 0, step
        while True:
            for place in range(count - distance):
                if place & step == r:
                    yield place, place + distance
            if q == step:
                break
            distance, q, r = q - step, q // 2, step
        step //= 2


def sort(m: Any, x: Any, axis: int | None = -1) -> Any:
    """Elements in ascending order along an axis, of the flat array if that is None."""
    line, restored = along(x, axis)
    rows = [line[..., place] for place in range(line.shape[-1])]
    for low, high in network(len(rows)):
        rows[low], rows[high] = m.minimum(rows[low], rows[high]), m.maximum(rows[low], rows[high])
    return restored(stacked(rows)) if rows else restored(line)


def sort_by(m: Any, keys: Any, values: Any, axis: int = -1) -> Any:
    """Values in the ascending order of their keys: ``take_along_axis(values, argsort(keys))``; ties keep their order.

    Neighbours are exchanged until nothing is left to exchange, which never moves equal keys past each other.
    """
    key_line, _ = along(keys, axis)
    value_line, restored = along(values, axis)
    key = [key_line[..., place] for place in range(key_line.shape[-1])]
    value = [value_line[..., place] for place in range(len(key))]
    for turn in range(len(key)):
        for place in range(turn % 2, len(key) - 1, 2):
            swap = m.less(key[place + 1], key[place])
            for row in (key, value):
                a, b = row[place], row[place + 1]
                row[place], row[place + 1] = m.where(swap, b, a), m.where(swap, a, b)
    return restored(stacked(value))


def topk(m: Any, x: Any, k: int, axis: int | None = -1) -> Any:
    """The k largest elements, ascending; which order the library gives them in is not part of its promise."""
    ordered, restored = along(sort(m, x, axis), axis)
    return restored(ordered[..., ordered.shape[-1] - k :])


def median(m: Any, x: Any, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Any:
    """The middle element, or the mean of the two middle ones."""
    flat, restored = gathered(x, axis)
    ordered = elements(sort(m, flat))
    count = ordered.shape[-1]
    low, high = ordered[..., (count - 1) // 2], ordered[..., count // 2]
    return restored(low if count % 2 else m.divide(m.add(low, high), 2), keepdims)


def chosen_by_largest(m: Any, keys: Any, values: Any, axis: int = -1) -> Any:
    """The value that stands where the key is largest, the first of equals: ``take(values, argmax(keys))``."""
    key_line, _ = along(keys, axis)
    value_line, _ = along(values, axis)
    key, value = key_line[..., 0], value_line[..., 0]
    for place in range(1, key_line.shape[-1]):
        more = m.less(key, key_line[..., place])
        key, value = m.where(more, key_line[..., place], key), m.where(more, value_line[..., place], value)
    return value


ORDERING = {"sort": sort, "sort_by": sort_by, "topk": topk, "median": median, "take_largest": chosen_by_largest}
