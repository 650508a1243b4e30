"""Points: everything that is asked of an operation, generated from what its case declares."""

from audit.points.questions import batches

__all__ = ["batches"]
