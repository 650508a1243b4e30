"""The gated delta rule (Gated DeltaNet, Kimi's delta attention), trainable: one signature, several forms."""

from audit.kernels.gated_delta.gates import log_gate, normalize_qk, step_size
from audit.kernels.gated_delta.select import FORMS, gated_delta
from audit.kernels.gated_delta.update import gated_delta_update

__all__ = ["FORMS", "gated_delta", "gated_delta_update", "log_gate", "normalize_qk", "step_size"]
