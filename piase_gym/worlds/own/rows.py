"""The world and the config of each environment of one's own: ``rows.Name`` and ``rows.NameConfig``.

The registry finds them here by the name of the environment's class. They are made on first access.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from piase_gym.core.documents import entry_point, own_classes, own_named
from piase_gym.worlds.own.config import OwnConfig
from piase_gym.worlds.own.world import OwnWorld

CONFIG = "Config"
UNPICKLED: dict[str, type[Any]] = {}
"""Classes that came with a world or a config, and that nothing else may refer to."""


def __getattr__(name: str) -> Any:
    """Return the world of an environment, or its config."""
    if own_named(name):
        return _world(name)
    if own_named(name.removesuffix(CONFIG)):
        return _config(name.removesuffix(CONFIG))
    raise AttributeError(f"there is no environment of one's own that is called {name!r}")


def _reduce_world(self: OwnWorld) -> Any:
    """Pickle the class of the environment, too, which has to be known where this is read."""
    return blank, (OwnWorld, self.config.kind), self.__getstate__()


def _reduce_config(self: OwnConfig) -> Any:
    """Pickle the class of the environment, too."""
    return blank, (OwnConfig, self.kind), self.__getstate__()


def blank(row: type[Any], kind: type[Any]) -> Any:
    """Return an empty world or config of an environment, whose class registers when unpickled."""
    place = entry_point(kind)
    UNPICKLED[place] = own_classes[place] = kind  # cloudpickle has made an empty twin, maybe
    made: Any = _world(kind.__name__) if row is OwnWorld else _config(kind.__name__)
    return made.__new__(made)


@cache
def _world(name: str) -> type[OwnWorld]:
    members = {
        "name": name,
        "__module__": __name__,
        "__doc__": own_named(name)[0].__doc__,
        "__reduce__": _reduce_world,
    }
    return type(name, (OwnWorld,), members)


@cache
def _config(name: str) -> type[OwnConfig]:
    members = {"world": name, "__module__": __name__, "__reduce__": _reduce_config}
    return type(name + CONFIG, (OwnConfig,), members)
