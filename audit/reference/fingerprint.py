"""What a function is, told without running it: its code, and all that the code refers to.

The fingerprint of a function changes when its bytecode, a constant in it, a default, a number it closes over, or a
global that it names changes, and so for every function it calls that is not part of an installed package; those are
told by name and version. What cannot be told has no fingerprint, and is recorded afresh in every run.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import importlib.metadata
import sys
import sysconfig
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from audit.case import Body

_PLAIN = (type(None), bool, int, float, complex, str, bytes, Fraction, type(...), slice, range)
# Types of installed packages whose objects are names and nothing else.
_NAMING = frozenset({"Dtype"})
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


class _Untold(Exception):
    """An object of which nothing certain can be said."""


def fingerprint(body: Body) -> str | None:
    """A hash of all that says what a function computes; None if that cannot be told."""
    try:
        return _told(body)
    except TypeError:
        # An object that cannot be hashed may change at any time.
        return None


@lru_cache(maxsize=8192)
def _told(body: Body) -> str | None:
    teller = _Teller()
    try:
        teller.tell(body)
    except _Untold:
        return None
    return teller.digest.hexdigest()


class _Teller:
    """Goes through an object and all that it refers to, each once."""

    def __init__(self) -> None:
        self.digest = hashlib.blake2b(f"{sys.version} numpy {np.__version__}\n".encode(), digest_size=16)
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []

    def tell(self, x: Any) -> None:
        """Add an object.

        Raises:
            _Untold: its meaning does not lie in its code and its values.
        """
        if isinstance(x, _PLAIN):
            self._say(type(x).__name__, repr(x))
        elif isinstance(x, (np.ndarray, np.generic)):
            self._array(np.asarray(x))
        elif id(x) in self._seen:
            self._say("again", str(self._seen[id(x)]))
        else:
            self._seen[id(x)] = len(self._seen)
            # A name kept by id must not be given to another object.
            self._kept.append(x)
            self._object(x)

    def _object(self, x: Any) -> None:
        if isinstance(x, (tuple, list)):
            self._all(type(x).__name__, x)
        elif isinstance(x, (set, frozenset)):
            self._all(type(x).__name__, sorted(x, key=repr))
        elif isinstance(x, Mapping):
            self._all(type(x).__name__, [part for pair in x.items() for part in pair])
        elif isinstance(x, functools.partial):
            self._all("partial", [x.func, x.args, x.keywords])
        elif isinstance(x, types.MethodType):
            self._all("method", [x.__func__, x.__self__])
        elif isinstance(x, enum.Enum):
            self._say("member", x.name)
            self.tell(type(x))
        elif isinstance(x, types.CodeType):
            self._code(x)
        elif isinstance(x, types.ModuleType):
            self._module(x.__name__)
        elif isinstance(x, types.FunctionType) and not _installed(x.__module__):
            self._function(x)
        elif callable(x) and hasattr(x, "__name__"):
            # A class, or a function of an installed package: all of its module speaks for it.
            self._say("named", getattr(x, "__qualname__", x.__name__))
            self._module(getattr(x, "__module__", None) or getattr(type(x), "__module__", ""))
        elif type(x).__name__ in _NAMING and _installed(type(x).__module__):
            self._say(type(x).__name__, repr(x))
        elif is_dataclass(x):
            self._all("record", [type(x), *(getattr(x, field.name) for field in fields(x))])
        else:
            raise _Untold

    def _function(self, x: types.FunctionType) -> None:
        self._code(x.__code__)
        cells = [cell.cell_contents for cell in x.__closure__ or ()]
        self._all("function", [x.__defaults__, x.__kwdefaults__, cells])
        for name in _names(x.__code__):
            if name not in x.__globals__:
                continue
            value = x.__globals__[name]
            self._say("global", name)
            self.tell(value)
            if isinstance(value, types.ModuleType) and not _installed(value.__name__):
                for attribute in _names(x.__code__):
                    if hasattr(value, attribute):
                        self._say("attribute", attribute)
                        self.tell(getattr(value, attribute))

    def _code(self, code: types.CodeType) -> None:
        self._say("code", code.co_code.hex())
        self._all("of code", [code.co_names, code.co_varnames, code.co_freevars, code.co_flags, code.co_consts])

    def _module(self, name: str) -> None:
        self._say("module", name)
        if _installed(name):
            self._say("version", _version(name.partition(".")[0]))
        else:
            # What a class or another module uses cannot be seen from here: all modules that it can reach speak for it.
            for other in _reached(name):
                self._say(f"source of {other}", _source(other))

    def _array(self, x: Any) -> None:
        if x.dtype.hasobject:
            self._all(f"array {x.shape}", x.reshape(-1).tolist())
        else:
            self._say("array", f"{x.dtype.str} {x.shape}")
            self.digest.update(np.ascontiguousarray(x).tobytes())

    def _all(self, kind: str, parts: Iterable[Any]) -> None:
        parts = list(parts)
        self._say(kind, str(len(parts)))
        for part in parts:
            self.tell(part)

    def _say(self, kind: str, text: str) -> None:
        self.digest.update(f"{kind} {len(text)} {text}\n".encode(errors="surrogatepass"))


def _names(code: types.CodeType) -> list[str]:
    """All names that a function's code and the functions inside it refer to."""
    found = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.update(dict.fromkeys(_names(constant)))
    return sorted(found)


@lru_cache(maxsize=1024)
def _installed(name: str | None) -> bool:
    """Whether a module belongs to Python or to an installed package."""
    if not name:
        raise _Untold
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None:
        raise _Untold
    return (file is None and name != "__main__") or str(file).startswith(_INSTALLED)


@lru_cache(maxsize=256)
def _reached(name: str) -> list[str]:
    """The modules, not installed ones, that a module refers to, those that they refer to, and so on."""
    found, waiting = {name}, [name]
    while waiting:
        for value in list(vars(sys.modules[waiting.pop()]).values()):
            module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
            if not isinstance(module, str) or module in found or module not in sys.modules:
                continue
            if not _installed(module):
                found.add(module)
                waiting.append(module)
    return sorted(found)


@lru_cache(maxsize=256)
def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        # Part of Python, whose version is told first of all.
        return str(getattr(sys.modules.get(package), "__version__", ""))


def _source(name: str) -> str:
    file = getattr(sys.modules[name], "__file__", None)
    if file is None:
        raise _Untold
    try:
        return hashlib.blake2b(Path(file).read_bytes(), digest_size=16).hexdigest()
    except OSError:
        raise _Untold from None
