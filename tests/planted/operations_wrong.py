"""All wrong rules of operations on arrays."""

import importlib

_MODULES = ("reductions", "indexing", "linear", "convolution", "layers", "transforms")

WRONG = tuple(
    plant
    for name in _MODULES
    for plant in getattr(importlib.import_module(f"planted.wrong_{name}"), f"WRONG_{name.upper()}")
)
