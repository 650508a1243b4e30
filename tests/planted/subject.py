"""What is audited on purpose: an implementation, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from audit.case import Implementation
from planted.rule import Rule


@dataclass(frozen=True)
class Subject:
    """An implementation of one operation.

    Args:
        name: how it is written; also the id of its test.
        operation: the operation of ``mx``.
        implementation: what is compared.
        formats, families: where; no families means all of the first order.
    """

    name: str
    operation: str
    implementation: Implementation
    formats: Sequence[str]
    families: tuple[str, ...] | None = None


def subject(rule: Rule) -> Subject:
    """A rule as a subject."""
    return Subject(rule.name, rule.operation, rule.implementation(), rule.formats, rule.families)
