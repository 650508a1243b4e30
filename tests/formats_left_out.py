"""Formats that an operation does not declare and in which MLX differentiates it all the same.

Run as a script with the names of operations it prints one line an operation, so that one that ends the process is known
by the line that is wanting: ``mx.exp float16,complex64``. Behind an ``=`` a name may have one format that is tried.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import mlx.core as mx
from spelling import numbers

from audit.formats import FORMATS
from audit.operation import Operation, Shapes
from audit.registry import find_operations

DTYPES = {name: getattr(mx, name) for name in FORMATS}


def left_out(operation: Operation, only: str = "") -> list[str]:
    """Names of the formats that are not declared, and in which MLX computes a value or a vjp of that format."""
    tried = [name for name in FORMATS if name not in operation.formats and only in ("", name)]
    return [name for name in tried if _works(operation, DTYPES[name])]


def _works(operation: Operation, dtype: mx.Dtype) -> bool:
    shapes, parameters = _first(operation)
    arrays = [numbers(operation, i, shape).astype(dtype) for i, shape in enumerate(shapes)]
    try:
        value = operation.call(*arrays, **parameters)
        mx.eval(value)
    except (RuntimeError, ValueError, TypeError):
        return False
    if value.dtype == dtype:
        return True
    traced = [arrays[i] for i in operation.traced]

    def of_traced(*given: mx.array) -> mx.array:
        chosen = dict(zip(operation.traced, given, strict=True))
        return operation.call(*(chosen.get(i, array) for i, array in enumerate(arrays)), **parameters)

    try:
        _, cotangents = mx.vjp(of_traced, traced, [mx.ones(value.shape, value.dtype)])
        mx.eval(cotangents)
    except (RuntimeError, ValueError, TypeError):
        return False
    return any(cotangent.dtype == dtype for cotangent in cotangents)


def _first(operation: Operation) -> tuple[Shapes, dict[str, object]]:
    if operation.elementwise:
        return ((3,),) * len(operation.arguments), operation.base
    return operation.configurations()[0]


def main(names: Iterable[str]) -> None:
    """Print what is left out of each operation, in order."""
    operations = find_operations()[0]
    for asked in names:
        name, _, only = asked.partition("=")
        print(asked, ",".join(left_out(operations[name][1], only)), sep="\t", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
