"""The abstract classes of the PiaSE documents, from which users derive their own environments.

| class | document | called |
|---|---|---|
| `Environment` | environment layer | `reset`, `step(agent, action)`, `get_observation`, ... |
| `AbstractEnvironment` | PiaSE design | `reset_environment`, `apply_action_from_agent`, ... |
| `PerceptionInterface` | explorer | `get_visible_objects`, `execute_action`, ... |
| `BaseEnv` (in `piase_gym.interfaces`) | LLM environments | `reset`, `step(action)`, ... |

Called directly with a world, they put their interface over that world:
``Environment("GridWorld")`` makes a `WorldEnvironment`. A subclass must implement every method of
its document; one that does not says at construction what is missing. A finished one can be used
wherever worlds can: see `piase_gym.as_parallel`.
"""

from __future__ import annotations

import gc
import importlib
import inspect
from abc import ABC
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from weakref import WeakValueDictionary

import orjson

from piase_gym.errors import ConfigError, UnfinishedError, UnsupportedError

if TYPE_CHECKING:
    F = TypeVar("F")

    def abstractmethod(method: F) -> F:
        """Let type checkers accept ``Environment(world)``, which makes a concrete subclass."""
        return method

else:
    from abc import abstractmethod


own_classes: WeakValueDictionary[str, type] = WeakValueDictionary()
"""The classes of users' own environments, by ``module:name``; the latest of each name."""


class OwnEnvironment(ABC):
    """What the documents' abstract classes share; environments derive from one of those.

    Attributes:
        document: Which of the documents' interfaces it has.
        over_worlds: The location, ``module:name``, of the class that puts this interface over a
            world.
        over_world: Whether it is such a class over a world, not a user's own environment.
        config: The settings that it was made with, unless its own `__init__` keeps others.
    """

    document: ClassVar[str]
    over_worlds: ClassVar[str]
    over_world: ClassVar[bool] = False
    made_with: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})

    def __init_subclass__(cls, over_world: bool | None = None, **kwargs: Any) -> None:
        """Register the class by its name, if it is a user's own environment.

        Args:
            over_world: Whether it puts a document's interface over a world; so do its subclasses.
            kwargs: What other bases take.
        """
        super().__init_subclass__(**kwargs)
        if over_world is not None:
            cls.over_world = over_world
        if not cls.over_world and "over_worlds" not in cls.__dict__:
            own_classes[entry_point(cls)] = cls

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Note the arguments; on an abstract class itself, make the interface over a world.

        Raises:
            UnfinishedError: If documented methods are missing.
        """
        if cls.__dict__.get("over_worlds") is not None:
            module, _, name = cls.over_worlds.partition(":")
            return super().__new__(getattr(importlib.import_module(module), name))
        missing: frozenset[str] = getattr(cls, "__abstractmethods__", frozenset())
        if missing:
            base = next(kind for kind in cls.__mro__ if "over_worlds" in kind.__dict__)
            wanted = sorted(getattr(base, "__abstractmethods__", ()))
            raise UnfinishedError(
                f"{cls.__name__} lacks {', '.join(sorted(missing))}; "
                f"a subclass of {base.__name__} brings {', '.join(wanted)}"
            )
        made = super().__new__(cls)
        made.made_with = args, kwargs
        return made

    def __init__(self, config: Any = None, **settings: Any) -> None:
        """Keep the settings.

        Raises:
            ConfigError: If they are not a mapping.
        """
        if not isinstance(config, Mapping | None):
            raise ConfigError(f"settings are a mapping, not {type(config).__name__}")
        self.config: Any = {**(config or {}), **settings}


class Environment(OwnEnvironment):
    """`Environment` of the environment-layer document.

    ``Environment(world, **config)`` makes a `WorldEnvironment` of
    `piase_gym.interfaces.environment`; see there for the arguments. Subclasses implement all
    methods.

    Example:
        >>> env = Environment("GridWorld", start_pos=(0, 0), goal_pos=(1, 0))
        >>> env.reset(seed=0).timestamp
        0.0
    """

    document = "environment"
    over_worlds = "piase_gym.interfaces.environment:WorldEnvironment"

    @abstractmethod
    def reset(self) -> Any:
        """Start an episode and return the `PerceptionData` of the primary agent."""
        raise NotImplementedError

    @abstractmethod
    def step(self, agent_id: str, action: Any) -> Any:
        """Carry out the `ActionCommand` of one agent and return an `ActionResult`."""
        raise NotImplementedError

    @abstractmethod
    def get_observation(self, agent_id: str) -> Any:
        """Return the `PerceptionData` of an agent now."""
        raise NotImplementedError

    @abstractmethod
    def get_state(self) -> Any:
        """Return the whole state, serialisable."""
        raise NotImplementedError

    @abstractmethod
    def is_done(self, agent_id: str) -> bool:
        """Return whether the episode is over for an agent."""
        raise NotImplementedError

    @abstractmethod
    def get_action_space(self, agent_id: str | None = None) -> dict[str, Any]:
        """Return the verbs with the schemas of their parameters, for all or for one agent."""
        raise NotImplementedError

    @abstractmethod
    def get_environment_info(self) -> dict[str, Any]:
        """Return name, description and schemas."""
        raise NotImplementedError


class AbstractEnvironment(OwnEnvironment):
    """`AbstractEnvironment` of the PiaSE design document.

    ``AbstractEnvironment(world, **config)`` makes a
    `piase_gym.interfaces.environment.WorldAbstractEnvironment`. Subclasses implement all methods.
    """

    document = "abstract"
    over_worlds = "piase_gym.interfaces.environment:WorldAbstractEnvironment"

    @abstractmethod
    def load_configuration(self, config_data: dict[str, Any]) -> bool:
        """Take settings."""
        raise NotImplementedError

    @abstractmethod
    def step(self, current_time_step: int) -> None:
        """Advance the environment's own dynamics by one step."""
        raise NotImplementedError

    @abstractmethod
    def get_current_state_snapshot(self, scope: str | None = None) -> dict[str, Any]:
        """Return the state, or a part of it."""
        raise NotImplementedError

    @abstractmethod
    def reset_environment(self, scenario_config: dict[str, Any] | None = None) -> bool:
        """Start an episode."""
        raise NotImplementedError

    @abstractmethod
    def get_perceptual_data_for_agent(self, agent_id: str) -> Any:
        """Return the `PerceptionData` of an agent now."""
        raise NotImplementedError

    @abstractmethod
    def apply_action_from_agent(self, agent_id: str, action_command: Any) -> Any:
        """Carry out the `ActionCommand` of one agent and return an `ActionResult`."""
        raise NotImplementedError

    @abstractmethod
    def get_environment_info(self) -> Any:
        """Return the `EnvironmentInfo`."""
        raise NotImplementedError


