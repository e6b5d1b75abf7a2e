"""The world and the config of each environment of one's own: ``rows.Name`` and ``rows.NameConfig``.

The registry finds them here by the name of the environment's class. They are made when they are
first asked for.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from piase_gym.core.documents import own_classes
from piase_gym.worlds.own.config import OwnConfig
from piase_gym.worlds.own.world import OwnWorld

CONFIG = "Config"


def __getattr__(name: str) -> Any:
    """Return the world of an environment, or its config."""
    if name in own_classes:
        return _world(name)
    if name.removesuffix(CONFIG) in own_classes:
        return _config(name.removesuffix(CONFIG))
    raise AttributeError(f"there is no environment of one's own that is called {name!r}")


@cache
def _world(name: str) -> type[OwnWorld]:
    return type(
        name, (OwnWorld,), {"name": name, "__module__": __name__, "__doc__": OwnWorld.__doc__}
    )


@cache
def _config(name: str) -> type[OwnConfig]:
    return type(name + CONFIG, (OwnConfig,), {"world": name, "__module__": __name__})
