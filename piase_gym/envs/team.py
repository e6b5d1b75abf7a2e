"""The team environment: every agent of a world at once, behind Gymnasium's API, in tuples."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from piase_gym.core.rng import check_seed
from piase_gym.envs.actions import count_entries
from piase_gym.envs.arguments import Name
from piase_gym.envs.base import RENDER_MODES, WorldAccess
from piase_gym.envs.observations import absent_observation
from piase_gym.envs.parallel import parallel_env
from piase_gym.envs.single import make_limited
from piase_gym.envs.spec import LimitInSpec
from piase_gym.errors import ActionError, ConfigError, ResetNeededError


class TeamEnv(LimitInSpec, WorldAccess, gymnasium.Env[Any, Any]):
    """A world as one Gymnasium Env of all its agents, as EPyMARL and similar libraries expect.

    Spaces are Tuples with one entry per agent, and so are observations; actions are a sequence, and
    rewards a list. An agent that is not in play is shown zeros and gets no reward, and its action
    is ignored. The episode ends with its last agent. Infos have ``action_mask``, an array of shape
    (agents, actions), all ones for agents that are not in play, and with ``infos="full"`` also
    ``agents``, the infos of `parallel_env` by agent.

    Args:
        task: A world, an id, a scenario or a config object.
        infos: ``"mask"``, ``"full"`` or ``"none"``, which worlds without masks need.
        dtype: The type of vectors, ``"float32"`` or ``None`` for the world's own.
        options: Other arguments of `parallel_env`.

    Attributes:
        agents: Names of the agents, in the order of the tuples.
        n_agents: How many there are.

    Example:
        >>> import gymnasium
        >>> env = gymnasium.make("piase_gym:piase/Team-v0", task="GridWorld", agents=2)
        >>> observations, info = env.reset(seed=0)
        >>> len(observations), env.unwrapped.n_agents
        (2, 2)
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "render_fps": 8,
    }

    def __init__(
        self,
        task: Name,
        *,
        infos: str = "mask",
        dtype: str | None = "float32",
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """Make the world."""
        self.env = parallel_env(
            task,
            view=_only("view", "vector", options),
            dtype=dtype,
            infos=infos,
            ended_actions=_only("ended_actions", "ignore", options),
            render_mode=render_mode,
            **options,
        )
        self.runner, self.render_mode = self.env.runner, render_mode
        self.agents = tuple(self.env.possible_agents)
        self.n_agents = len(self.agents)
        shown = [self.env.observation_space(name) for name in self.agents]
        self.observation_space: Any = spaces.Tuple(shown)
        self.action_space = spaces.Tuple([self.env.action_space(name) for name in self.agents])
        self._ended_by_itself, self._full = True, infos == "full"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Start an episode; see `WorldParallelEnv.reset`."""
        shown, infos = self.env.reset(seed=seed, options=options)
        super().reset(seed=None if seed is None else check_seed(seed))
        self._ended_by_itself = True
        return self._observations(shown), self._info(infos)

    def step(  # type: ignore[override]  # one reward per agent, in a list
        self, action: Sequence[Any]
    ) -> tuple[tuple[Any, ...], list[float], bool, bool, dict[str, Any]]:
        """Let every agent act once.

        Returns:
            Observations, rewards, whether the episode has ended without a limit cutting off any
            agent, whether it has ended with one cut off, and the info.

        Raises:
            ActionError: If there is not one action an agent, or one is not in its space.
            ResetNeededError: Before the first reset and after the end of an episode.
        """
        self.runner.require_episode()
        if not self.env.agents:
            raise ResetNeededError("the episode is over; call reset() before the next step")
        if count_entries(action) != self.n_agents:
            raise ActionError(f"a team's action has {self.n_agents} entries, not {action!r:.60}")
        acts = dict(zip(self.agents, action, strict=True))
        shown, rewards, _, truncated, infos = self.env.step(acts)
        if any(truncated.values()):
            self._ended_by_itself = False
        over = not self.env.agents
        return (
            self._observations(shown),
            [float(rewards.get(name, 0.0)) for name in self.agents],
            over and self._ended_by_itself,
            over and not self._ended_by_itself,
            self._info(infos),
        )

    def _observations(self, shown: dict[str, Any]) -> tuple[Any, ...]:
        """Return one observation per agent."""
        pairs = zip(self.agents, self.observation_space, strict=True)
        return tuple(shown[n] if n in shown else absent_observation(space) for n, space in pairs)

    def _info(self, infos: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """Return all agents' masks, if infos have them, and the agents' infos, if full."""
        found: dict[str, Any] = {"agents": infos} if self._full else {}
        masks = {name: info["action_mask"] for name, info in infos.items() if "action_mask" in info}
        if masks:
            free = np.ones_like(next(iter(masks.values())))
            found["action_mask"] = np.stack([masks.get(name, free) for name in self.agents])
        return found

    def render(self) -> Any:
        """Draw the state; see `WorldParallelEnv.render`."""
        return self.env.render()

    def close(self) -> None:
        """Release resources; closing twice does no harm."""
        self.env.close()


def _only(key: str, value: str, options: dict[str, Any]) -> str:
    """Remove from the options an argument of `parallel_env` that has only one value here.

    Raises:
        ConfigError: If another is given.
    """
    given = options.pop(key, value)
    if given != value:
        raise ConfigError(f"a team has only {key}={value!r}, not {given!r:.60}")
    return value


def make_team(task: Name, **kwargs: Any) -> TeamEnv:
    """Make a team of any world; the entry point of ``piase/Team-v0`` and the team ids.

    ``max_episode_steps`` means the world's own `max_steps`; see `single.make_task`.
    """
    return make_limited(TeamEnv, sys._getframe(1), task, kwargs)
