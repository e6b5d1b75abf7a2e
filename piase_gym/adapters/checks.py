"""What adapters share: checks that learners get arrays and choose numbers."""

from __future__ import annotations

from typing import Any

from pettingzoo import ParallelEnv

from piase_gym.core.config import WorldConfig
from piase_gym.envs.parallel import WorldParallelEnv
from piase_gym.errors import ConfigError

Source = str | WorldConfig | ParallelEnv[Any, Any, Any] | Any
"""What an adapter takes: a world's name, an id, a config, a ParallelEnv of this package, or (for
Stable-Baselines3) a batch."""


def require_vector(view: object) -> None:
    """Refuse every view but the vector.

    Raises:
        ConfigError: If the view is not ``"vector"``.
    """
    if view != "vector":
        raise ConfigError(
            f"learners take arrays, but this environment has view={view!r}; "
            "make it with view='vector'"
        )


def require_numbers(kind: str) -> None:
    """Refuse actions that are lines of text.

    Raises:
        ConfigError: If the actions are texts.
    """
    if kind == "text":
        raise ConfigError(
            "learners choose numbers, but this environment has actions='text'; "
            "make it with actions='discrete'"
        )


def own_env(env: object) -> WorldParallelEnv:
    """Return the environment behind a ParallelEnv, which may be wrapped.

    Raises:
        ConfigError: If it is not an environment of this package, or not one for learners.
    """
    inner = env.unwrapped if isinstance(env, ParallelEnv) else None
    if not isinstance(inner, WorldParallelEnv):
        kind = type(env).__name__
        raise ConfigError(
            "an adapter takes a world's name, an id, a config, or what parallel_env returns "
            f"(wrapped or not), not a {kind}"
        )
    require_vector(inner.view)
    require_numbers(inner.actions)
    return inner
