"""An array taken apart along an axis."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.operation import REAL_FORMATS, Operation
from cases.fitting import numpy_allows

_ALL = (*REAL_FORMATS, "complex64")
# Which part is the result; "all" joins them backwards, so that every part has a cotangent.
_OUTPUTS = ("all", 0, 1, -1)


def _parts(x: Any, indices_or_sections: Any, axis: int) -> list[Any]:
    cuts = indices_or_sections if isinstance(indices_or_sections, int) else list(indices_or_sections)
    return np.split(np.asarray(x), cuts, axis)


def _chosen(join: Any, parts: Any, axis: int, output: int | str) -> Any:
    return join(list(parts)[::-1], axis) if output == "all" else parts[int(output)]


def _unstacked(x: Any, axis: int) -> list[Any]:
    moved = np.moveaxis(np.asarray(x), axis, 0)
    return [moved[k] for k in range(len(moved))]


OPERATIONS = (
    Operation(
        name="mx.split",
        arguments=("x",),
        call=lambda x, indices_or_sections, axis, output: _chosen(
            mx.concatenate, mx.split(x, indices_or_sections, axis), axis, output
        ),
        body=lambda m, x, indices_or_sections, axis, output: _chosen(  # noqa: ARG005
            np.concatenate, _parts(x, indices_or_sections, axis), axis, output
        ),
        shapes=(((4, 2),), ((2, 4),), ((4,),), ((3, 4),), ((4, 0),), ((1, 2, 2),)),
        parameters={
            "axis": (0, 1, -1),
            "indices_or_sections": ((1, 3), 2, (1,), (0, 3), 4),
            "output": _OUTPUTS,
        },
        formats=_ALL,
        also=("mx.array.split",),
        valid=lambda s, p: numpy_allows(_parts)(s, {k: v for k, v in p.items() if k != "output"}),
        text="mx.split(x, {indices_or_sections}, axis={axis})  # output: {output}",
    ),
    Operation(
        name="mx.unstack",
        arguments=("x",),
        call=lambda x, axis, output: _chosen(mx.stack, mx.unstack(x, axis=axis), axis, output),
        body=lambda m, x, axis, output: _chosen(np.stack, _unstacked(x, axis), axis, output),  # noqa: ARG005
        shapes=(((3, 2),), ((2, 3, 2),), ((3,),), ((2, 0),)),
        parameters={"axis": (0, 1, -1), "output": _OUTPUTS},
        formats=_ALL,
        valid=lambda s, p: -len(s[0]) <= p["axis"] < len(s[0]) and s[0][p["axis"]] > 1,
        text="mx.unstack(x, axis={axis})  # output: {output}",
    ),
)
