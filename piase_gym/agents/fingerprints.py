"""Fingerprints of policies that are Python objects: by them a journal knows whose episodes it has.

Whatever can decide an action counts: code, defaults, closures, attributes of objects and classes,
and the module-level values that functions read, however deeply they are nested. Two things end the
search. Of installed packages other than the policy's own, code counts but not what it reads, or
half of Python would be looked through. And what a policy reads while it plays, such as a file, is
not known beforehand.
"""

from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import importlib.util
import secrets
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import (
    CodeType,
    EllipsisType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any

from piase_gym.agents.base import Agent

SB3 = ("stable_baselines3", "sb3_contrib")
FOUNDATIONS = ("piase_gym", "gymnasium", "numpy", "torch", *SB3)
"""Packages that are never a policy's own, even if it is an object of one of their classes."""
_ATOMS = (type(None), EllipsisType, bool, int, float, complex, str, bytes)


def fingerprint(policy: object) -> str:
    """Return what distinguishes a policy from others, equal in every process.

    A policy that cannot be inspected gets a number of its own, so its episodes are never taken for
    those of another policy, but also never found again.
    """
    try:
        return f"hash:{_digest(policy, _package_of(policy))[:16]}"
    except Exception:  # objects can refuse to tell their state in any way
        return f"once:{secrets.token_hex(8)}"


def is_sb3(value: object) -> bool:
    """Return whether something is a model of Stable-Baselines3, without importing that."""
    module = sys.modules.get("stable_baselines3.common.base_class")
    return module is not None and isinstance(value, module.BaseAlgorithm)


def predicts_itself(model: Any) -> bool:
    """Return whether a model of Stable-Baselines3 has a ``predict`` that is not the library's."""
    return _top(model.predict.__module__) not in SB3


def _digest(value: object, package: str) -> str:
    """Hash all that a value is made of."""
    reader = _Reader(package)
    reader.read(value)
    return reader.hash.hexdigest()


class _Reader:
    """Hashes all that values are made of.

    Args:
        package: The policy's package, whose functions are looked into even if it is installed.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self.hash = hashlib.sha256()
        # What was met, by identity. It is kept alive, so that nothing else gets its identity.
        self._met: dict[int, tuple[int, object]] = {}
        self._read_of_modules: set[tuple[str, str]] = set()

    def read(self, value: Any) -> None:
        """Add a value."""
        kind = type(value)
        self._add_words(kind.__qualname__)
        if kind in _ATOMS:
            self._add_words(value)
        elif kind in (set, frozenset):  # which have no order of their own
            self._add_words(*sorted(_digest(part, self._package) for part in value))
        elif kind is tuple:
            self._add_values(value)
        elif id(value) in self._met:
            self._add_words("again", self._met[id(value)][0])
        else:
            self._met[id(value)] = len(self._met), value
            self._look_into(value)

    def _add_words(self, *words: object) -> None:
        """Add words, each with its length."""
        for word in words:
            data = (
                word if isinstance(word, bytes) else str(word).encode("utf-8", "backslashreplace")
            )
            self.hash.update(b"%d:" % len(data) + data)

    def _add_values(self, values: Any) -> None:
        """Add values and their number."""
        self._add_words(len(values))
        for value in values:
            self.read(value)

    def _look_into(self, value: Any) -> None:
        """Add what a value with parts is made of."""
        if type(value) is list:
            self._add_values(value)
        elif type(value) in (dict, MappingProxyType):
            self._add_values([part for item in value.items() for part in item])
        elif isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, MethodType | staticmethod | classmethod):
            self._add_values([value.__func__, getattr(value, "__self__", None)])
        elif isinstance(value, property):
            self._add_values([value.fget, value.fset, value.fdel])
        elif isinstance(value, functools.cached_property):
            self.read(value.func)
        elif isinstance(value, ModuleType | GetSetDescriptorType):
            self._add_words(value.__name__)
        elif isinstance(value, CodeType):
            self._code(value)
        elif is_sb3(value):
            self._model(value)
        else:
            self._object(value)

    # -- code -----------------------------------------------------------------------------

    def _function(self, function: FunctionType) -> None:
        """Add code, defaults, closure and attributes; of functions of its own also globals."""
        self._add_words(function.__qualname__)
        self._code(function.__code__)
        closed = [_content(cell) for cell in function.__closure__ or ()]
        self._add_values([function.__defaults__, function.__kwdefaults__, closed, vars(function)])
        if self._owns(function.__globals__.get("__name__")):
            names = {name for code in _inner(function.__code__) for name in code.co_names}
            for name in sorted(_globals(function.__code__) & function.__globals__.keys()):
                self._add_words(name)
                self._named(function.__globals__[name], names)
            for module, found, dots in _imports(function.__code__):
                if dots or self._owns(module):  # the function will do this import, if it is called
                    self._named(__import__(module, function.__globals__, None, found, dots), names)

    def _named(self, value: Any, names: set[str]) -> None:
        """Add a value that a function names, of modules of its own what is named in them."""
        if not isinstance(value, ModuleType) or not self._owns(value.__name__):
            self.read(value)
            return
        for name in sorted(names & vars(value).keys()):
            if (value.__name__, name) not in self._read_of_modules:
                self._read_of_modules.add((value.__name__, name))
                self._add_words(name)
                self._named(vars(value)[name], names)

    def _code(self, code: CodeType) -> None:
        """Add instructions, names and constants, without line numbers."""
        self._add_words(code.co_code, code.co_exceptiontable, *code.co_names, len(code.co_consts))
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._code(constant)
            else:
                self.read(constant)

    def _class(self, kind: type) -> None:
        """Add the methods and attributes of a class and of its bases."""
        for base in kind.__mro__:
            self._add_words(base.__qualname__)
            own = self._owns(base.__module__) or _is_nameless(base)
            for name, part in sorted(vars(base).items()):
                if own and _counts(name, part):
                    self._add_values([name, part])
                elif not own and isinstance(part, FunctionType):
                    self._add_words(name)
                    self._code(part.__code__)
                elif not own and type(part) in _ATOMS and _counts(name, part):
                    self._add_values([name, part])

    def _owns(self, module: str | None) -> bool:
        """Return whether a module is part of what is evaluated, rather than of a library."""
        top = _top(module)
        return top == self._package or not _is_installed(top)

    # -- objects --------------------------------------------------------------------------

    def _model(self, model: Any) -> None:
        """Add what a model of Stable-Baselines3 plays by, without counts and times of training."""
        parts = [type(model), model.get_parameters(), model.policy_class, model.policy_kwargs]
        if predicts_itself(model):
            left = model._excluded_save_params()
            parts.append({name: part for name, part in vars(model).items() if name not in left})
        self._add_values(parts)

    def _object(self, value: Any) -> None:
        """Add the class and state of an object, as pickling would find them.

        Raises:
            Exception: Of any kind, if the object does not tell its state.
        """
        torch: Any = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            flat = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
            self._add_words(value.dtype, tuple(value.shape), flat.numpy().tobytes())
            return
        if torch is not None and isinstance(value, torch.nn.Module):  # some refuse to be pickled
            self._add_values([type(value), vars(value)])
            return
        if _top(type(value).__module__) == "numba" and hasattr(value, "py_func"):
            self.read(value.py_func)  # what was compiled has a random number in its state
            return
        if isinstance(value, Agent):
            self.read(value.get_state())
        reduce = copyreg.dispatch_table.get(type(value))
        found = value.__reduce_ex__(4) if reduce is None else reduce(value)
        if isinstance(found, str):  # a global name, such as that of a function with a cache
            self._add_values([found, type(value), getattr(value, "__dict__", None)])
        else:
            items = [None if part is None else [*part] for part in found[3:5]]
            self._add_values([*found[:3], *items, *found[5:]])


def _content(cell: Any) -> Any:
    """Return what is in the cell of a closure; some are not filled yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return "empty"


def _inner(code: CodeType) -> Iterator[CodeType]:
    """Yield a code and those in it, such as of lambdas and comprehensions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _inner(constant)


def _steps(code: CodeType) -> list[dis.Instruction]:
    """Return the instructions of a code, without those that only lengthen the next."""
    return [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]


def _globals(code: CodeType) -> set[str]:
    """Return the names of globals in a code; attributes may have the same names."""
    steps = (step for part in _inner(code) for step in _steps(part))
    return {s.argval for s in steps if "GLOBAL" in s.opname or s.opname == "LOAD_NAME"}


def _imports(code: CodeType) -> Iterator[tuple[str, Any, int]]:
    """Yield the modules that a code imports, the names it takes from them, and leading dots."""
    for steps in map(_steps, _inner(code)):
        for number, step in enumerate(steps):
            if step.opname == "IMPORT_NAME":
                yield step.argval, steps[number - 1].argval, steps[number - 2].argval


def _counts(name: str, part: object) -> bool:
    """Return whether an entry of a class is more than what Python notes about it."""
    noted = (name[:2] == name[-2:] == "__") or name == "_abc_impl"
    return not noted or callable(part) or isinstance(part, classmethod)


def _is_nameless(kind: type) -> bool:
    """Return whether a class was made where no module was, and so is said to be a builtin."""
    return kind.__module__ == "builtins" and bool(kind.__flags__ & 1 << 9)  # made at run time


def _top(module: str | None) -> str:
    """Return the top-level package of a module."""
    return (module or "").partition(".")[0]


def _package_of(policy: Any) -> str:
    """Return the package that a policy comes from, or an empty text if that is a foundation."""
    while isinstance(policy, functools.partial | MethodType):
        policy = policy.func if isinstance(policy, functools.partial) else policy.__self__
    kind = policy if isinstance(policy, type | FunctionType) else type(policy)
    top = _top(kind.__module__)
    return "" if top in (*FOUNDATIONS, *sys.builtin_module_names) else top


def _is_installed(top: str) -> bool:
    """Return whether a package is a foundation, or lies where Python or packages are installed."""
    if top in FOUNDATIONS or top in sys.builtin_module_names:
        return True
    if top in ("", "__main__"):
        return False
    loaded = sys.modules.get(top)
    spec = importlib.util.find_spec(top) if loaded is None else loaded.__spec__
    places = [spec.origin or "", *(spec.submodule_search_locations or ())] if spec else []
    return any(_is_installed_at(place) for place in places)


def _is_installed_at(place: str) -> bool:
    """Return whether a module's place is where Python or packages are installed."""
    path = Path(place)
    return (
        place in ("built-in", "frozen")
        or bool({"site-packages", "dist-packages"} & {*path.parts})
        or any(path.is_relative_to(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib"))
    )
