"""What a callable of MLX takes: the parameters of every overload, read from the installed library."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

REQUIRED: Final = object()
"""The default of a parameter that has none."""

_ARRAY = re.compile(r"\barray\b")
_CALLABLE = re.compile(r"\bCallable\[.*\]")
_CHOICES = re.compile(r"\bLiteral\[([^\]]*)\]")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a signature.

    Args:
        name: as in the signature, without stars.
        annotation: its type as text; empty if the signature has none.
        default: its default value, ``REQUIRED`` if there is none; a value that is no literal is text.
        variadic: ``*args`` and ``**kwargs``.
    """

    name: str
    annotation: str
    default: Any = REQUIRED
    variadic: bool = False

    @property
    def is_array(self) -> bool:
        """Whether an array may be given for it.

        A parameter without a type that must be given is an array: MLX's layers write ``__call__(self, x)``.
        """
        if not self.annotation:
            return self.default is REQUIRED and not self.variadic
        return bool(_ARRAY.search(_CALLABLE.sub("", self.annotation))) or "ArrayLike" in self.annotation

    @property
    def choices(self) -> int | None:
        """How many values there are, where the type says it: of a flag two, or three if None is one of them."""
        if self.annotation == "bool" or (not self.annotation and isinstance(self.default, bool)):
            return 2
        if self.annotation in ("bool | None", "None | bool"):
            return 3 if self.default is None else 2
        if listed := _CHOICES.search(self.annotation):
            return len(listed[1].split(","))
        return None


Signature = tuple[Parameter, ...]


def signatures_of(target: Any) -> tuple[Signature, ...]:
    """Every overload of a callable; of a class, what makes it together with what calls its instances.

    Args:
        target: a function of MLX (compiled or Python), a method, a property or a class.

    Returns:
        One signature an overload, ``self`` left out; empty for a property and for a class that cannot be made.

    Raises:
        ValueError: the signature is written in a way that is not understood.
    """
    if isinstance(target, property):
        return ()
    if isinstance(target, (staticmethod, classmethod)):
        target = target.__func__
    if inspect.isclass(target):
        return _of_class(target)
    return tuple(_signatures(target))


def _of_class(target: type) -> tuple[Signature, ...]:
    makers = _own_signatures(target, "__init__") or [()]
    callers = _own_signatures(target, "__call__") or [()]
    joined = (made + tuple(more for more in called if more not in made) for made in makers for called in callers)
    return tuple(signature for signature in joined if signature)


def _own_signatures(target: type, method: str) -> list[Signature]:
    """Signatures of a method written in MLX, not of what ``object`` and ``type`` give to everyone."""
    for base in target.__mro__:
        if method in vars(base):
            found = vars(base)[method]
            return list(_signatures(found)) if base is not object and _is_written(found) else []
    return []


def _is_written(method: Any) -> bool:
    return inspect.isfunction(method) or hasattr(method, "__nb_signature__")


def _signatures(target: Callable[..., Any]) -> Iterator[Signature]:
    if written := getattr(target, "__nb_signature__", None):
        for text, _, defaults in written:
            yield from_text(text, defaults or ())
    else:
        yield from_python(target)


def from_text(text: str, defaults: tuple[Any, ...] = ()) -> Signature:
    r"""The parameters of a signature that nanobind writes.

    Args:
        text: e.g. ``"def take(a: array, /, indices: int | array, axis: int | None = None) -> array"``.
        defaults: what ``\0``, ``\1`` ... in it stand for.

    Raises:
        ValueError: the text is not a signature.
    """
    source = re.sub(r"\\(\d+)", r"__default_\1", text).replace("[writable=False]", "").replace("ndarray[]", "ndarray")
    source = re.sub(r"^def\s*\(", "def _(", source)
    try:
        function = ast.parse(f"{source}: ...").body[0]
    except SyntaxError as error:
        raise ValueError(f"This signature is written in a way that is not understood: {text}") from error
    assert isinstance(function, ast.FunctionDef), text

    def default(node: ast.expr | None) -> Any:
        if node is None:
            return REQUIRED
        if isinstance(node, ast.Name) and node.id.startswith("__default_"):
            return defaults[int(node.id.removeprefix("__default_"))]
        try:
            return ast.literal_eval(node)
        except ValueError:
            return ast.unparse(node)

    given = function.args
    plain = [*given.posonlyargs, *given.args]
    missing: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults))
    found = [_parameter(a, default(d)) for a, d in zip(plain, missing + given.defaults, strict=True)]
    found += [_parameter(given.vararg, REQUIRED, variadic=True)] if given.vararg else []
    found += [_parameter(a, default(d)) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    found += [_parameter(given.kwarg, REQUIRED, variadic=True)] if given.kwarg else []
    return tuple(one for one in found if one.name != "self")


def _parameter(argument: ast.arg, default: Any, *, variadic: bool = False) -> Parameter:
    annotation = ast.unparse(argument.annotation) if argument.annotation else ""
    return Parameter(argument.arg, annotation, default, variadic)


def from_python(target: Callable[..., Any]) -> Signature:
    """The parameters of a Python function; the first of a method, whatever it is called, is left out."""
    listed = list(inspect.signature(target).parameters.values())
    if listed and "." in getattr(target, "__qualname__", "") and listed[0].name in ("self", "cls", "_"):
        listed = listed[1:]
    return tuple(
        Parameter(
            one.name,
            "" if one.annotation is one.empty else inspect.formatannotation(one.annotation),
            REQUIRED if one.default is one.empty else one.default,
            one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD),
        )
        for one in listed
    )
