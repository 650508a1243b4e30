"""Keyword expressions such as ``divide and not float16``, as pytest's ``-k`` has them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from audit.errors import AuditError


def matcher(expression: str) -> Callable[[str], bool]:
    """A test of names: a word holds where it is part of the name, in any case of letters.

    Args:
        expression: words joined by ``and``, ``or``, ``not`` and parentheses; empty matches everything.

    Raises:
        AuditError: the expression cannot be read.
    """
    if not expression.strip():
        return lambda _: True
    words: list[str] = []

    def stand_in(match: re.Match[str]) -> str:
        word = match.group()
        if word in ("and", "or", "not"):
            return word
        words.append(word.lower())
        return f"_{len(words) - 1}"

    text = re.sub(r"[^\s()]+", stand_in, expression)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise AuditError(
            f"-k {expression!r} cannot be read: join words with and, or, not and parentheses, "
            "e.g. -k 'divide and not float16'."
        ) from None
    return lambda name: _holds(tree, words, name.lower())


def _holds(node: ast.expr, words: list[str], name: str) -> bool:
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_holds(value, words, name) for value in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_holds(value, words, name) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _holds(operand, words, name)
        case ast.Name(id=stand_in):
            return words[int(stand_in[1:])] in name
    raise AuditError("-k takes words joined by and, or, not and parentheses only.")
