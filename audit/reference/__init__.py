"""The right value of every derivative, enclosed with proof and independent of the library under audit."""

from audit.reference.enclosure import Enclosures, Right, Rounded, State
from audit.reference.references import Answer, References

__all__ = ["Answer", "Enclosures", "References", "Right", "Rounded", "State"]
