"""RLlib: a world as a MultiAgentEnv.

RLlib's own PettingZoo wrapper takes the agents from the first reset (late joiners do not exist for
it), passes on the dicts that the environment keeps, and distinguishes an episode that ran out of
time from one that was won only if all agents agree. This one takes every possible agent from the
start.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from piase_gym.adapters.checks import Source, own_env, require_numbers, require_vector
from piase_gym.core.config import WorldConfig
from piase_gym.core.rng import check_seed, episode_seed, fresh_seed
from piase_gym.envs.parallel import parallel_env
from piase_gym.errors import ConfigError, MissingExtraError, require_count

if TYPE_CHECKING:
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
else:
    try:
        from ray.rllib.env.multi_agent_env import MultiAgentEnv
    except ModuleNotFoundError as error:
        raise MissingExtraError("rllib", "rllib") from error

ByAgent = dict[str, Any]
Parts = tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]
"""Observations, rewards, terminations, truncations and infos."""
NAMES = ("observations", "action_mask")
"""The keys that RLlib's action-masking modules look for."""
CHECK: tuple[int, dict[str, Any]] = (42, {})
"""Seed and options with which RLlib resets every new environment to check it.

An environment without a seed of its own would go on from there, and all environments of all workers
would have the same episodes. So one that was only checked counts as never seeded.
"""


class RllibEnv(MultiAgentEnv):
    """A ParallelEnv as RLlib's MultiAgentEnv. Made by `rllib`.

    * Agents are sorted by name wherever there is more than one, as in a `gymnasium.spaces.Dict`.
    * Every dict, array and info is the caller's own.
    * Each episode has its own seed, which is in the infos; without one in `reset` it follows from
      the last, so RLlib, which seeds once, gets an endless series of reproducible episodes.
    * Observations are float32 with the numbers of the vector, because RLlib's networks take no
      integers. Masks are in the infos, or with ``mask="obs"`` in the observations under the names
      of RLlib's action-masking modules: ``{"observations": ..., "action_mask": ...}``.
    * ``"__all__"`` is set when nobody is left. An episode whose last agents were cut off by a limit
      is marked by ``truncateds["__all__"]`` alone: were these agents marked one by one too, RLlib
      would take the episode as terminated and not bootstrap from its last observations.

    Attributes:
        parallel: The environment behind it.
        possible_agents: All agents, sorted by name.
        agents: The agents in the last answer: those in play and those that have just ended.
        observation_spaces: The space of each possible agent, including those that enter late.
        action_spaces: The same for actions.
    """

    def __init__(self, parallel: ParallelEnv[str, Any, Any], worker: int = 0) -> None:
        """Build the environment on a ParallelEnv with ``view="vector"``."""
        self.parallel = parallel
        self.worker = worker
        self.possible_agents = sorted(parallel.possible_agents)
        self.agents = list(self.possible_agents)
        self._agent_ids = set(self.possible_agents)
        super().__init__()
        self.observation_spaces = {
            name: rllib_space(parallel.observation_space(name)) for name in self.possible_agents
        }
        self.action_spaces = {name: parallel.action_space(name) for name in self.possible_agents}
        self.observation_space = spaces.Dict(self.observation_spaces)
        self.action_space = spaces.Dict(self.action_spaces)
        self.metadata = dict(parallel.metadata)  # RLlib writes into it
        self.render_mode = getattr(parallel.unwrapped, "render_mode", None)
        self._seen: set[str] = set()
        self._gone: set[str] = set()
        self._held: list[ByAgent] = []
        self._checked: bool | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByAgent, ByAgent]:
        """Start an episode.

        Args:
            seed: ``0..2**63-1``; without one, episodes go on deterministically from the last.
            options: As for `WorldParallelEnv.reset`.

        Returns:
            Observations and infos of the agents in play; infos have the episode's ``seed``.
        """
        given = (seed, options)
        if seed is not None:
            seed = episode_seed(check_seed(seed), self.worker << 32)
        elif self._checked:
            seed = fresh_seed()
        self._checked = self._checked is None and given == CHECK
        super().reset(seed=seed)
        observations, infos = self.parallel.reset(seed=seed, options=options)
        self.agents = sorted(observations)
        self._seen, self._gone, self._held = set(self.agents), set(), []
        return _converted(observations, rllib_observation), _converted(infos, copy.deepcopy)

    def step(self, action_dict: Mapping[str, Any]) -> Parts:
        """Let every agent in play act once.

        Args:
            action_dict: An action for each agent in `agents`.

        Returns:
            Observations, rewards, terminateds and truncateds (with ``"__all__"``), and infos by
            agent, for those that were in play and those that enter now.
        """
        parts = list(self.parallel.step(dict(action_dict)))
        self._add_held(parts)
        _, _, terminated, truncated, _ = parts
        ended = {name for name in terminated if terminated[name] or truncated[name]}
        if self.parallel.agents and self._seen <= self._gone | ended:
            self._hold(parts, ended)
            ended = set()
        self._seen.update(self.parallel.agents)
        self._gone |= ended
        self.agents = sorted(terminated)
        return self._finish(parts)

    def _hold(self, parts: list[ByAgent], ended: set[str]) -> None:
        """Hold back the ends of agents for one step.

        RLlib closes an episode when every agent that it has seen has ended, although others enter
        in this very step. So it hears of these ends in the next step, when it knows the new ones.
        """
        self._held = [{name: part.pop(name) for name in sorted(ended)} for part in parts]

    def _add_held(self, parts: list[ByAgent]) -> None:
        """Add what was held back."""
        for part, held in zip(parts, self._held, strict=bool(self._held)):
            part.update(held)
        self._held = []

    def _finish(self, parts: list[ByAgent]) -> Parts:
        """Sort and copy the parts, and say whether the episode is over."""
        observations, rewards, terminated, truncated, infos = parts
        over = not self.parallel.agents
        cut = over and any(truncated.values())
        terminateds = {**_converted(terminated, bool), "__all__": over and not cut}
        truncateds = {**_converted(truncated, lambda flag: bool(flag) and not over), "__all__": cut}
        return (
            _converted(observations, rllib_observation),
            _converted(rewards, float),
            terminateds,
            truncateds,
            _converted(infos, copy.deepcopy),
        )

    def render(self) -> Any:
        """Draw the state in the environment's render mode."""
        return self.parallel.render()

    def close(self) -> None:
        """Release resources; closing twice does no harm."""
        self.agents = []
        self.parallel.close()


