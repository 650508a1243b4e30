"""All right rules of operations on arrays."""

import importlib

_MODULES = ("reductions", "indexing", "linear", "layers", "transforms")

RIGHT = tuple(
    plant
    for name in _MODULES
    for plant in getattr(importlib.import_module(f"planted.right_{name}"), f"RIGHT_{name.upper()}")
)
