"""Comparison rows: the columns that every comparison has, whatever was compared.

A row is one comparison: one element of one derivative at one point by one implementation, with its verdict. Rows are
kept by column (Arrow), since there are millions. A complex element is one comparison with two components, judged
together; its imaginary columns are null for real formats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pyarrow as pa

from audit.errors import AuditError

Shape = tuple[int, ...]

CODED = pa.dictionary(pa.int16(), pa.string())

SCHEMA = pa.schema(
    [
        # A hash of series version, case, group, point, format, mode, argument and element, the implementation left
        # out, so that the rows of two implementations join.
        pa.field("id", pa.uint64(), nullable=False),
        pa.field("series", CODED, nullable=False),  # "divide-1328" for the named series, "families" otherwise
        pa.field("case", CODED, nullable=False),
        pa.field("group", CODED, nullable=False),
        pa.field("function", CODED, nullable=False),
        pa.field("implementation", CODED, nullable=False),
        pa.field("format", CODED, nullable=False),  # of the batch; an argument of another format says so in `shapes`
        pa.field("got_format", CODED, nullable=False),  # of what is compared
        pa.field("mode", CODED, nullable=False),  # Mode.kind
        pa.field("traced", CODED, nullable=False),  # names of the traced arguments: "a", "a,b"
        pa.field("argument", CODED, nullable=False),  # "b" for a vjp; "a,b" for a Hessian entry; "output" otherwise
        pa.field("layout", CODED, nullable=False),
        pa.field("wrap", CODED, nullable=False),
        pa.field("point", pa.int32(), nullable=False),  # index in the batch
        pa.field("element", pa.int32(), nullable=False),  # flat index in the argument or output
        # Of arguments and weights, as `write_shapes` puts them, with their formats where those are not the batch's.
        pa.field("shapes", CODED, nullable=False),
        # Encodings of every primal and weight at the point, argument after argument, re and im in turn if complex.
        pa.field("primals", pa.list_(pa.uint64()), nullable=False),
        pa.field("weights", pa.list_(pa.uint64()), nullable=False),
        pa.field("got", pa.uint64()),  # encoding of the number got; null if none was
        pa.field("got_imag", pa.uint64()),
        # right value = right + (residual +- radius) * ulp(right); right is null where none is known
        pa.field("right", pa.float64()),
        pa.field("residual", pa.float64()),
        pa.field("radius", pa.float64()),
        pa.field("right_imag", pa.float64()),
        pa.field("residual_imag", pa.float64()),
        pa.field("radius_imag", pa.float64()),
        pa.field("error", pa.float64()),  # in ulps at the right value; null if there is none (worse component)
        pa.field("tolerance", pa.float64()),  # in ulps at the right value; where that is zero, absolute
        pa.field("allowance", pa.float64()),  # in the same unit as the tolerance
        pa.field("verdict", CODED, nullable=False),
        # Whether the report's test, abs(got - right) <= t + t * abs(right), calls it a mismatch; null if no t is set.
        pa.field("absolute_mismatch", pa.bool_()),
        pa.field("forward_wrong", pa.bool_(), nullable=False),  # of a mismatch: the value there is wrong too
        pa.field("convention", pa.bool_(), nullable=False),
        pa.field("witness", pa.float64()),  # central difference of MLX's forward value; null if not taken
        pa.field("witness_bound", pa.float64()),  # proven bound of its distance from the right value
        pa.field("message", CODED),  # what was raised, or why there is no comparison
    ]
)


def row_name(identifier: int) -> str:
    """A row's id as it is printed and written to JSON: 16 hexadecimal digits."""
    return f"{identifier:016x}"


def write_shapes(arguments: Mapping[str, Shape], weights: Sequence[Shape], formats: Sequence[str] = ()) -> str:
    """Shapes of one point's arguments and weights as one text, e.g. ``"a(2,1) b(1,3); (2,3)"``; a scalar is ``()``.

    Args:
        arguments: by name.
        weights: in order.
        formats: for each argument and weight its format, or an empty string where it is the batch's own:
            ``"a(2,1):float16 b(1,3); (2,3)"``.
    """
    marks = [f":{name}" if name else "" for name in formats] or [""] * (len(arguments) + len(weights))
    sizes = [f"({','.join(map(str, shape))})" for shape in (*arguments.values(), *weights)]
    marked = [size + mark for size, mark in zip(sizes, marks, strict=True)]
    named = " ".join(name + text for name, text in zip(arguments, marked, strict=False))
    return f"{named}; {' '.join(marked[len(arguments) :])}".rstrip()


def read_shapes(text: str) -> tuple[dict[str, Shape], list[Shape]]:
    """Arguments with their shapes, and the shapes of the weights, from what `write_shapes` wrote.

    Raises:
        AuditError: the text is not of that form.
    """
    if not re.fullmatch(rf"\w+{_SIZES}( \w+{_SIZES})*;( {_SIZES})*", text):
        raise AuditError(f"Shapes {text!r} cannot be read. They look like 'a(2,1) b(1,3); (2,3)'.")
    arguments, weights = text.split(";")
    named = {name: _shape(sizes) for name, sizes in re.findall(r"(\w+)\(([\d,]*)\)", arguments)}
    return named, [_shape(sizes) for sizes in re.findall(r"\(([\d,]*)\)", weights)]


def read_formats(text: str, own: str) -> list[str]:
    """The name of the format of each argument and weight, from what `write_shapes` wrote.

    Args:
        text: the shapes.
        own: name of the batch's format.
    """
    return [name or own for name in re.findall(r"\)(?::(\w+))?", text)]


_SIZES = r"\([\d,]*\)(:\w+)?"


def _shape(sizes: str) -> Shape:
    return tuple(int(size) for size in sizes.split(",") if size)
