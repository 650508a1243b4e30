"""The command line. Exit status 0: no unexpected mismatch; 1: unexpected ones; 2: the audit could not do its work."""

from __future__ import annotations

import typer

from audit.commands.defects import defects
from audit.commands.looking import list_everything, patch, show
from audit.commands.reporting import compare, coverage, readme, verify
from audit.commands.running import audit, run

app = typer.Typer(
    name="gradaudit",
    help="Audits automatic differentiation: is every derivative the right number?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

for name, command in {
    "audit": audit,
    "run": run,
    "list": list_everything,
    "show": show,
    "compare": compare,
    "verify": verify,
    "coverage": coverage,
    "defects": defects,
    "patch": patch,
    "readme": readme,
}.items():
    app.command(name)(command)
