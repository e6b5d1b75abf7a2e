"""Packages that import their public names when they are first asked for."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any


def lazy(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package.

    The package offers the names that it imports under ``if TYPE_CHECKING:``, so that type
    checkers, editors and Python read the same list.

    Args:
        package: The ``__name__`` of the package.
    """

    @cache
    def places() -> dict[str, str]:
        """Return the module of each name."""
        blocks = [n for n in _body(package) if isinstance(n, ast.If)]
        imports = [n for block in blocks for n in block.body if isinstance(n, ast.ImportFrom)]
        return {alias.name: str(n.module) for n in imports for alias in n.names}

    def find(name: str) -> Any:
        """Import a name or a module when it is first asked for; `__all__` lists the names."""
        if name == "__all__":
            return sorted(places())
        if not name.startswith("__"):
            if name in places():
                return getattr(importlib.import_module(places()[name]), name)
            if find_spec(f"{package}.{name}") is not None:
                return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        """List the public names."""
        return sorted({*vars(sys.modules[package]), *places()})

    return find, names


def _body(package: str) -> list[ast.stmt]:
    """Return the statements of a package."""
    return ast.parse(inspect.getsource(sys.modules[package])).body