class PerceptionInterface(OwnEnvironment):
    """`PerceptionInterface` of the explorer document.

    ``PerceptionInterface(world, **config)`` makes a
    `piase_gym.interfaces.perception_interface.WorldPerceptionInterface`. Subclasses implement the
    first four methods; `send_message` and `poll_messages` are optional, as is ``reset()``, without
    which a new object is made for each episode.
    """

    document = "perception"
    over_worlds = "piase_gym.interfaces.perception_interface:WorldPerceptionInterface"

    @abstractmethod
    def get_visible_objects(self, agent_id: str, position: Any) -> Any:
        """Return the names of what an agent sees at a position."""
        raise NotImplementedError

    @abstractmethod
    def get_agent_state(self, agent_id: str) -> Any:
        """Return an agent's position, rotation and so on."""
        raise NotImplementedError

    @abstractmethod
    def execute_action(self, agent_id: str, action: str, params: Any = None) -> Any:
        """Carry out an action of one agent and return its new state."""
        raise NotImplementedError

    @abstractmethod
    def get_environment_info(self) -> Any:
        """Return what the environment is."""
        raise NotImplementedError

    def send_message(self, sender: str, recipient: str, message: str) -> None:
        """Send a message to one agent or to ``all``."""
        raise UnsupportedError(f"{type(self).__name__} has no messages")

    def poll_messages(self, agent_id: str) -> Any:
        """Return the messages in an agent's mailbox and empty it."""
        raise UnsupportedError(f"{type(self).__name__} has no messages")


def own_named(name: str) -> list[type[Any]]:
    """Return the classes of users' own environments with a name, sorted by location."""
    if sum(kind.__name__ == name for kind in own_classes.values()) > 1:
        gc.collect()  # what nobody holds any more, as the twins that cloudpickle makes, is no class
    return [kind for _, kind in sorted(own_classes.items()) if kind.__name__ == name]


def agent_fields(env: object) -> dict[str, Any]:
    """Return the config fields of the agents that an environment, or its class, names itself."""
    names = getattr(env, "possible_agents", None)
    if not isinstance(names, list | tuple) or not names:
        return {}
    return {"agents": len(names), "agent_ids": tuple(names)}


def is_own(given: object) -> bool:
    """Return whether something is a user's own environment, or the class of one."""
    kind = given if isinstance(given, type) else type(given)
    return issubclass(kind, OwnEnvironment) and entry_point(kind) in own_classes


# -- how an environment was made ------------------------------------------------------------------


def entry_point(kind: type) -> str:
    """Return the location of a class, ``module:name``."""
    return f"{kind.__module__}:{kind.__qualname__}"


def settings_of(env: OwnEnvironment) -> dict[str, Any] | None:
    """Return the settings from which `make_own` makes an environment as this one was made.

    ``None`` stands for settings that cannot be written as JSON.
    """
    args, kwargs = env.made_with
    try:
        bound = inspect.signature(type(env).__init__).bind(env, *args, **kwargs)
        settings: dict[str, Any] = {}
        for name, value in list(bound.arguments.items())[1:]:  # the first is self
            parameter = bound.signature.parameters[name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                return None
            settings |= value if parameter.kind is parameter.VAR_KEYWORD else {name: value}
        if list(settings) == ["config"] and isinstance(settings["config"], Mapping):
            settings = dict(settings["config"])
        found: dict[str, Any] = orjson.loads(orjson.dumps(settings))
    except (TypeError, ValueError):
        return None
    return found


def unknown_settings(kind: type[Any], settings: Mapping[str, Any]) -> list[str]:
    """Return the settings that `make_own` would pass to a class that has no such arguments."""
    known = inspect.signature(kind.__init__).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in known.values())
    if takes_all or "config" in known or kind.document == "abstract":
        return []
    return [name for name in settings if name not in known]


def make_own(kind: type[Any], settings: Mapping[str, Any]) -> Any:
    """Make a user's own environment, passing settings as keywords or as the one argument `config`.

    Settings of an `AbstractEnvironment` that are not arguments go through `load_configuration`.
    """
    known = inspect.signature(kind.__init__).parameters
    if kind.document == "abstract" and "config" not in known:
        later = {name: value for name, value in settings.items() if name not in known}
        made = kind(**{name: value for name, value in settings.items() if name in known})
        if later and made.load_configuration(later) is False:
            raise ConfigError(f"{kind.__name__} does not take the settings {', '.join(later)}")
        return made
    if "config" in known and "config" not in settings:
        open_ended = any(p.kind is p.VAR_KEYWORD for p in known.values())
        needed = known["config"].default is inspect.Parameter.empty
        if needed or not (open_ended or known.keys() >= settings.keys()):
            return kind(config=dict(settings))
    return kind(**settings)
