"""`helper`, `inline` and `kernel`: what is compiled, and where its machine code is kept.

Numba keeps machine code next to the source of a function, and recompiles if that one file has
changed. A kernel also consists of helpers and constants from other files, so each kernel has a
folder of its own, named by a hash over all that it refers to (`cache.stamp`). An edit of any of it
leads to another folder; an edit of anything else, or of a docstring, to the same one (except in
`memory`, which is hashed as a whole). Numba gets the folder by its setting ``CACHE_DIR``, which is
changed only while the kernel is declared: other users of numba in the process keep theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import config, njit

from piase_gym.compiled import cache

JIT = not config.DISABLE_JIT
"""False under ``NUMBA_DISABLE_JIT=1``, where the same rules run as plain Python."""
CHECKED = bool(config.BOUNDSCHECK)
"""True under ``NUMBA_BOUNDSCHECK=1``, where every index is checked."""
_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Python and C do not call helpers; without wrappers they compile in half the time."""


def helper(function: Callable[..., Any]) -> Any:
    """Mark a function that compiled functions call."""
    return njit(function, **_NO_WRAPPERS, error_model="numpy") if JIT else function


def hot(function: Callable[..., Any]) -> Any:
    """Mark a helper that is called for every agent in every step: it is always inlined."""
    return (
        njit(function, **_NO_WRAPPERS, error_model="numpy", forceinline=True) if JIT else function
    )


def inline(function: Callable[..., Any]) -> Any:
    """Mark a helper of a few lines: it is compiled as a part of each caller, not by itself."""
    return njit(function, error_model="numpy", inline="always") if JIT else function


def kernel(function: Callable[..., Any]) -> Any:
    """Mark a function that Python calls; everything it refers to must be defined already.

    Its machine code is kept on disk if there is a place for it.
    """
    if not JIT:
        return function
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
