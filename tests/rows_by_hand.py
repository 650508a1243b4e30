"""Tables of comparison rows built by hand, so that storage and reports are tested without the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from audit.formats import lookup
from audit.rows import SCHEMA


def row(identifier: int = 1, **changes: Any) -> dict[str, Any]:
    """A row of a/b in float32 whose vjp for b vanished, except for what is changed; numbers may be given as floats."""
    values: dict[str, Any] = (
        dict.fromkeys(SCHEMA.names)
        | {
            "id": identifier,
            "series": "divide-1328",
            "case": "divide",
            "group": "grid",
            "function": "quotient",
            "implementation": "mlx",
            "format": "float32",
            "mode": "vjp",
            "traced": "b",
            "argument": "b",
            "layout": "contiguous",
            "wrap": "",
            "shapes": "a() b(); ()",
            "point": 0,
            "element": 0,
            "primals": [2.0**80, 2.0**80],
            "weights": [1.0],
            "got": -0.0,
            "right": -(2.0**-80),
            "residual": 0.0,
            "radius": 0.0,
            "error": 8388608.0,
            "tolerance": 167.8,
            "allowance": 0.0,
            "verdict": "vanished",
            "absolute_mismatch": False,
            "forward_wrong": False,
            "convention": False,
            "witness": -8.27e-25,
            "witness_bound": 1e-30,
        }
        | changes
    )
    values["got_format"] = values["got_format"] or values["format"]
    fmt = lookup(values["format"])
    for name in ("primals", "weights"):
        values[name] = [int(fmt.to_bits(x)) if isinstance(x, float) else x for x in values[name]]
    for name in ("got", "got_imag"):
        if isinstance(values.get(name), float):
            values[name] = int(fmt.to_bits(values[name]))
    return values


def table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """A table of `audit.rows.SCHEMA`."""
    columns = []
    for field in SCHEMA:
        values = [entry.get(field.name) for entry in rows]
        if pa.types.is_dictionary(field.type):
            columns.append(pa.array(values, pa.string()).dictionary_encode().cast(field.type))
        else:
            columns.append(pa.array(values, field.type))
    return pa.table(columns, schema=SCHEMA)
