"""From the rows of a run to distinct defects: one cause each, shrunk, with a reproducer and a second method."""

from audit.defects.find import Findings, find_defects

__all__ = ["Findings", "find_defects"]
