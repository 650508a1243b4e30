"""The right value of every derivative, enclosed with proof and independent of the library under audit."""

from audit.reference.enclosure import Enclosures, Right, Rounded, State
from audit.reference.references import Answer, Hull, References, at_points

__all__ = ["Answer", "Enclosures", "Hull", "References", "Right", "Rounded", "State", "at_points"]
