"""The environments that `piase_gym.training.ppo` plays: a batch of any world with commands.

Array worlds are stepped by their kernel. Others are stepped one after the other, which is slower,
by `ParallelEnvs`, in the same form.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import piase_gym
from piase_gym.core.commands import RESULTS
from piase_gym.core.world import World
from piase_gym.envs.batch_checks import check_singles
from piase_gym.envs.observations import open_masks
from piase_gym.envs.partners import Partners, read_partners
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.worlds.array_world import steps_in_batches

Infos = dict[str, Any]


def make_envs(
    task: Any, num_envs: int, autoreset: str, partners: Partners | None = None, **config: Any
) -> Any:
    """Return a `BatchEnv` or, of a world that no kernel steps, `ParallelEnvs`.

    Args:
        task: An id, a world's name or a config.
        num_envs: Number of environments.
        autoreset: ``"same_step"``, ``"next_step"`` (of a `BatchEnv`) or ``"disabled"``.
        partners: Policies of agents that do not learn.
        config: Fields of the world's config.

    Raises:
        ConfigError: If something is not allowed.
    """
    make = functools.partial(piase_gym.parallel_env, view="vector", actions="discrete")
    first = make(task, partners=partners, **config)
    if steps_in_batches(first.world):
        first.close()
        options: dict[str, Any] = {"partners": partners, **config}
        return piase_gym.batch_env(task, num_envs=num_envs, autoreset=autoreset, **options)
    rest = check_singles(num_envs, first.world.name) - 1
    seats = [copy.deepcopy(read_partners(partners)) for _ in range(rest)]
    more = [make(first.world.config, partners=row) for row in seats]
    return ParallelEnvs([first, *more], autoreset)


def has_kernel(task: Any, **config: Any) -> bool:
    """Return whether `make_envs` returns a `BatchEnv`."""
    envs = make_envs(task, 1, "disabled", **config)
    envs.close()
    return not isinstance(envs, ParallelEnvs)


class ParallelEnvs:
    """Environments of any world, stepped one after the other as `BatchEnv` steps its slots.

    Arrays have the shape (environments, the caller's agents, ...).

    Args:
        envs: Environments of one config with ``view="vector"`` and discrete actions.
        autoreset: ``"same_step"`` or ``"disabled"``.

    Attributes:
        autoreset: As given.
        num_envs: Number of environments.
        agents: The caller's agents.
        observation_space: The space of one vector.
        action_space: The space of one action.
        world: The world of the first environment.
    """

    def __init__(self, envs: Sequence[Any], autoreset: str) -> None:
        """Take the environments, before their first reset."""
        self.envs, self.autoreset, self.num_envs = list(envs), autoreset, len(envs)
        first = self.envs[0]
        self.agents, self.world = tuple(first.possible_agents), first.world
        self.observation_space = first.observation_space(self.agents[0])
        self.action_space = first.action_space(self.agents[0])
        self._seats = [self.world.agents.index(name) for name in self.agents]
        shape, count = (self.num_envs, len(self.agents)), int(self.action_space.n)
        seen = self.observation_space
        self._shown = np.zeros((*shape, *seen.shape), seen.dtype)
        self._masks = np.ones((*shape, count), np.int8)
        self._alive = np.zeros(shape, np.bool_)

    @property
    def runners(self) -> list[EpisodeRunner]:
        """What runs the episodes."""
        return [env.runner for env in self.envs]

    def single(self, index: int) -> World[Any, Any]:
        """Return the world of an environment."""
        world: World[Any, Any] = self.envs[index].world
        return world

    def reset(self, seed: int | Sequence[int] | None = None) -> tuple[NDArray[Any], Infos]:
        """Start episodes: with a seed s, that of environment i begins with s + i.

        Args:
            seed: A seed, or one for each environment.
        """
        for e, env in enumerate(self.envs):
            own = seed[e] if isinstance(seed, Sequence) else None if seed is None else seed + e
            self._look(e, env.reset(seed=own)[0])
        return self._shown.copy(), self._infos()

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Let everyone who is in play act once, actions (environments, agents).

        ``infos["final_obs"]`` is what was seen before resets, which ``_final_obs`` marks.
        """
        grid = self._alive.shape
        rewards, results = np.zeros(grid), np.zeros(grid, np.uint8)
        terminated, truncated = np.zeros(grid, np.bool_), np.zeros(grid, np.bool_)
        ended, last = np.zeros(self.num_envs, np.bool_), np.zeros_like(self._shown)
        for e, env in enumerate(self.envs):
            acts = {n: int(actions[e, a]) for a, n in enumerate(self.agents) if self._alive[e, a]}
            if not acts:
                continue
            shown, earned, over, cut, infos = env.step(acts)
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

    def snapshot(self) -> list[Any]:
        """Return the environments as a JSON-serializable value."""
        return [env.snapshot() for env in self.envs]

    def restore(self, snapshot: Sequence[Any]) -> None:
        """Restore what `snapshot` of as many environments of the same config has returned."""
        for e, (env, own) in enumerate(zip(self.envs, snapshot, strict=True)):
            env.restore(own)
            self._look(e, env.observe_all()[0])

    def close(self) -> None:
        """Close the environments."""
        for env in self.envs:
            env.close()

    def _look(self, e: int, shown: Mapping[str, Any]) -> None:
        """Take over what the agents of an environment see and may do, and who is in play."""
        env = self.envs[e]
        masks = open_masks(env.world.masks())
        for a, (name, seat) in enumerate(zip(self.agents, self._seats, strict=True)):
            self._shown[e, a] = shown.get(name, 0)
            self._masks[e, a] = masks[seat]
            self._alive[e, a] = name in env.agents

    def _infos(self) -> Infos:
        """Return the infos that accompany the observations."""
        return {"action_mask": self._masks.copy(), "alive": self._alive.copy()}
