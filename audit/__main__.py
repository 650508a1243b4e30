"""`python -m audit`, which is `gradaudit`."""

from __future__ import annotations

import sys

from audit.cli import app
from audit.errors import AuditError


def main() -> None:
    """Run the command line; an `AuditError` becomes one message and exit status 2."""
    try:
        app(prog_name="gradaudit")
    except AuditError as error:
        sys.stderr.write(f"gradaudit: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
