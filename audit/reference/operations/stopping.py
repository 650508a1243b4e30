"""The identity that no derivative passes: a number that counts as a constant."""

from __future__ import annotations

from typing import Any

from audit.reference.operations.entry import Operation
from audit.reference.operations.opinions import NoOpinion


def _no_opinion(*_: Any) -> Any:
    # A difference of the identity is not zero.
    raise NoOpinion


STOPPING = {
    "stop_gradient": Operation(
        "{0}", _no_opinion, (None,), series="{0} * 0 + first({0})", rational="{0}", size=lambda z: z.sizes[0],
    ),
}  # fmt: skip