def _converted(part: Mapping[str, Any], convert: Any) -> ByAgent:
    """Return a new dict, sorted by agent, of converted values."""
    return {name: convert(part[name]) for name in sorted(part)}


def rllib_space(space: spaces.Space[Any]) -> spaces.Space[Any]:
    """Return the space of what `rllib_observation` returns."""
    if isinstance(space, spaces.Dict):
        parts = (space["observation"], space["action_mask"])
        return spaces.Dict(dict(zip(NAMES, map(rllib_space, parts), strict=True)))
    assert isinstance(space, spaces.Box)
    return spaces.Box(space.low.astype(np.float32), space.high.astype(np.float32))


def rllib_observation(observation: Any) -> Any:
    """Return an observation as float32, and under RLlib's names if it has a mask."""
    if isinstance(observation, dict):
        parts = (observation["observation"], observation["action_mask"])
        return dict(zip(NAMES, map(rllib_observation, parts), strict=True))
    return np.array(observation, np.float32)


def rllib(env: Source, *, worker: int = 0, **options: Any) -> RllibEnv:
    """Make an RLlib MultiAgentEnv.

    Args:
        env: A world, an id, a config, or a ParallelEnv (wrapped or not) with ``view="vector"``.
        worker: RLlib's ``worker_index``. RLlib seeds environment i of worker w with ``s + w + i``,
            so that workers repeat each other's episodes; told its number, each worker has its own.
        options: As for `parallel_env`, such as ``agents=4`` or ``mask="obs"``; not for a
            ParallelEnv, which is made already.

    Raises:
        ConfigError: If the environment is not for learners (``view="both"`` or ``"text"``, or
            actions that are text), or not one of this package.

    Example:
        ``register_env("grid", lambda context: rllib("GridWorld", agents=4))``
    """
    rule = "workers are integers from 0 on, below 2**31"
    number = require_count(rule, worker, 0)
    if number >= 1 << 31:
        raise ConfigError(f"{rule}, not {number}")
    if not isinstance(env, str | WorldConfig):
        own_env(env)
        if options:
            names = ", ".join(sorted(options))
            raise ConfigError(f"{names} cannot be changed: this ParallelEnv is made already")
        assert isinstance(env, ParallelEnv)
        return RllibEnv(env, number)
    options.setdefault("view", "vector")
    require_vector(options["view"])
    require_numbers(options.get("actions", "discrete"))
    return RllibEnv(parallel_env(env, **options), number)
