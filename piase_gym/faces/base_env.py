"""The LLM agents' interface of seed 004: `BaseEnv`, over worlds and as a base for other code.

``BaseEnv("GridWorld", agents=2)`` puts the interface over a world. Environments of one's own derive
from `BaseEnv` as the seed prints it, take a dict of settings, and can be registered by name.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from piase_gym.errors import ConfigError, ResetNeededError
from piase_gym.models import Action, Observation
from piase_gym.names import look_up
from piase_gym.registry import load

__all__ = [
    "Action",
    "BaseEnv",
    "Observation",
    "base_envs",
    "make_base_env",
    "register_base_env",
]

if TYPE_CHECKING:
    F = TypeVar("F")

    def abstractmethod(method: F) -> F:
        """Let type checkers accept ``BaseEnv(world)``, which makes a concrete subclass."""
        return method

else:
    from abc import abstractmethod

Step = tuple[Observation, float, bool, dict[str, Any]]


class BaseEnv(ABC):
    """Base of all environments for LLM agents.

    ``BaseEnv(world, **config)`` itself makes a `WorldBaseEnv`; see there for the arguments.
    Subclasses bring `reset`, `step` and `get_action_space`.

    Attributes:
        config: The settings that the environment was made with.
    """

    _observation: Observation | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> BaseEnv:
        """Make the face over a world, unless a subclass is asked for."""
        if cls is not BaseEnv:
            return super().__new__(cls)
        from piase_gym.faces.world_base_env import WorldBaseEnv

        return super().__new__(WorldBaseEnv)

    def __init__(self, config: Any = None, **settings: Any) -> None:
        """Keep the settings.

        Raises:
            ConfigError: If they are not a mapping.
        """
        if not isinstance(config, Mapping | None):
            raise ConfigError(f"settings are a mapping, not {type(config).__name__}")
        self.config: Any = {**(config or {}), **settings}

    @abstractmethod
    def reset(self) -> Observation:
        """Start an episode and return the first observation."""
        raise NotImplementedError

    @abstractmethod
    def step(self, action: Action) -> Step:
        """Act once.

        Returns:
            The next observation, the reward, whether the episode is over, and an info dict.
        """
        raise NotImplementedError

    @abstractmethod
    def get_action_space(self) -> dict[str, Any]:
        """Return a JSON Schema of valid actions."""
        raise NotImplementedError

    def get_available_actions(self, info: dict[str, Any] | None = None) -> list[Action]:
        """Return actions that can be taken now; an empty list says nothing."""
        return []

    @property
    def current_observation(self) -> Observation:
        """The last observation.

        Raises:
            ResetNeededError: Before the first reset.
        """
        if self._observation is None:
            raise ResetNeededError(f"this {type(self).__name__} was never reset; call reset()")
        return self._observation


# -- environments by name ----------------------------------------------------------------------

Make = Callable[[dict[str, Any]], BaseEnv]
_registered: dict[str, str | Make] = {}


def register_base_env(name: str, env: str | Make) -> None:
    """Make an environment of one's own known by name; a later registration replaces it.

    Args:
        name: The name.
        env: The subclass of `BaseEnv`, or where it is, as ``"module:Class"``.

    Raises:
        ConfigError: If it is neither.
    """
    if not isinstance(name, str) or not name:
        raise ConfigError(f"an environment is registered by a name, not {name!r:.60}")
    if not callable(env) and not (isinstance(env, str) and ":" in env):
        raise ConfigError(f"{name}: register a class or 'module:Class', not {env!r:.60}")
    _registered[name] = env


def base_envs() -> tuple[str, ...]:
    """Return the names of all registered environments, sorted."""
    return tuple(sorted(_registered))


def make_base_env(name: str, config: Mapping[str, Any] | None = None) -> BaseEnv:
    """Make a registered environment, or put `BaseEnv` over a world or id.

    Args:
        name: A name of `base_envs`, a world or an id.
        config: The settings: for a world, the fields of its config and the arguments of
            `WorldBaseEnv`.

    Raises:
        UnknownNameError: If there is no such name.
        ConfigError: If what was registered makes no `BaseEnv`.
    """
    if not isinstance(config, Mapping | None):
        raise ConfigError(f"settings are a mapping, not {type(config).__name__}")
    settings = dict(config or {})
    if name not in _registered:
        look_up(name)
        from piase_gym.faces.world_base_env import WorldBaseEnv

        return WorldBaseEnv(name, **settings)
    target = _registered[name]
    make: Make = load(target) if isinstance(target, str) else target
    env = make(settings)
    if not isinstance(env, BaseEnv):
        raise ConfigError(f"{name} made a {type(env).__name__}, which is no BaseEnv")
    return env
