"""Tables in the README that are written by a command, so that they cannot differ from what they describe."""

from __future__ import annotations

import re
from collections.abc import Mapping

from audit.errors import AuditError

_TABLE = re.compile(r"(<!-- table:([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def fill(text: str, tables: Mapping[str, str]) -> str:
    """The README with every table between ``<!-- table:NAME -->`` and ``<!-- end -->`` written anew.

    Args:
        text: the README.
        tables: Markdown by name.

    Raises:
        AuditError: a marker names no table, or has no end.
    """
    starts = re.findall(r"<!-- table:([\w-]+) -->", text)
    unknown = [name for name in starts if name not in tables]
    if unknown:
        raise AuditError(f"README.md has a marker for table {unknown[0]!r}; these exist: {', '.join(sorted(tables))}.")
    if len(starts) != len(_TABLE.findall(text)) or text.count("<!-- end -->") != len(starts):
        raise AuditError("README.md: every <!-- table:NAME --> needs an <!-- end --> on a line of its own after it.")
    return _TABLE.sub(lambda match: f"{match[1]}\n{tables[match[2]]}\n\n{match[4]}", text)


def stale(text: str, tables: Mapping[str, str]) -> list[str]:
    """Names of the tables that differ from what the command would write.

    Raises:
        AuditError: as `fill`.
    """
    due = fill(text, tables)
    pairs = zip(_TABLE.findall(text), _TABLE.findall(due), strict=True)
    return [found[1] for found, right in pairs if found[2] != right[2]]
