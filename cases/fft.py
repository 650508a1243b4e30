"""Fourier transforms along one axis and several, of complex numbers and of real ones."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from audit.case import Tolerance
from audit.operation import REAL_FORMATS, Homogeneous, Operation, Shapes

_COMPLEX = ("complex64",)
_SUM = Tolerance(terms=4, reason="a transform adds rounded products with rounded twiddles, pass after pass")
_LINEAR = (Homogeneous({"x": 1}),)
_NORMS = ("backward", "ortho", "forward")
_ONE = {"n": (None, 2, 5), "axis": (-1, 0, 1), "norm": _NORMS}
_SEVERAL = {"s": (None, (2, 3), (3, 1)), "axes": ((-2, -1), (0, 1), (1, 0)), "norm": _NORMS}
_SHAPES: tuple[Shapes, ...] = (((2, 3),), ((4,),), ((1,),), ((2, 2),))


def _one_fits(shapes: Shapes, parameters: Any) -> bool:
    return -len(shapes[0]) <= parameters["axis"] < len(shapes[0])


def _leaves_something(shapes: Shapes, parameters: Any) -> bool:
    """One frequency stands for no real number at all, unless a length is given."""
    return _one_fits(shapes, parameters) and (parameters["n"] is not None or shapes[0][parameters["axis"]] > 1)


def _several_fit(shapes: Shapes, parameters: Any) -> bool:
    axes, rank = parameters["axes"], len(shapes[0])
    if axes is None:
        # MLX wants the axes named where sizes are given, as NumPy 2 does.
        return parameters["s"] is None
    return len({a % rank for a in axes}) == len(axes) and all(-rank <= a < rank for a in axes)


def _transform(name: str, title: str = "", **declared: Any) -> Operation:
    """One of MLX's transforms; its namesake in the reference takes the same parameters."""
    several = not name.endswith("fft")
    given = {
        "name": f"mx.fft.{name}{title}",
        "arguments": ("x",),
        "call": lambda x, **parameters: getattr(mx.fft, name)(x, **parameters),
        "body": lambda m, x, **parameters: getattr(m, name)(x, **parameters),
        "shapes": (((2, 3),), ((2, 1, 2),), ((3, 2),)) if several else _SHAPES,
        "parameters": _SEVERAL if several else _ONE,
        "valid": _several_fit if several else _one_fits,
        "symmetries": _LINEAR,
        "tolerance": _SUM,
        "formats": _COMPLEX,
    }
    return Operation(**(given | declared))


_ANY_AXES = _SEVERAL | {"axes": (None, (-2, -1), (1, 0))}

OPERATIONS = (
    _transform("fft"),
    _transform("ifft"),
    _transform("fft2"),
    _transform("ifft2"),
    _transform("fftn", parameters=_ANY_AXES),
    _transform("ifftn", parameters=_ANY_AXES),
    *(
        _transform(name, "[of real numbers]", kinds=("real",), result="complex", **more)
        for name, more in (
            ("fft", {}),
            ("ifft", {}),
            ("fft2", {}),
            ("ifft2", {}),
            ("fftn", {"parameters": _ANY_AXES}),
            ("ifftn", {"parameters": _ANY_AXES}),
        )
    ),
    _transform("rfft", kinds=("real",), result="complex"),
    _transform("irfft", kinds=("complex",), result="real", shapes=_SHAPES[:2], valid=_leaves_something),
    _transform("rfft2", kinds=("real",), result="complex"),
    _transform("irfft2", kinds=("complex",), result="real"),
    _transform("rfftn", kinds=("real",), result="complex", parameters=_ANY_AXES),
    _transform("irfftn", kinds=("complex",), result="real", parameters=_ANY_AXES),
    *(
        Operation(
            name=f"mx.fft.{name}",
            arguments=("x",),
            call=lambda x, axes, name=name: getattr(mx.fft, name)(x, axes=axes),
            body=lambda m, x, axes, name=name: getattr(np.fft, name)(np.asarray(x), axes=axes),  # noqa: ARG005
            shapes=(((3, 2),), ((5,),), ((1,),), ((2, 2, 3),)),
            parameters={"axes": (None, 0, -1, (0, 1))},
            valid=lambda shapes, parameters: parameters["axes"] in (None, 0, -1) or len(shapes[0]) > 1,
            symmetries=_LINEAR,
            formats=(*REAL_FORMATS, "complex64"),
        )
        for name in ("fftshift", "ifftshift")
    ),
)
