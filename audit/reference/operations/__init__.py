"""The operations of the reference, one entry each: adding an operation is adding one entry."""

from audit.reference.operations.arithmetic import ARITHMETIC
from audit.reference.operations.choice import CHOICE
from audit.reference.operations.elementary import ELEMENTARY
from audit.reference.operations.entry import Measure, Operation, Step
from audit.reference.operations.holomorphic import HOLOMORPHIC, PHASE
from audit.reference.operations.logic import LOGIC
from audit.reference.operations.powers import POWERS
from audit.reference.operations.rounding import ROUNDING
from audit.reference.operations.stopping import STOPPING

OPERATIONS: dict[str, Operation] = {
    **ARITHMETIC, **CHOICE, **LOGIC, **ELEMENTARY, **POWERS, **ROUNDING, **HOLOMORPHIC, **PHASE, **STOPPING,
}  # fmt: skip

__all__ = ["OPERATIONS", "Measure", "Operation", "Step"]
