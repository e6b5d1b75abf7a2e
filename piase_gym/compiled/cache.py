"""Folders of machine code on disk: one for each kernel and all that it refers to."""

from __future__ import annotations

import builtins
import contextlib
import dis
import functools
import hashlib
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np

ROOM = 100_000_000
"""How many bytes must be free on a disk for machine code to be kept there."""
KEPT = 12
"""How many versions of a kernel have their machine code kept; each kind of its rules is one."""
LIBRARIES = ("math", "numba", "numpy")
"""The libraries whose functions and types kernels may use by name."""


@functools.cache
def base() -> Path | None:
    """Return where folders are made: ``NUMBA_CACHE_DIR``, the package's own or the user's cache."""
    user = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    own = str(Path(__file__).parent / "__pycache__")
    for place in [numba.config.CACHE_DIR] if numba.config.CACHE_DIR else [own, user]:
        with contextlib.suppress(OSError, RuntimeError):  # the latter if there is no home
            folder = Path(place, "piase_gym_kernels").expanduser()
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            if shutil.disk_usage(folder).free > ROOM:
                return folder
    return None


def folder_of(function: Callable[..., Any]) -> Path | None:
    """Return the folder for the machine code of a kernel, or None if there is no place for one.

    Damaged files in it are removed; a new version also removes the oldest of many other versions.
    """
    place = base()
    if place is None:
        return None
    name = f"{function.__module__.removeprefix('piase_gym.')}.{function.__name__}"
    folder = place / name / stamp(function)
    with contextlib.suppress(OSError):
        if folder.is_dir():
            for path in folder.rglob("*.nb[ic]"):
                if is_damaged(path):
                    path.unlink()
        else:
            others = sorted(folder.parent.glob("*/"), key=lambda other: other.stat().st_mtime)
            for other in others[: 1 - KEPT]:
                shutil.rmtree(other, ignore_errors=True)
    return folder


def is_damaged(path: Path) -> bool:
    """Return whether a file is not what numba writes: a pickle, or two in an index."""
    try:
        with path.open("rb") as file:
            for _ in range(2 if path.suffix == ".nbi" else 1):
                pickle.load(file)
    except OSError:
        raise
    except Exception:  # pickle can raise anything for nonsense
        return True
    return False


# -- what a kernel consists of ------------------------------------------------------------


def stamp(function: Callable[..., Any]) -> str:
    """Return a hash over a function and all that it refers to: functions, numbers and arrays.

    Raises:
        TypeError: If it refers to something for which changes could not be detected.
        NameError: If it refers to something that is not defined yet.
    """
    digest = hashlib.sha256(repr((sys.version, numba.__version__)).encode())
    digest.update(repr(bool(numba.config.BOUNDSCHECK)).encode())
    digest.update(Path(__file__).with_name("memory.py").read_bytes())  # its code is not bytecode
    seen: set[int] = set()
    for part in _parts(function, seen):
        digest.update(part + b"\0")
    return digest.hexdigest()[:16]


def _parts(value: Any, seen: set[int]) -> Iterator[bytes]:
    """Yield the bytes of a function or constant, and those of all that it refers to."""
    function = getattr(value, "py_func", value)  # numba's dispatchers hold the Python function
    if isinstance(function, FunctionType) and not _is_known(function):
        yield function.__qualname__.encode()
        if id(function) in seen:
            return
        seen.add(id(function))
        if function.__closure__:
            raise TypeError(f"{function.__qualname__} is compiled, so it must not be a closure")
        yield from _code(function.__code__, function.__doc__)
        for name in _global_names(function.__code__):
            yield name.encode()
            if name in function.__globals__:
                yield from _parts(function.__globals__[name], seen)
            elif not hasattr(builtins, name):
                raise NameError(f"{function.__qualname__} needs {name}, which must come before it")
    elif isinstance(value, np.ndarray):
        yield repr((value.dtype, value.shape)).encode() + value.tobytes()
    elif isinstance(value, tuple):
        for item in value:
            yield from _parts(item, seen)
    elif isinstance(value, bool | int | float | str | None | np.generic | np.dtype):
        yield f"{type(value).__name__} {value!r}".encode()
    elif _is_known(value):
        yield str(getattr(value, "__name__", value)).encode()
    else:
        raise TypeError(
            f"compiled code refers to {value!r:.80}; allowed: functions, numbers, arrays"
        )


def _is_known(value: Any) -> bool:
    """Return whether a value is part of a library, or of `memory`, which is hashed as a whole."""
    if isinstance(value, ModuleType):
        return value.__name__ in LIBRARIES
    if isinstance(value, type | BuiltinFunctionType | np.ufunc):
        return True
    module = str(getattr(value, "__module__", ""))
    return module == "piase_gym.compiled.memory" or module.partition(".")[0] in LIBRARIES


def _code(code: CodeType, doc: str | None) -> Iterator[bytes]:
    """Yield the bytecode, its constants without the docstring, and its names."""
    yield code.co_code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant, None)
        elif constant is None or constant != doc:
            yield repr(constant).encode()
    yield repr((code.co_names, code.co_varnames)).encode()


@functools.cache
def _global_names(code: CodeType) -> list[str]:
    """Return the global names that code reads."""
    return sorted({str(i.argval) for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"})
