"""`helper`, `inline` and `kernel`: what is compiled, and where its machine code is kept.

Numba keeps machine code next to the source of a function, and recompiles if that one file has
changed. A kernel also consists of helpers and constants from other files, so each kernel has a
folder of its own, named by a hash over all that it refers to (`cache.stamp`). An edit of any of it
leads to another folder; an edit of anything else, or of a docstring, to the same one (except in
`memory`, which is hashed as a whole). Numba gets the folder by its setting ``CACHE_DIR``, which is
changed only while the kernel is declared: other users of numba in the process keep theirs.

To compile the kernels of a world can take a minute, so the logger ``piase_gym`` says so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

from numba import config, njit
from numba.core import event

from piase_gym.compiled import cache

JIT = not config.DISABLE_JIT
"""False under ``NUMBA_DISABLE_JIT=1``, where the same rules run as plain Python."""
CHECKED = bool(config.BOUNDSCHECK)
"""True under ``NUMBA_BOUNDSCHECK=1``, where every index is checked."""
_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Python and C do not call helpers; without wrappers they compile in half the time."""
_marks: dict[Callable[..., Any], Callable[..., Any]] = {}
"""How each function that compiled functions call is marked: by `helper`, `hot` or `inline`."""


class _Notice(event.Listener):  # type: ignore[misc]  # numba has no types
    """Logs the first compilation of a module's kernels; code that is found on disk is silent."""

    def __init__(self) -> None:
        self.kernels: set[Callable[..., Any]] = set()
        self._told: set[str] = set()

    def on_start(self, ev: Any) -> None:
        """Hear that numba begins to compile a function."""
        function = ev.data["dispatcher"].py_func
        if function in self.kernels and function.__module__ not in self._told:
            self._told.add(function.__module__)
            words = "compiling %s, which can take a minute; later runs find it on disk"
            logging.getLogger("piase_gym").info(words, function.__module__)

    def on_end(self, ev: Any) -> None:
        """Say nothing."""


_notice = _Notice()
event.register("numba:compile", _notice)


def helper(function: Callable[..., Any]) -> Any:
    """Mark a function that compiled functions call."""
    _marks[function] = helper
    return njit(function, **_NO_WRAPPERS, error_model="numpy") if JIT else function


def hot(function: Callable[..., Any]) -> Any:
    """Mark a helper that is called for every agent in every step: it is always inlined."""
    _marks[function] = hot
    return (
        njit(function, **_NO_WRAPPERS, error_model="numpy", forceinline=True) if JIT else function
    )


def inline(function: Callable[..., Any]) -> Any:
    """Mark a helper of a few lines: it is compiled as a part of each caller, not by itself."""
    _marks[function] = inline
    return njit(function, error_model="numpy", inline="always") if JIT else function


def kernel(function: Callable[..., Any]) -> Any:
    """Mark a function that Python calls; everything it refers to must be defined already.

    Its machine code is kept on disk if there is a place for it.
    """
    if not JIT:
        return function
    _notice.kernels.add(function)
    folder = cache.folder_of(function)
    if folder is not None:
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            compiled = njit(function, error_model="numpy", cache=True)
        except RuntimeError:  # numba found no place to write after all
            pass
        else:
            # Numba may choose another place; one that ignores edited helpers is worse than none.
            if folder in Path(compiled.stats.cache_path).parents:
                return compiled
        finally:
            config.CACHE_DIR = before
    return njit(function, error_model="numpy")


def with_constants(modules: Sequence[ModuleType], **constants: Any) -> SimpleNamespace:
    """Return the helpers of some modules that depend on constants, made for other values of them.

    What a function reads from its module is constant to numba: it compiles nothing that an ``if``
    on it rules out, and no helper that is called only there. The new helpers have names of their
    own: machine code from disk that has the same names is mixed up by numba.

    Args:
        modules: The modules; those whose helpers others call come first.
        constants: The values, by the name that a constant has in every module.
    """
    made: dict[int, Any] = {}
    found: dict[str, Any] = {}
    values = "_".join(f"{name}_{value}" for name, value in sorted(constants.items()))
    for module in modules:
        own = {name: made.get(id(value), value) for name, value in vars(module).items()}
        own |= constants
        changed = {name for name in own if own[name] is not vars(module).get(name)}
        helpers = {
            name: function
            for name, value in own.items()
            if isinstance(function := getattr(value, "py_func", value), FunctionType)
            and function in _marks
            and function.__module__ == module.__name__
        }
        while more := {
            n for n in helpers.keys() - changed if changed & {*helpers[n].__code__.co_names}
        }:
            changed |= more
        for name in helpers.keys() & changed:
            function = helpers[name]
            new = FunctionType(function.__code__, own, name)
            new.__qualname__ = f"{name}_{values}"
            found[name] = _marks[function](new)
            made[id(own[name])] = own[name] = found[name]
    return SimpleNamespace(**found)
