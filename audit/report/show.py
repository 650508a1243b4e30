"""One comparison in words, with a script that reproduces it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.formats import Format
from audit.report import record
from audit.report.record import Input, Number
from audit.report.reproduce import script
from audit.rows import read_shapes, row_name
from audit.verdict import MISMATCHES

SENTENCES = {
    "not_run": "It was not run: {message}",
    "hang": "It did not return in time.",
    "crash": "It ended the whole process.",
    "raises": "It raised an error where a derivative exists: {message}",
    "unimplemented": "The library has no rule for this derivative: {message}",
    "shape": "It returned an array of the wrong shape: {message}",
    "dtype": "It returned an array of the wrong dtype: {message}",
    "inconclusive": "The right value is not known closely enough to judge this.",
    "undefined": "No derivative exists at this point, so that nothing can be wrong.",
    "outside": "The right value lies outside the format's range, and got is what its rounding may give.",
    "match": "Got is right: it is within the tolerance.",
    "allowed": "Got is beyond the tolerance, but within what the cancelling terms allow.",
    "nan": "A number was due, and NaN was returned.",
    "overflowed": "A finite number was due, and an infinity was returned.",
    "nonzero": "Zero was due, and something else was returned.",
    "vanished": "A number other than zero was due, and zero was returned.",
    "sign": "The sign is wrong.",
    "wrong": "Got differs from the right value by half of it or more.",
    "inaccurate": "Got is near the right value, but further off than tolerance and allowance permit.",
}

MODES = {
    "forward": "the value",
    "vjp": "the vector-Jacobian product",
    "jvp": "the Jacobian-vector product",
    "grad1": "the first derivative (grad)",
    "grad2": "the second derivative (grad of grad)",
    "grad3": "the third derivative (grad of grad of grad)",
    "hessian-rr": "an entry of the Hessian (reverse over reverse)",
    "hessian-fr": "an entry of the Hessian (forward over reverse)",
    "second-rr": "the second derivative along the tangents (reverse over reverse)",
    "second-fr": "the second derivative along the tangents (forward over reverse)",
    "second-rf": "the second derivative along the tangents (reverse over forward)",
    "third": "the third derivative, twice along the tangents (reverse over reverse over reverse)",
}


def show(row: Mapping[str, Any], text: str, device: str = "cpu") -> str:
    """One row in words: what was asked, what was got, what is right, and how to see it.

    Args:
        row: a row as a mapping from column to value.
        text: its function as an expression of the arguments, e.g. ``"C / (C * t)"``.
        device: on which the script runs, ``"cpu"`` or ``"gpu"``.
    """
    return "\n".join([*_described(row, text), "", *_reproducer(row, text, device)]) + "\n"


def _described(row: Mapping[str, Any], text: str) -> list[str]:
    arguments, weights = record.inputs(row)
    lines = [
        f"{row_name(row['id'])}  {row['case']} / {row['group']}",
        f"{MODES[row['mode']]} of {text} in {row['format']}{_whose(row)}, by {row['implementation']}{_how(row)}",
        "",
        *(_field(x.name, _numbers(x, row)) for x in arguments),
        *(_field(name, _numbers(x, row)) for name, x in zip(_weight_labels(row, len(weights)), weights, strict=True)),
        "",
        _field("got", _got(row)),
        *_right(row),
    ]
    if row["error"] is not None:
        lines.append(_field("error", _error(row)))
    if row["witness"] is not None:
        lines.append(_field("witness", f"{row['witness']:.17g}{_bound(row)} (central difference of the value)"))
    verdict = row["verdict"]
    kind = "mismatch" if verdict in MISMATCHES else "no mismatch"
    lines.append(_field("verdict", f"{verdict} ({kind}). {SENTENCES[verdict].format(message=row['message'])}"))
    if row["forward_wrong"]:
        lines.append(_field("", "The value at this point is wrong as well."))
    if row["convention"]:
        lines.append(_field("", "The point is a kink or tie; got is one of several right answers."))
    return lines


def _reproducer(row: Mapping[str, Any], text: str, device: str) -> list[str]:
    lines = ["To reproduce it:" if row["implementation"] in ("mlx", "f") else "To ask stock MLX the same:", ""]
    return lines + [f"    {line}" for line in script(row, text, device).splitlines()]


def _whose(row: Mapping[str, Any]) -> str:
    if row["argument"] == "output":
        along = f" along {row['traced'].replace(',', ' and ')}" if row["mode"] == "jvp" else ""
    else:
        along = f" for {row['argument'].replace(',', ' and ')}"
        if row["argument"] != row["traced"]:
            along += f", traced together: {row['traced'].replace(',', ' and ')}"
    shapes, _ = read_shapes(row["shapes"])
    return along + (f", element {row['element']}" if any(shapes.values()) else "")


def _how(row: Mapping[str, Any]) -> str:
    details = [row["layout"] if row["layout"] != "contiguous" else "", f"under {row['wrap']}" if row["wrap"] else ""]
    told = ", ".join(filter(None, details))
    return f" ({told})" if told else ""


def _weight_labels(row: Mapping[str, Any], count: int) -> list[str]:
    if row["mode"] == "jvp":
        return [f"tangent {name}" for name in row["traced"].split(",")]
    tangents = [f"tangent {name}" for name in row["traced"].split(",")]
    return ["cotangent", *tangents][:count]


def _numbers(x: Input, row: Mapping[str, Any]) -> str:
    mark = "" if x.format.name == row["format"] else f" in {x.format.name}"
    if x.shape == ():
        return _both(x.numbers[0], x.format) + mark
    listed = ", ".join(record.hexadecimal(number, x.format) for number in x.numbers)
    return f"[{listed}] of shape {x.shape}{mark}"


def _got(row: Mapping[str, Any]) -> str:
    got = record.got(row)
    if got is None:
        return "nothing"
    return _both(got, record.got_format(row))


def _right(row: Mapping[str, Any]) -> list[str]:
    right = record.right(row)
    if right is None:
        return [_field("right", "not known")]
    fmt, lines = record.got_format(row), []
    for name, part in zip(("right", "right, imag"), right, strict=False):
        proof = "exactly" if part.exact else f"{part.residual:+.6g} ± {part.radius:.2g} ulp"
        lines.append(_field(name, f"{fmt.hex(part.value)} {proof} = {part.decimal()}"))
    return lines


def _error(row: Mapping[str, Any]) -> str:
    allowance = f" and {row['allowance']:.4g} for cancelling terms" if row["allowance"] else ""
    unit = "" if row["right"] == 0 else " ulp"
    return f"{row['error']:.6g}{unit}, where {row['tolerance']:.4g} are tolerated{allowance}"


def _bound(row: Mapping[str, Any]) -> str:
    return "" if row["witness_bound"] is None else f" ± {row['witness_bound']:.2g}"


def _both(number: Number, fmt: Format) -> str:
    """In hexadecimal and in decimal; infinities and NaN look the same in both."""
    exact, decimal = record.hexadecimal(number, fmt), " + i ".join(f"{part:.17g}" for part in number)
    return exact if exact == decimal else f"{exact} = {decimal}"


def _field(name: str, text: str) -> str:
    return f"  {name:<12} {text}"
