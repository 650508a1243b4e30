"""The operations of the reference, one entry each: adding an operation is adding one entry."""

from audit.reference.operations.arithmetic import ARITHMETIC
from audit.reference.operations.choice import CHOICE
from audit.reference.operations.elementary import ELEMENTARY
from audit.reference.operations.entry import Measure, Operation, Step

OPERATIONS: dict[str, Operation] = {**ARITHMETIC, **CHOICE, **ELEMENTARY}

__all__ = ["OPERATIONS", "Measure", "Operation", "Step"]
