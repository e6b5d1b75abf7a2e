"""Environments of any world, stepped one after the other in the form of a batch."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from piase_gym.core.commands import RESULTS
from piase_gym.core.rng import spread_seeds
from piase_gym.core.world import World
from piase_gym.envs.actions import to_actions
from piase_gym.envs.batch import Infos, Step
from piase_gym.envs.batch_checks import check_singles
from piase_gym.envs.parallel import WorldParallelEnv, parallel_env
from piase_gym.envs.partners import Partners, read_partners
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.errors import ConfigError, PiaseError, SnapshotError

AUTORESET = ("same_step", "disabled")


class SyncBatch:
    """Several ParallelEnvs that answer as a `BatchEnv` does, which is for array worlds alone.

    Arrays have the environments first and the caller's agents second. An agent that is not in play
    has an observation of zeros and a mask that allows everything; its actions are ignored.

    Attributes:
        envs: The environments.
        autoreset: ``"same_step"`` or ``"disabled"``.
        num_envs: How many environments.
        agents: The agents that the caller plays, in the order of the arrays.
        observation_space: The space of one agent's vector.
        action_space: The space of one agent's actions.
        world: The world of the first environment.
    """

    def __init__(self, envs: Sequence[WorldParallelEnv], autoreset: str = "same_step") -> None:
        """Take environments of one config with ``view="vector"``, before their first reset.

        Raises:
            ConfigError: If `autoreset` is not allowed.
        """
        if autoreset not in AUTORESET:
            raise ConfigError(
                f"without a batched kernel, autoreset is 'same_step' or 'disabled', not "
                f"{autoreset!r}; {envs[0].world.name} has none"
            )
        self.envs, self.autoreset, self.num_envs = list(envs), autoreset, len(envs)
        first = self.envs[0]
        self.agents, self.world = tuple(first.possible_agents), first.world
        self.observation_space = first.observation_space(self.agents[0])
        self.action_space = first.action_space(self.agents[0])
        self._numbers = [self.world.agents.index(name) for name in self.agents]
        shape, seen = (self.num_envs, len(self.agents)), self.observation_space
        self._shown = np.zeros((*shape, *(seen.shape or ())), seen.dtype)
        self._alive = np.zeros(shape, np.bool_)
        acts = self.action_space
        self._masks = np.ones((*shape, int(acts.n) if isinstance(acts, Discrete) else 0), np.int8)

    @property
    def runners(self) -> list[EpisodeRunner]:
        """What runs the episodes, of each environment."""
        return [env.runner for env in self.envs]

    def single(self, index: int) -> World[Any, Any]:
        """Return the world of one environment."""
        return self.envs[index].world

    def reset(self, seed: int | Sequence[int | None] | None = None) -> tuple[NDArray[Any], Infos]:
        """Start episodes.

        Args:
            seed: An integer (environment i gets ``seed + i``), or one for each environment. Without
                one, each goes on from its last episode.
        """
        for e, own in enumerate(spread_seeds(seed, self.num_envs)):
            self._look(e, self.envs[e].reset(own)[0])
        return self._shown.copy(), self._infos()

    def step(self, actions: NDArray[Any]) -> Step:
        """Let every agent that is in play act once.

        Args:
            actions: Shape (environments, agents, ...).

        Returns:
            As of `BatchEnv.step`; infos are ``action_mask``, ``alive``, ``result``, and
            ``final_obs`` with ``_final_obs`` (which environments were reset in this step).

        Raises:
            ActionError: If there is not one action in the action space for each agent; nothing has
                happened then.
            ResetNeededError: Before the first reset, and after one that failed.
        """
        self._require_episodes()
        grid = self._alive.shape
        actions = to_actions(self.action_space, actions, grid)
        acts = [
            {name: actions[e, a] for a, name in enumerate(self.agents) if self._alive[e, a]}
            for e in range(self.num_envs)
        ]
        for env, own in zip(self.envs, acts, strict=True):
            for name, action in own.items():
                env.check_action(name, action)
        rewards, results = np.zeros(grid), np.zeros(grid, np.uint8)
        terminated, truncated = np.zeros(grid, np.bool_), np.zeros(grid, np.bool_)
        ended, last = np.zeros(self.num_envs, np.bool_), np.zeros_like(self._shown)
        for e, env in enumerate(self.envs):
            if not acts[e]:
                continue
            shown, earned, over, cut, infos = env.step(acts[e])
            for a, name in enumerate(self.agents):
                if name in earned:
                    rewards[e, a], terminated[e, a] = earned[name], over[name]
                    truncated[e, a] = cut[name]
                    results[e, a] = RESULTS.index(infos[name].get("result"))
            self._look(e, shown)
            last[e] = self._shown[e]
            if not env.agents and self.autoreset == "same_step":
                ended[e] = True
                self._look(e, env.reset()[0])
        more = {"final_obs": last, "_final_obs": ended, "result": results}
        return self._shown.copy(), rewards, terminated, truncated, {**self._infos(), **more}

    def masks(self) -> NDArray[np.int8]:
        """Return the present masks, shape (environments, agents, actions)."""
        self._require_episodes()
        return self._masks.copy()

    def alive(self) -> NDArray[np.bool_]:
        """Return which of the caller's agents are in play, shape (environments, agents)."""
        return self._alive.copy()

    def seeds(self) -> NDArray[np.int64]:
        """Return the effective seed of every environment's present episode."""
        return np.array([runner.seed for runner in self.runners], np.int64)

    def draw(self, index: int) -> NDArray[np.uint8]:
        """Draw one environment."""
        self.envs[index].runner.require_episode()
        return self.envs[index].world.rgb()

    def snapshot(self) -> list[dict[str, Any]]:
        """Return the environments as a JSON-serializable value."""
        return [env.snapshot() for env in self.envs]

    def restore(self, snapshot: Any) -> None:
        """Restore a snapshot of as many environments of the same config.

        Raises:
            SnapshotError: If it is of something else, or damaged; nothing has happened then.
        """
        if not isinstance(snapshot, list) or len(snapshot) != self.num_envs:
            raise SnapshotError(f"this snapshot is not one of {self.num_envs} environments")
        before = [None if env.runner.never_reset else env.snapshot() for env in self.envs]
        try:
            for env, kept in zip(self.envs, snapshot, strict=True):
                env.restore(kept)
        except PiaseError:
            for env, own in zip(self.envs, before, strict=True):
                if own is not None:
                    env.restore(own)
            raise
        for e, env in enumerate(self.envs):
            self._look(e, env.observe_all()[0])

    def close(self) -> None:
        """Close the environments."""
        for env in self.envs:
            env.close()

    def _require_episodes(self) -> None:
        """Raise `ResetNeededError` before the first reset, and after one that failed."""
        for runner in self.runners:
            runner.require_episode()

    def _look(self, e: int, shown: Mapping[str, Any]) -> None:
        """Take over what the agents of an environment see and may do, and who is in play."""
        env = self.envs[e]
        masks = env.world.masks() if self._masks.size else ()
        for a, name in enumerate(self.agents):
            self._shown[e, a] = shown.get(name, 0)
            self._alive[e, a] = alive = name in env.agents
            if masks:
                self._masks[e, a] = masks[self._numbers[a]] if alive else 1

    def _infos(self) -> Infos:
        """Return the infos that accompany the observations."""
        return {"action_mask": self._masks.copy(), "alive": self._alive.copy()}


def sync_batch(
    config: Any,
    num_envs: int,
    *,
    actions: str = "discrete",
    autoreset: str = "same_step",
    partners: Partners | None = None,
    **options: Any,
) -> SyncBatch:
    """Make environments that are stepped one after the other.

    Args:
        config: The config of a world.
        num_envs: How many environments.
        actions: ``"discrete"`` or ``"continuous"``.
        autoreset: ``"same_step"`` or ``"disabled"``.
        partners: Policies for agents that the caller does not play; each environment has its own
            copies.
        options: Further ones of `parallel_env`.

    Raises:
        ConfigError: If something is not allowed.
    """
    num_envs = check_singles(num_envs, config.world)
    seats = [copy.deepcopy(read_partners(partners)) for _ in range(num_envs)]
    envs = [
        parallel_env(config, view="vector", actions=actions, partners=row, **options)
        for row in seats
    ]
    return SyncBatch(envs, autoreset)
