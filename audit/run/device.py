"""Where MLX computes."""

from __future__ import annotations

from dataclasses import replace

from audit.run.plan import Plan


def choose_device(plan: Plan, device: str) -> Plan:
    """The plan on a device; where that is absent, nothing of it can be run, and its rows say so.

    Args:
        plan: the plan.
        device: ``"cpu"`` or ``"gpu"``.
    """
    import mlx.core as mx

    if device == "gpu" and not mx.is_available(mx.gpu):
        return replace(
            plan,
            implementations=tuple(
                replace(implementation, unavailable=_no_gpu) for implementation in plan.implementations
            ),
        )
    mx.set_default_device(mx.gpu if device == "gpu" else mx.cpu)
    return plan


def _no_gpu() -> str:
    return "There is no GPU that MLX can use here."
