"""The worlds: one folder each, with the same file names in every folder.

``piase_gym.worlds()`` lists their names. Importing a submodule makes Python set the attribute
``piase_gym.worlds`` to this module, so the module itself can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType


class _Worlds(ModuleType):
    """This module, callable like `piase_gym.registry.worlds`."""

    def __call__(self) -> tuple[str, ...]:
        """Return the names of all worlds."""
        from piase_gym.registry import worlds

        return worlds()


sys.modules[__name__].__class__ = _Worlds
