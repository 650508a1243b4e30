"""gradaudit: is every derivative the right number?

`audit.check` audits a function of one's own; everything else is reached through the command line or the modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from audit.own_function import check

__all__ = ["check"]


def __getattr__(name: str) -> Any:
    # Loaded when it is used: importing the package must not load MLX.
    if name == "check":
        from audit.own_function import check

        return check
    raise AttributeError(f"module 'audit' has no attribute {name!r}")
